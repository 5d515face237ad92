from __future__ import annotations

import ast
from pathlib import Path

import pytest

import footplate
from footplate.domain.targets import LOCAL
from footplate.engines import BUILT_IN, EngineRegistry
from footplate.engines.local import LocalEngine
from footplate.errors import InvalidInput


def test_a_name_always_gives_the_same_engine() -> None:
    registry = EngineRegistry()
    assert isinstance(registry.load("local"), LocalEngine)
    assert registry.load("local") is registry.load("local")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'slrum'") as refused:
        EngineRegistry({"mine": "somewhere:Mine"}).load("slrum")
    assert refused.value.hint == f"the engines are {', '.join(sorted({*BUILT_IN, 'mine'}))}"


def test_an_engine_of_a_cluster_is_named_by_its_row_alone() -> None:
    source = Path(footplate.__file__).parent
    engines = source / "engines"
    clusters = BUILT_IN.keys() - {LOCAL}
    naming = [
        f"{path.relative_to(source)}:{node.lineno}"
        for path in source.rglob("*.py")
        if engines not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in clusters
    ]
    assert not naming, "a new engine would have to be added there as well"


def test_settings_add_engines() -> None:
    added = EngineRegistry({"mine": "footplate.engines.local:LocalEngine"}).load("mine")
    assert isinstance(added, LocalEngine)


@pytest.mark.parametrize(
    "path", ["no.such.module:Engine", "footplate.engines.local:Nothing", "footplate.engines.local"]
)
def test_an_engine_that_cannot_be_imported_names_its_path(path: str) -> None:
    with pytest.raises(InvalidInput, match=path) as refused:
        EngineRegistry({"mine": path}).load("mine")
    assert "settings.ini" in str(refused.value.hint)
