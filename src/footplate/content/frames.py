"""A frame: the columns of a table as plain buffers, which become a pandas DataFrame without Arrow.

A script in a job has pandas and none of our dependencies; the process that computes the table has Arrow and no pandas.
They exchange buffers that numpy can read in place, in memory or as a file:

    FPFRAME1 │ buffers, each at a multiple of 8 │ JSON: columns and the offsets of their buffers │ its length │ FPFRAME1

A column is a list of chunks, one per batch. `kind` says what the buffers of a chunk are:

    number             values (numpy's dtype in `of`), and valid (a byte per row) if some are null
    boolean            values (a byte per row), valid
    time · duration    values (int64 of the unit in `of`), valid; a time may have a zone
    date               values (int32, days), valid
    text · bytes · decimal · json      codes (int32, -1 is null) into distinct values: offsets (int64) and data;
                       for a decimal, `of` may give the number of digits and of decimals: `5,2`
"""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Dict, List, NamedTuple, Optional, Sequence

from footplate.errors import Broken

MAGIC = b"FPFRAME1"
_ALIGNED = 8


class Chunk(NamedTuple):
    """Some rows of one column: buffers by name."""

    rows: int
    buffers: Dict[str, Any]


@dataclass
class FrameColumn:
    name: str
    kind: str
    of: str = ""
    zone: Optional[str] = None
    chunks: List[Chunk] = field(default_factory=lambda: [])


@dataclass
class Frame:
    """Columns of the same length. `add` appends one chunk to each."""

    columns: List[FrameColumn]
    rows: int = 0

    def add(self, rows: int, chunks: Sequence[Dict[str, Any]]) -> None:
        for column, buffers in zip(self.columns, chunks):
            column.chunks.append(Chunk(rows, buffers))
        self.rows += rows


class FrameFile:
    """A file to which a frame is written chunk by chunk. It is complete when `finish` has returned."""

    def __init__(self, out: BinaryIO, columns: List[FrameColumn]) -> None:
        self._out = out
        self._at = out.write(MAGIC)
        self._columns = columns
        self._placed: List[List[Any]] = [[] for _ in columns]
        self._rows = 0

    def add(self, rows: int, chunks: Sequence[Dict[str, Any]]) -> None:
        for placed, buffers in zip(self._placed, chunks):
            placed.append([rows, {name: self._put(buffer) for name, buffer in buffers.items()}])
        self._rows += rows

    def finish(self) -> None:
        columns = [
            {"name": c.name, "kind": c.kind, "of": c.of, "zone": c.zone, "chunks": placed}
            for c, placed in zip(self._columns, self._placed)
        ]
        footer = json.dumps({"rows": self._rows, "columns": columns}).encode("utf-8", "surrogatepass")
        self._out.write(footer + len(footer).to_bytes(8, "little") + MAGIC)
        self._out.flush()

    def _put(self, buffer: Any) -> List[int]:
        padding = -self._at % _ALIGNED
        self._out.write(b"\0" * padding)
        begin = self._at + padding
        size = self._out.write(buffer)
        self._at = begin + size
        return [begin, size]


def read_frame(path: str) -> Frame:
    """Return the frame of a file. Its buffers stay in the file until they are read."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < len(MAGIC) * 3:
            raise _damage_error(path)
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    end = len(view) - len(MAGIC)
    if bytes(view[end:]) != MAGIC or bytes(view[: len(MAGIC)]) != MAGIC:
        raise _damage_error(path)
    size = int.from_bytes(view[end - 8 : end], "little")
    footer = json.loads(bytes(view[end - 8 - size : end - 8]).decode("utf-8", "surrogatepass"))
    return Frame([_column(entry, view) for entry in footer["columns"]], footer["rows"])


def _column(entry: Dict[str, Any], view: memoryview) -> FrameColumn:
    chunks = [
        Chunk(rows, {name: view[begin : begin + size] for name, (begin, size) in places.items()})
        for rows, places in entry["chunks"]
    ]
    return FrameColumn(entry["name"], entry["kind"], entry["of"], entry["zone"], chunks)


def _damage_error(path: str) -> Broken:
    return Broken(f"{path} is not a whole frame", "read the dataset again")
