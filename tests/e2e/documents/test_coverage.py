"""The tables of the README: each block belongs to a function of a test, which uses it, and runs in the named tier."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from reading import HERE, blocks

README = (HERE / "README.md").read_text(encoding="utf-8")
_SECTION = re.compile(r"^## ([^:\n]*): `(\w+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (\d+)(?:–(\d+))? \| .* \| `(\w+)` \| (yes|no) \|$", re.MULTILINE)
_USES = ("run", "text", "compare_tf_config")
DOCUMENTS = sorted(path.stem for path in (HERE / "blocks").glob("*.md"))


@dataclass(frozen=True)
class Row:
    module: str
    numbers: range
    function: str
    in_ci: bool


def rows(document: str) -> list[Row]:
    (section,) = [found for found in _SECTION.finditer(README) if document in found[1]]
    return [
        Row(section[2], range(int(first), int(last or first) + 1), function, tier == "yes")
        for first, last, function, tier in _ROW.findall(section[3])
    ]


def functions(module: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((HERE / f"{module}.py").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def numbers_used(function: ast.FunctionDef) -> set[int]:
    """Return the blocks that the function runs, writes into a script, or compares."""
    uses = [call for call in calls(function) if isinstance(call.func, ast.Attribute) and call.func.attr in _USES]
    arguments = [each.value for call in uses for each in call.args if isinstance(each, ast.Constant)]
    return {number for number in arguments if isinstance(number, int)}


def reached(module: str, whole: bool) -> set[str]:
    """Return the functions that the tests of a tier call."""
    known = functions(module)
    waiting = [name for name, each in known.items() if name.startswith("test_") and _is_whole(each) == whole]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        named = {call.func.id for call in calls(known[name]) if isinstance(call.func, ast.Name)}
        waiting += (named & set(known)) - found
    return found


def _is_whole(test: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) == "pytest.mark.documents" for each in test.decorator_list)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_block_belongs_to_a_function_that_uses_it(document: str) -> None:
    table = rows(document)
    assert [number for row in table for number in row.numbers] == list(range(1, len(blocks(document)) + 1))
    for row in table:
        assert set(row.numbers) <= numbers_used(functions(row.module)[row.function]), row


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_block_runs_in_the_tier_that_the_readme_names(document: str) -> None:
    for row in rows(document):
        assert row.function in reached(row.module, whole=True), row
        assert row.in_ci == (row.function in reached(row.module, whole=False)), row


def test_whole_documents_require_every_block() -> None:
    """At its end, the reader knows which blocks were used and which configurations were submitted."""
    tests = [each for row in map(rows, DOCUMENTS) for each in functions(row[0].module).values() if _is_whole(each)]
    assert all("assert_complete" in ast.unparse(each.body[-1]) for each in tests) and len(tests) >= 4
