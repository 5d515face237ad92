"""The rules of CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "footplate"
GENERATED = {"azureml.md", "cli.md", "http.md"}
UNIT = [ROOT / "tests" / "unit", ROOT / "tests" / "processes"]
_STUMBLE = re.compile(
    r"^(What|Who|Whom|Whose|Of|Those|That of)\b|\bis no \w+ (of|but)\b|\bfor who\b|\bbe it that\b"
)  # openings and phrases that native speakers stumble over
_TEST = re.compile(r"\btests/\w|\btest_\w")


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py") if "migrations" not in path.parts)


def test_every_module_has_unit_tests_or_names_its_suite() -> None:
    """A module needs no test file if its package's docstring lists it and names the tests that cover the package."""
    untested = [str(path.relative_to(SOURCE)) for path in modules() if not has_unit_tests(path) and not is_noted(path)]
    assert not untested


def has_unit_tests(path: Path) -> bool:
    name = path.relative_to(SOURCE).parent / f"test_{path.stem.strip('_')}.py"
    return path.stem == "__init__" or any((folder / name).exists() for folder in UNIT)


def is_noted(path: Path) -> bool:
    """Return whether the docstring of the package, or of one above it, names the module and a test."""
    packages = [folder / "__init__.py" for folder in path.parents if folder.is_relative_to(SOURCE)]
    notes = [ast.get_docstring(parse(package)) or "" for package in packages]
    return any(re.search(rf"\b{path.stem}\b", note) for note in notes) and any(_TEST.search(note) for note in notes)


def test_package_docstrings_name_existing_tests() -> None:
    for package in SOURCE.rglob("__init__.py"):
        for name in re.findall(r"tests/[\w/*.-]*\w", ast.get_docstring(parse(package)) or ""):
            assert list(ROOT.glob(name)), f"{package.relative_to(ROOT)} names {name}"


def test_test_names_have_at_most_70_characters() -> None:
    names = [
        (node.name, str(path.relative_to(ROOT)))
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]
    assert not [name for name in names if len(name[0]) > 70]


def test_docstrings_open_with_a_subject_or_a_verb() -> None:
    """Less than 1 % of the first lines match the phrases of `_STUMBLE`."""
    lines = [
        (doc.splitlines()[0], str(path.relative_to(ROOT)))
        for folder in (ROOT / "src", ROOT / "packages", ROOT / "scripts")
        for path in folder.rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and (doc := ast.get_docstring(node))
    ]
    odd = [line for line in lines if _STUMBLE.search(line[0])]
    assert len(odd) < len(lines) / 100, odd


def test_no_folder_holds_more_than_25_modules() -> None:
    counts = Counter(path.parent for path in modules() if path.stem != "__init__")
    assert not {str(folder.relative_to(SOURCE)): n for folder, n in counts.items() if n > 25}


def test_architecture_page_has_at_most_1500_words() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) <= 1500


def test_unit_tests_do_not_sleep() -> None:
    """Sleeps inside strings are programs that tests run; they are allowed."""
    sleeping = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in UNIT
        for path in folder.rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
    ]
    assert not sleeping


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md", "docs", "examples"]
)
def test_prose_wraps_at_100_columns(page: str) -> None:
    root = ROOT / page
    files = [root] if root.is_file() else [page for page in root.rglob("*.md") if page.name not in GENERATED]
    long = [f"{file.relative_to(ROOT)}:{number}" for file in files for number in long_lines(file)]
    assert not long


def long_lines(file: Path) -> Iterator[int]:
    """Yield the numbers of prose lines that could be shorter: no tables, code, generated lists or unbreakable links."""
    in_code = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        in_code ^= line.lstrip().startswith("```")
        breakable = " " in re.sub(r"`[^`]+`|\[[^\]]*\]\([^)]*\)", "x", line).strip().lstrip("-*0123456789. ")
        if len(line) > 100 and not in_code and breakable and not line.startswith(("|", "!", "- ", "#")):
            yield number
