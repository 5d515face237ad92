"""The Python reference is complete: parameters, results, errors and examples of everything public are documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from python_api import Doc, Public, members, owner, parameters, public

from support.wheels import make_wheel

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).parent / "example_runner.py"
ONLY_CHECKED = {
    "Run.cancel",  # the run may have ended by then
    "Run.get_stacks",  # the run must be running
    "Tensorboard",  # tests/e2e/test_tensorboard.py starts it
    "get_portal_url",  # tests/e2e/test_mlflow.py calls it
}
"""Objects whose own examples are type-checked by test_types.py, but not run."""

_LISTED = [found for names in public().values() for found in names]
_CLASSES = {found for found in _LISTED if inspect.isclass(found)}


def _part(found: Any) -> str:
    return found.__module__.removeprefix("footplate.sdk.").partition(".")[0]


def label(found: Public) -> str:
    return f"{_part(found)}.{found.__name__}"


@pytest.mark.parametrize("found", _LISTED, ids=label)
def test_public_names_are_documented(found: Public) -> None:
    missing = list(_missing_of_class(found) if inspect.isclass(found) else _missing_of_function(found, ""))
    assert not missing, f"{found.__module__}.{found.__name__}: {'; '.join(missing)}"


def _missing_of_class(found: type) -> Iterator[str]:
    doc = Doc.of(found)
    if not doc.text:
        yield "has no docstring"
    if not doc.example:
        yield "has no example"
    described = {name for base in found.__mro__ for name in Doc.of(base).arguments}
    yield from (f"does not describe {name}" for name in _names(found) - described)
    yield from (f"describes {name}, which it does not have" for name in set(doc.arguments) - _names(found))
    for member in members(found).values():
        if owner(found, member.name, _CLASSES) is not found:
            continue
        if not member.is_property:
            yield from (f"{member.name} {one}" for one in _missing_of_function(member.code, doc.example))
        elif not Doc.of(member.target).text:
            yield f"the property {member.name} has no docstring"


def _missing_of_function(found: Any, shown: str) -> Iterator[str]:
    """Yield what a docstring lacks; a call in the example of the class, `shown`, is an example too."""
    doc = Doc.of(found)
    if not doc.text:
        yield "has no docstring"
    yield from (f"does not describe {name}" for name in _names(found) - set(doc.arguments))
    yield from (f"describes {name}, which it does not have" for name in set(doc.arguments) - _names(found))
    returned = inspect.signature(found).return_annotation
    if returned not in (None, "None", "NoReturn") and not doc.returns:
        yield f"does not describe its result ({returned})"
    if not doc.raises and _raises(found):
        yield "does not describe its errors"
    if not doc.example and not re.search(rf"\b{found.__name__}\(", shown):
        yield "has no example"


def _names(found: Any) -> set[str]:
    return {each.name for each in parameters(found)}


def _raises(found: Any) -> bool:
    """Return whether a function raises itself, or through a function of its module that it calls by name."""
    functions = _functions(inspect.getmodule(found))
    pending, seen = [_parsed(found)], set[str]()
    while pending:
        tree = pending.pop()
        if any(isinstance(node, ast.Raise) for node in ast.walk(tree)):
            return True
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        pending += [functions[name] for name in called & set(functions) - seen]
        seen |= called
    return False


@cache
def _functions(module: Any) -> dict[str, ast.AST]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _parsed(found: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(found)))


def test_reference_lists_nearly_everything_of_azure() -> None:
    assert len(_CLASSES) > 100
    assert {"Workspace", "HyperDriveConfig", "Estimator", "choice"} <= {found.__name__ for found in _LISTED}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_examples_of_the_reference_run(environment: dict[str, str], shared_environments: Path, tmp_path: Path) -> None:
    make_wheel(tmp_path / "dist", "mine", "1.0")
    argv = [sys.executable, str(RUNNER), str(ROOT / "scripts"), *sorted(ONLY_CHECKED)]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.endswith("0 failed\n")
