"""Points that arrive one by one and not as the bytes of a journal: from MLflow's clients, and from importers.

They become a journal that the server itself writes, so readers need not know where a point came from. An identical
point is stored once, which makes repeated requests harmless: a point is new if it is later than all others of its
series, by time and step, and only otherwise are the points of the run compared.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from footplate.domain.runs.tracking import NewPoint
from footplate.job.journal import definition
from footplate.job.slots import FLOAT, FLOAT_SLOT, MARK, NO_STEP, SERIES, SLOT, TEXT_SLOT
from footplate.storage.series import append_files
from footplate.storage.series.journals import JournalDecoder
from footplate.storage.series.summaries import series_name

WRITER = "points"
"""The name of the journal. Of its series, the last point is that of the highest step."""

_REMEMBERED = 256
_MOST_POINTS = 1_000_000
_PIECE = 4 * 1024 * 1024 // SLOT * SLOT
_Place = tuple[float, float]  # time and step: where a series ends
_Key = tuple[str, float, float, float | str]  # a point; NaN, which is not equal to itself, is a word


class PointJournal:
    """The points of one run. The caller holds the run's lock."""

    def __init__(self, slots: Path) -> None:
        self._slots = slots
        self._ids: dict[str, int] = {}
        self._ends: dict[str, _Place] = {}
        self._known: set[_Key] | None = None
        self.text_size = append_files.size_of(slots.with_suffix(".text"))
        self.size = append_files.size_of(slots) // SLOT * SLOT
        if self.size < append_files.size_of(slots):  # a server was killed while it wrote the last slot
            os.truncate(slots, self.size)
        self._pending: list[_Key] = []
        self._read()

    @property
    def remembered(self) -> int:
        return len(self._known or ())

    def encode(self, points: Iterable[NewPoint]) -> tuple[bytes, bytes]:
        """Return the text and the slots of the points that are new."""
        texts: list[bytes] = []
        slots: list[bytes] = []
        self._pending = []
        end = self.text_size
        for point in points:
            step = NO_STEP if point.step is None else float(point.step)
            name = series_name(point.name)
            if not self._take(name, point.time, step, point.value):
                continue
            number = self._ids.get(name)
            if number is None:
                number = self._ids[name] = len(self._ids) + 1
                text = definition(name, "")
                slots.append(TEXT_SLOT.pack(end, len(text), point.time, NO_STEP, number, SERIES, MARK))
                texts.append(text + b"\n")
                end += len(text) + 1
            slots.append(FLOAT_SLOT.pack(point.value, point.time, step, number, FLOAT, MARK))
        return b"".join(texts), b"".join(slots)

    def _take(self, name: str, time: float, step: float, value: float) -> bool:
        """Note a point; return whether it is new."""
        place = (time, -math.inf if step != step else step)
        key = (name, *place, "NaN" if value != value else value)
        end = self._ends.get(name)
        is_later = end is None or place > end
        if is_later:
            self._ends[name] = place
        elif self._known is None:
            self._known = self._read(remember=True).union(self._pending)
        if not is_later and self._known is not None and key in self._known:
            return False
        self._pending.append(key)
        if self._known is not None:
            self._known.add(key)
        return True

    def _read(self, remember: bool = False) -> set[_Key]:
        """Read the names and ends of the series; return the points if they are to be remembered."""
        points = set[_Key]()
        decoder = JournalDecoder(self._slots.with_suffix(".text"))
        at = 0
        with decoder.text:
            while at < self.size and (piece := append_files.read(self._slots, at, min(_PIECE, self.size - at))):
                at += len(piece)
                for name, _, time, step, value in decoder.feed(piece):
                    place = (time, -math.inf if step is None else step)
                    self._ids.setdefault(name, len(self._ids) + 1)
                    self._ends[name] = max(place, self._ends.get(name, place))
                    if remember:
                        points.add((name, *place, "NaN" if value != value else value))
        return points


class PointJournals:
    """The journals of runs that points arrived for lately."""

    def __init__(self, file_of: Callable[[str, str], Path]) -> None:
        self._file_of = file_of
        self._guard = threading.Lock()
        self._recent: OrderedDict[str, PointJournal] = OrderedDict()

    def take(self, run: str) -> PointJournal:
        """Return the journal of a run. It is forgotten until it is kept, which a failed write does not do."""
        with self._guard:
            journal = self._recent.pop(run, None)
        return journal or PointJournal(self._file_of(run, WRITER))

    def keep(self, run: str, journal: PointJournal) -> None:
        with self._guard:
            self._recent[run] = journal
            while len(self._recent) > _REMEMBERED or self._is_large():
                self._recent.popitem(last=False)

    def forget(self, run: str) -> None:
        with self._guard:
            self._recent.pop(run, None)

    def _is_large(self) -> bool:
        return len(self._recent) > 1 and sum(each.remembered for each in self._recent.values()) > _MOST_POINTS
