from __future__ import annotations

import ast
from pathlib import Path

import footplate
from footplate.domain.targets import LOCAL

SOURCE = Path(footplate.__file__).parent


def test_no_other_module_spells_the_local_target() -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == LOCAL
    }
    assert {place.partition(":")[0] for place in found} == {"domain/targets.py"}, found
