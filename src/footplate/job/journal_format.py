"""The journal for its readers: the parts that may be shipped, and the decoder. The format is in docs/internals.

A reader ships a writer's text before the slots that point to it, so the receiver never has a slot without its text.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from footplate.job.slots import (
    ARTIFACT,
    CHUNK,
    FLOAT,
    FLOAT_SLOT,
    INT,
    LIST,
    MARK,
    MARK_BYTE,
    ROW,
    SCALAR,
    SERIES,
    SLOT,
    TABLE,
    end_of_slots,
)

_INT_VALUE = struct.Struct("<q")
_TEXT_PLACE = struct.Struct("<II")
_TEXT_KINDS = frozenset((SCALAR, LIST, ROW, TABLE, ARTIFACT, SERIES))


class Point(NamedTuple):
    """One logged value. `kind` is FLOAT … ARTIFACT; except for FLOAT and INT, `value` is decoded JSON."""

    name: str
    kind: int
    time: float
    step: Optional[float]
    value: Any


class MetricColumn(NamedTuple):
    """Points of one name and kind, in the order logged: three lists of the same length."""

    times: List[float]
    steps: List[Optional[float]]
    values: List[Any]


def writers(folder: str) -> List[str]:
    """Return the names of the writers with files in this directory, sorted; none when it does not exist."""
    try:
        return sorted(name[: -len(".slots")] for name in os.listdir(folder) if name.endswith(".slots"))
    except FileNotFoundError:
        return []


def attempt_of(writer: str) -> int:
    """Return the attempt of the run in which a writer was started: `rank_0_attempt_2_77_ab12` is of the second."""
    _, separator, rest = writer.partition("_attempt_")
    number = rest.partition("_")[0]
    return int(number) if separator and number.isdigit() else 1


def rank_of(writer: str) -> Optional[int]:
    """Return the rank of a writer: `rank_3_77_ab12` is of rank 3. A machine or an interactive run has none."""
    word, _, rest = writer.partition("_")
    number = rest.partition("_")[0]
    return int(number) if word == "rank" and number.isdigit() else None


def finished_prefix(path: str, offset: int, limit: int = CHUNK) -> bytes:
    """Return the slots from `offset` up to the first unfinished one: safe to ship while the writer is alive.

    At most `limit` bytes at a time: call again with the next offset until nothing is returned.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        seen = os.pread(fd, limit - limit % SLOT, offset)
        low, high = seen[30::SLOT], seen[31::SLOT]
        count = min(len(part) - len(part.lstrip(MARK_BYTE)) for part in (low, high))
        # Read the finished part again: on a processor that reorders stores, the first read may have seen a mark before
        # the value in front of it.
        return os.pread(fd, count * SLOT, offset) if count else b""
    finally:
        os.close(fd)


def everything(path: str, offset: int, limit: int = CHUNK) -> bytes:
    """Return the slots from `offset` up to the last finished one, with holes: to be shipped when the writer is dead.

    At most `limit` bytes at a time: call again with the next offset until nothing is returned.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.pread(fd, max(0, min(limit - limit % SLOT, end_of_slots(fd, offset) - offset)), offset)
    finally:
        os.close(fd)


def read_text(path: str, offset: int, limit: int = CHUNK) -> bytes:
    """Return at most `limit` bytes of text from `offset`; nothing when the file does not exist yet.

    Read the slots first and the text after them, and ship the text first.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(fd, limit, offset)
    finally:
        os.close(fd)


class Decoder:
    """Decodes the slots of one writer into points. Feed it all slots from the first on, in pieces of any size.

    `text(offset, length)` returns bytes of the writer's text file. Holes are skipped. A slot whose text or series is
    missing (the machine lost power before it reached the disk) is skipped too, and counted in `damaged`.
    """

    def __init__(self, text: Callable[[int, int], bytes]) -> None:
        self._text = text
        self._names: Dict[int, str] = {}
        self.descriptions: Dict[str, str] = {}
        self.damaged = 0

    def feed(self, slots: bytes) -> Iterator[Point]:
        names = self._names
        for index, (value, time, step, series, kind, mark) in enumerate(FLOAT_SLOT.iter_unpack(slots)):
            if mark != MARK:
                continue
            if kind == FLOAT and series in names:
                yield Point(names[series], FLOAT, time, None if step != step else step, value)
                continue
            point = self._decode(slots, index * SLOT, (time, step, series, kind))
            if point is not None:
                yield point

    def columns(self, slots: bytes) -> Dict[Tuple[str, int], MetricColumn]:
        """Decode points into columns by (name, kind), for callers that take many at once."""
        columns: Dict[Tuple[str, int], MetricColumn] = {}
        floats: Dict[int, Tuple[Any, Any, Any]] = {}
        for index, (value, time, step, series, kind, mark) in enumerate(FLOAT_SLOT.iter_unpack(slots)):
            if mark != MARK:
                continue
            if kind == FLOAT and series in floats:
                add_time, add_step, add_value = floats[series]
                add_time(time)
                add_step(None if step != step else step)
                add_value(value)
                continue
            point = self._decode(slots, index * SLOT, (time, step, series, kind))
            if point is None:
                continue
            column = columns.setdefault((point.name, point.kind), MetricColumn([], [], []))
            column.times.append(point.time)
            column.steps.append(point.step)
            column.values.append(point.value)
            if kind == FLOAT:
                floats[series] = column.times.append, column.steps.append, column.values.append
        return columns

    def _decode(self, slots: bytes, at: int, head: Tuple[float, float, int, int]) -> Optional[Point]:
        """Decode any slot, the slow way; return None for a series definition and for a damaged slot."""
        time, step, series, kind = head
        try:
            value = self._value(slots, at, kind)
            if kind == SERIES:
                self._names[series] = str(value["name"])
                self.descriptions[self._names[series]] = str(value["description"])
                return None
            return Point(self._names[series], kind, time, None if step != step else step, value)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.damaged += 1
            return None

    def _value(self, slots: bytes, at: int, kind: int) -> Any:
        if kind == FLOAT:
            return FLOAT_SLOT.unpack_from(slots, at)[0]
        if kind == INT:
            return _INT_VALUE.unpack_from(slots, at)[0]
        if kind not in _TEXT_KINDS:
            raise ValueError(f"unknown kind of slot: {kind}")
        offset, length = _TEXT_PLACE.unpack_from(slots, at)
        payload = self._text(offset, length)
        if len(payload) != length:
            raise ValueError(f"the text ends before {offset + length}")
        return json.loads(payload)
