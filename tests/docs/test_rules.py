"""The rules of CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePath

import pytest

from .suites import SUITES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "footplate"
GENERATED = {"azureml.md", "cli.md", "http.md"}
UNIT = [ROOT / "tests" / "unit", ROOT / "tests" / "processes"]
_STUMBLE = re.compile(
    r"^(What|Who|Whom|Whose|Of|Those|That of)\b|\bis no \w+ (of|but)\b|\bfor who\b|\bbe it that\b"
)  # openings and phrases that native speakers stumble over


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py") if "migrations" not in path.parts)


def test_every_module_has_unit_tests_or_a_suite() -> None:
    assert not [str(name) for name in without_unit_tests() if suite_of(name) is None]


def without_unit_tests() -> list[PurePath]:
    names = [path.relative_to(SOURCE) for path in modules() if path.stem != "__init__"]
    return [name for name in names if not any(unit_tests(folder, name).exists() for folder in UNIT)]


def unit_tests(folder: Path, name: PurePath) -> Path:
    return folder / name.parent / f"test_{name.stem.strip('_')}.py"


def suite_of(name: PurePath) -> str | None:
    """Return the pattern of `SUITES` that names the suite of a module."""
    return max((pattern for pattern in SUITES if fnmatch(name.as_posix(), pattern)), key=len, default=None)


def test_the_table_of_suites_has_no_stale_rows() -> None:
    assert SUITES.keys() == {suite_of(name) for name in without_unit_tests()} - {None}
    assert not [suite for suite in SUITES.values() if not list(ROOT.glob(suite))]


def test_package_docstrings_name_their_modules_and_no_tests() -> None:
    """Packages with one module per thing need not list them, and neither does the top package."""
    for package in SOURCE.rglob("__init__.py"):
        note = ast.get_docstring(parse(package)) or ""
        if "migrations" in package.parts or package.parent == SOURCE:
            continue
        assert package.parent.name == "testing" or not re.search(r"\btests?/\w|\btest_\w", note), package
        names = {
            path.stem for path in package.parent.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        unnamed = {name for name in names if not name.startswith("__") and not re.search(rf"\b{name}\b", note)}
        assert not unnamed or "one module per" in note, f"{package.relative_to(ROOT)} omits {sorted(unnamed)}"


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
