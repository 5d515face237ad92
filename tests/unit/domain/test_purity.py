"""The domain opens no file, reads no clock and draws no entropy, and each of its names has one address."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOMAIN = ROOT / "src" / "footplate" / "domain"
IMPURE_MODULES = frozenset({
    "glob", "importlib", "io", "logging", "multiprocessing", "os", "pathlib", "secrets", "select", "shutil", "signal",
    "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib.request", "uuid",
})  # fmt: skip
IMPURE_CALLS = frozenset(
    {"datetime.now", "datetime.today", "datetime.utcnow", "date.today", "exec", "input", "open", "print"}
)


def impurities(tree: ast.Module) -> Iterator[str]:
    """Yield imports and calls by which code depends on anything but its arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_impure_module(alias.name))
        elif isinstance(node, ast.ImportFrom) and is_impure_module(node.module or ""):
            yield str(node.module)
        elif isinstance(node, ast.Call) and is_impure_call(node):
            yield ast.unparse(node)


def is_impure_module(name: str) -> bool:
    return name in IMPURE_MODULES or name.partition(".")[0] in IMPURE_MODULES


def is_impure_call(node: ast.Call) -> bool:
    """Return whether the call reads a clock or a file, or draws from a generator that no seed was given to."""
    name = ast.unparse(node.func)
    unseeded = name.startswith("random.") and (name != "random.Random" or not node.args)
    return unseeded or name in IMPURE_CALLS or name.endswith((".open", ".read_text", ".read_bytes"))


@pytest.mark.parametrize("path", sorted(DOMAIN.rglob("*.py")), ids=lambda path: str(path.relative_to(DOMAIN)))
def test_domain_depends_on_its_arguments_alone(path: Path) -> None:
    assert list(impurities(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os", "from os import path", "import time", "from uuid import uuid4", "import urllib.request",
        "open('a')", "path.read_text()", "random.random()", "random.Random()", "datetime.now()",
    ],
)  # fmt: skip
def test_impure_code_is_recognized(code: str) -> None:
    assert len(list(impurities(ast.parse(code)))) == 1


@pytest.mark.parametrize("code", ["random.Random(seed)", "generator.random()", "import random", "read(1)"])
def test_pure_code_is_admitted(code: str) -> None:
    assert list(impurities(ast.parse(code))) == []


def definitions(path: Path) -> set[str]:
    """Return the names that a module defines itself, and those of its submodules."""
    names = {each.stem for each in path.parent.iterdir()} if path.stem == "__init__" else set[str]()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for part in ast.walk(node) if isinstance(node, (ast.If, ast.Try)) else [node]:
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(part.name)
            elif isinstance(part, (ast.Assign, ast.AnnAssign)):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return names


def test_names_of_the_domain_have_one_address() -> None:
    known = {_module(path): definitions(path) for path in DOMAIN.rglob("*.py")}
    detours = [
        f"{path.relative_to(ROOT)}:{node.lineno} {alias.name} from {node.module}"
        for folder in ("src", "packages", "tests", "scripts", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)  # benchmarks/.venv
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("footplate.domain.")
        for alias in node.names
        if alias.name not in known[str(node.module)]
    ]
    assert detours == []


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
