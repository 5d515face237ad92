"""Rules about names and assignments that CONTRIBUTING.md states and a program can check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", ROOT / "packages" / "azureml" / "src"]
VAGUE = {
    "asked",
    "drawn",
    "found",
    "given",
    "gone",
    "heard",
    "held",
    "kept",
    "known",
    "laid",
    "left",
    "made",
    "meant",
    "said",
    "shown",
    "stated",
    "taken",
    "told",
    "wanted",
}
"""Participles that do not say what a variable holds."""

FIELDS = {("src/footplate/domain/records.py", "left"), ("src/footplate/domain/replies.py", "taken")}
"""Fields of responses: the HTTP API keeps its names."""


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Yield all nodes of the sources, each with the path of its file."""
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            yield from ((str(path.relative_to(ROOT)), node) for node in ast.walk(parse(path)))


def is_packed(assignment: ast.Assign) -> bool:
    """Return whether one line assigns values that have nothing to do with each other.

    Swaps, constants, and the same expression over different names or constants (`x[0], x[1]`) belong together.
    """
    [target] = assignment.targets[:1]
    if not (isinstance(target, ast.Tuple) and isinstance(assignment.value, ast.Tuple)):
        return False
    names = {ast.unparse(name) for name in target.elts}
    if names & {ast.unparse(node) for node in ast.walk(assignment.value) if isinstance(node, ast.expr)}:
        return False
    return len({shape(value) for value in assignment.value.elts}) > 1


class Plain(ast.NodeTransformer):
    """Replaces names, and constants with their signs, by placeholders."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("name", node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Attribute(self.visit(node.value), "name", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(0)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return ast.Constant(0) if isinstance(node.operand, ast.Constant) else self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return ast.keyword(node.arg and "name", self.visit(node.value))


def shape(value: ast.expr) -> str:
    """Return an expression without its names and constants."""
    return ast.dump(Plain().visit(ast.parse(ast.unparse(value), mode="eval").body))


def test_variables_say_what_they_hold() -> None:
    vague = [
        f"{path}:{node.lineno} {node.id}"
        for path, node in nodes()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
        if (path, node.id) not in FIELDS
    ]
    assert not vague, "\n".join(vague)


def test_unrelated_assignments_have_lines_of_their_own() -> None:
    packed = [f"{path}:{node.lineno}" for path, node in nodes() if isinstance(node, ast.Assign) and is_packed(node)]
    assert not packed, "\n".join(packed)


@pytest.mark.parametrize(
    ("code", "packed"),
    [
        ("a, b = b, a", False),
        ("a, b = b, a + b", False),
        ("low, high = 0, 100", False),
        ("first, last = rows[0], rows[-1]", False),
        ("x, y = point.x, point.y", False),
        ("name, size = path.name, 0", True),
        ("lines, started = [], clock()", True),
        ("a, b = pair", False),
    ],
)
def test_packed_assignments_are_those_of_different_shapes(code: str, packed: bool) -> None:
    [assignment] = ast.parse(code).body
    assert isinstance(assignment, ast.Assign)
    assert is_packed(assignment) is packed


def test_predicates_return_a_bool() -> None:
    acting = [
        f"{path}:{node.lineno} {node.name}"
        for path, node in nodes()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.name.lstrip("_").startswith(("is_", "has_"))
        and not (node.returns and ast.unparse(node.returns).startswith(("bool", "TypeGuard", "TypeIs")))
    ]
    assert not acting, "\n".join(acting)
