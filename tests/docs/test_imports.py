"""Cycles of imports are short, with imports for types, inside functions and deferred ones counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
LARGEST_CYCLE = 5


def _modules() -> dict[str, Path]:
    paths = [path for path in (SOURCE / "footplate").rglob("*.py") if "migrations" not in path.parts]
    return {_name(path): path for path in paths}


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Deferred":
            yield from (str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))


def imports() -> dict[str, set[str]]:
    """Return all imports between our modules. Importing a package's own `__init__` is not counted."""
    modules = _modules()
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = set(_imported(ast.parse(path.read_text(encoding="utf-8"))))
        graph[name] = {other for other in found & modules.keys() if other != name and not name.startswith(f"{other}.")}
    return graph


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the modules that reach each other: each cycle that is found becomes one node, until none is left."""
    groups = {name: {name} for name in graph}
    while True:
        edges = {id(group): set[int]() for group in groups.values()}
        for name, others in graph.items():
            edges[id(groups[name])] |= {id(groups[other]) for other in others} - {id(groups[name])}
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            merged = {name for name, group in groups.items() if id(group) in error.args[1]}
            groups.update(dict.fromkeys(merged, merged))
        else:
            return list({id(group): group for group in groups.values()}.values())


def test_components_are_modules_that_reach_each_other() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": set[str]()}
    assert sorted(map(sorted, components(graph))) == [["a", "b", "c"], ["d", "e"], ["f"]]


def test_no_cycle_has_more_than_five_modules() -> None:
    cycles = [sorted(group) for group in components(imports()) if len(group) > LARGEST_CYCLE]
    assert not cycles
