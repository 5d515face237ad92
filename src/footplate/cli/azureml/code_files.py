"""Scripts and notebooks as programs. Magics and shell lines of a notebook become comments; places survive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate.errors import InvalidInput, NotFound

SUFFIXES = (".py", ".ipynb")
_WRITEFILE = re.compile(r"%%writefile\s+(?:-a\s+)?(\S+)")
_MAGIC = re.compile(r"^(\s*)([%!?].*|.*\?\?)$")
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
    """Python text, with the place of each of its lines."""

    name: str
    text: str
    places: tuple[Place, ...]

    def place(self, line: int) -> Place:
        return self.places[min(max(line, 1), len(self.places)) - 1] if self.places else Place(self.name, line)


def find_files(paths: list[str]) -> Iterator[Path]:
    """Yield the scripts and notebooks below the paths; a path that is a file is taken as it is."""
    for given in map(Path, paths):
        if given.is_file():
            yield given
        elif given.is_dir():
            yield from sorted(file for file in given.rglob("*") if file.suffix in SUFFIXES and _is_code(file, given))
        else:
            raise NotFound(f"there is no file or folder {str(given)!r}", "name scripts, notebooks, or a folder of them")


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
    written: list[Program] = []
    cells: list[dict[str, Any]] = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        lines = [(line, Place(name, at, number)) for at, line in enumerate(source.splitlines(), 1)]
        target = _WRITEFILE.match(source.lstrip())
        if target and target[1].endswith(".py"):
            written.append(_program(target[1], [("", lines[0][1]), *lines[1:]]))
        elif not source.lstrip().startswith("%%") or source.lstrip().startswith(("%%time", "%%capture")):
            main += [(_without_magic(line), place) for line, place in lines]
    return [_program(name, main), *written]


def _program(name: str, lines: list[tuple[str, Place]]) -> Program:
    return Program(name, "".join(f"{line}\n" for line, _ in lines), tuple(place for _, place in lines))


def _without_magic(line: str) -> str:
    found = _MAGIC.match(line)
    return f"{found[1]}pass  # {found[2]}" if found else line
