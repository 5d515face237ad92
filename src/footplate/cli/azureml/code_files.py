"""Scripts and notebooks as programs. Magics and shell lines of a notebook become comments; places survive."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate.errors import InvalidInput, NotFound

SUFFIXES = (".py", ".ipynb")
_WRITEFILE = re.compile(r"%%writefile\s+(?:-a\s+)?(\S+)")
_MAGIC = re.compile(r"(\s*)([%!?].*|[\w.*]+\?\??)\s*")
_ASSIGNED = re.compile(r"(\s*[\w., ]+=\s*)([%!].*)")
_SKIPPED = {"node_modules", "__pycache__", ".ipynb_checkpoints"}


@dataclass(frozen=True)
class Place:
    """A line of a file, or of a cell of a notebook."""

    file: str
    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.cell is None else f"{self.file}: cell {self.cell}, line {self.line}"


@dataclass(frozen=True)
class Program:
    """Python text, with the place of each of its lines, and the cells that were left out because they are not Python.

    `unreadable` has the reason for each.
    """

    name: str
    text: str
    places: tuple[Place, ...]
    unreadable: tuple[tuple[Place, str], ...] = ()

    def place(self, line: int) -> Place:
        return self.places[min(max(line, 1), len(self.places)) - 1] if self.places else Place(self.name, line)


def find_files(paths: list[str]) -> Iterator[Path]:
    """Yield the scripts and notebooks below the paths; a path that is a file is taken as it is."""
    for path in map(Path, paths):
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and _is_code(file, path))
        else:
            raise NotFound(f"there is no file or folder {str(path)!r}", "name scripts, notebooks, or a folder of them")


def _is_code(file: Path, root: Path) -> bool:
    folders = file.relative_to(root).parts[:-1]
    return file.is_file() and not any(part in _SKIPPED or part.startswith(".") for part in folders)


def read_programs(file: Path) -> list[Program]:
    """Return the program of a file, and the files that a notebook writes with %%writefile."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        if file.suffix != ".ipynb":
            lines = len(text.splitlines())
            return [Program(str(file), text, tuple(Place(str(file), number + 1) for number in range(lines)))]
        return _of_notebook(str(file), json.loads(text))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", "name Python scripts and Jupyter notebooks") from error


def _of_notebook(name: str, document: dict[str, Any]) -> list[Program]:
    main: list[tuple[str, Place]] = []
    unreadable: list[tuple[Place, str]] = []
    written: list[Program] = []
    cells: list[dict[str, Any]] = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        lines = [(line, Place(name, at, number)) for at, line in enumerate(source.splitlines(), 1)]
        target = _WRITEFILE.match(source.lstrip())
        if target and target[1].endswith(".py"):
            written.append(_program(target[1], [("", lines[0][1]), *lines[1:]]))
        elif not source.lstrip().startswith("%%") or source.lstrip().startswith(("%%time", "%%capture")):
            try:
                main += zip(_python(source), (place for _, place in lines), strict=True)
            except SyntaxError as error:
                line = min(error.lineno or 1, len(lines))
                unreadable.append((lines[line - 1][1], f"not Python: {error.msg}"))
    return [_program(name, main, unreadable), *written]


def _program(name: str, lines: list[tuple[str, Place]], unreadable: Sequence[tuple[Place, str]] = ()) -> Program:
    text = "".join(f"{line}\n" for line, _ in lines)
    return Program(name, text, tuple(place for _, place in lines), tuple(unreadable))


def _python(cell: str) -> list[str]:
    """Return the lines of a cell as Python, without the indentation of the first, as Jupyter runs them.

    Magics become `pass`. Raises SyntaxError if the cell is not Python.
    """
    lines = cell.splitlines()
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    lines = [line[len(indent) :] if line.startswith(indent) else line for line in lines]
    while True:
        try:
            ast.parse("\n".join(lines))
            return lines
        except SyntaxError as error:
            if not _drop_magic(lines, (error.lineno or 1) - 1):
                raise


def _drop_magic(lines: list[str], at: int) -> bool:
    """Replace the magic at a line, with the lines on which it continues; return whether there is one."""
    line = lines[at] if at < len(lines) else ""
    magic, assigned = _MAGIC.fullmatch(line), _ASSIGNED.fullmatch(line)
    if not magic and not assigned:
        return False
    lines[at] = f"{magic[1]}pass" if magic else f"{assigned[1]}None" if assigned else ""
    while line.endswith("\\") and at + 1 < len(lines):
        at += 1
        line, lines[at] = lines[at], ""
    return True
