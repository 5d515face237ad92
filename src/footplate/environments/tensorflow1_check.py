"""Find lines of a script that TensorFlow 2 cannot run in place of TensorFlow 1, before the script starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_GONE = ("contrib", "examples")


def first_impossible_line(text: str) -> tuple[int, str] | None:
    """Return number and content of the first line that needs `tf.contrib` or `tensorflow.examples`.

    Lines inside of `try` are left out: the script expects that they fail.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None  # Python itself reports it better
    names = {name for node in ast.walk(tree) for name in _aliases(node)}
    numbers = sorted(node.lineno for node in _find_unguarded(tree) if _needs_version_1(node, names))
    return (numbers[0], text.splitlines()[numbers[0] - 1].strip()) if numbers else None


def _aliases(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for one in node.names:
            if one.name == "tensorflow":
                yield one.asname or one.name


def _find_unguarded(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try):
            continue
        if isinstance(child, (ast.expr, ast.stmt)):
            yield child
        yield from _find_unguarded(child)


def _needs_version_1(node: ast.expr | ast.stmt, names: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "contrib" and isinstance(node.value, ast.Name) and node.value.id in names
    modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        modules = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    return any(module.split(".")[0] == "tensorflow" and module.split(".")[1:2] == [removed]
               for module in modules for removed in _GONE)  # fmt: skip
