"""Code that runs on Python 3.8 uses nothing newer. Ruff finds newer syntax, by the same table; this finds the rest."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCAL_ONLY = ROOT / "src/footplate/node/nursery.py"
"""Runs only on the server's machine, under the server's own interpreter."""

GENERIC = {
    "list",
    "dict",
    "set",
    "tuple",
    "frozenset",
    "type",
    "deque",
    "defaultdict",
    "OrderedDict",
    "Counter",
    "Future",
}
NEWER_NAMES = {
    "removeprefix", "removesuffix", "waitstatus_to_exitcode", "is_relative_to", "hardlink_to", "bit_count",
    "pairwise", "to_thread", "unparse", "randbytes", "F_OFD_SETLK", "F_OFD_SETLKW", "recv_fds", "send_fds",
}  # fmt: skip
NEWER_ARGUMENTS = {"zip": "strict", "dataclass": "slots"}


def sources() -> list[Path]:
    """Return the modules that ruff checks as Python 3.8."""
    table = re.search(
        r"\[tool\.ruff\.per-file-target-version\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.S
    )
    assert table is not None
    parsed = configparser.ConfigParser(delimiters=("=",))
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string("[targets]\n" + table[1])
    patterns = [pattern.strip('"') for pattern in parsed["targets"]]
    found = {path for pattern in patterns for path in ROOT.glob(pattern + ("/*.py" if pattern.endswith("**") else ""))}
    return sorted(found - {LOCAL_ONLY})


def in_annotations(tree: ast.AST) -> set[int]:
    """Return the nodes that are never evaluated: annotations, and code for type checkers alone."""
    late = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    late += [each for node in ast.walk(tree) if _is_for_checkers(node) for each in node.body]  # type: ignore[attr-defined]
    return {id(part) for node in late if node is not None for part in ast.walk(node)}


def _is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        word in ast.unparse(node.test) for word in ("TYPE_CHECKING", "sys.version_info", "hasattr")
    )


def newer(text: str) -> Iterator[str]:
    """Yield uses of what Python 3.8 lacks."""
    tree = ast.parse(text)
    late = in_annotations(tree)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "collections.abc"]
    generic = GENERIC | {name.asname or name.name for node in imports for name in node.names}
    for node in ast.walk(tree):
        if id(node) in late:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in generic:
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Attribute) and (node.attr in NEWER_NAMES or ast.unparse(node) == "functools.cache"):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call):
            wrong = NEWER_ARGUMENTS.get(ast.unparse(node.func))
            given = {argument.arg for argument in node.keywords}
            yield from (f"{node.lineno}: {each}" for each in given & {wrong, "cancel_futures"} if each)


def test_code_for_nodes_and_jobs_uses_nothing_newer_than_3_8() -> None:
    checked = sources()
    assert {"agent.py", "venv.py", "folder.py", "run.py", "bootstrap.py"} <= {path.name for path in checked}
    found = {str(path.relative_to(ROOT)): uses for path in checked if (uses := list(newer(path.read_text())))}
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "x = list[str]()", "from collections.abc import Callable\nAct = Callable[[], None]", "'a'.removeprefix('a')",
        "zip([], [], strict=True)", "import functools\n@functools.cache\ndef f(): ...",
        "p.shutdown(cancel_futures=True)",
    ],
)  # fmt: skip
def test_newer_code_is_found(text: str) -> None:
    assert list(newer(text))


def test_annotations_may_be_newer() -> None:
    assert not list(newer("def f(x: list[str]) -> dict[str, int]: ...\nx: set[str] = set()\nx[0]"))
