"""Points that arrive one by one: stored once, whatever is repeated, also by another process."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from footplate.domain.runs.tracking import NewPoint
from footplate.job.journal_format import SLOT
from footplate.storage.series.journals import JournalDecoder
from footplate.storage.series.points import PointJournal


def write(journal: PointJournal, slots: Path, points: list[NewPoint]) -> int:
    """Append the points as the storage does; return how many slots hold a value."""
    text, data = journal.encode(points)
    with slots.with_suffix(".text").open("ab") as file:
        journal.text_size = file.tell() + file.write(text)
    with slots.open("ab") as file:
        journal.size = file.tell() + file.write(data)
    return len(data) // SLOT - text.count(b"\n")


def read(slots: Path) -> list[tuple[str, float, float | None, float]]:
    decoder = JournalDecoder(slots.with_suffix(".text"))
    with decoder.text:
        return [(name, time, step, value) for name, _, time, step, value in decoder.feed(slots.read_bytes())]


@pytest.fixture
def slots(tmp_path: Path) -> Path:
    return tmp_path / "points.slots"


A = [NewPoint("loss", 0.5, 1.0, 0.0), NewPoint("acc", 0.1, 1.0, 0.0), NewPoint("loss", 0.4, 2.0, 1.0)]


def test_points_become_a_journal_that_readers_understand(slots: Path) -> None:
    assert write(PointJournal(slots), slots, A) == 3
    assert read(slots) == [("loss", 1.0, 0.0, 0.5), ("acc", 1.0, 0.0, 0.1), ("loss", 2.0, 1.0, 0.4)]


def test_a_repeated_batch_adds_nothing(slots: Path) -> None:
    journal = PointJournal(slots)
    write(journal, slots, A)
    assert write(journal, slots, A) == 0
    assert write(PointJournal(slots), slots, A) == 0, "nor after a restart of the server"
    assert len(read(slots)) == 3


def test_other_points_at_the_same_time_are_kept(slots: Path) -> None:
    journal = PointJournal(slots)
    write(journal, slots, A)
    late = [NewPoint("loss", 0.6, 1.0, 0.0), NewPoint("loss", math.nan, 1.0, 0.0)]
    assert write(journal, slots, late + late) == 2
    assert write(PointJournal(slots), slots, late) == 0


def test_repeats_inside_a_batch_are_dropped_before_anything_is_on_disk(slots: Path) -> None:
    points = [NewPoint("m", 1.0, 5.0), NewPoint("m", 1.0, 3.0), NewPoint("m", 1.0, 5.0)]
    assert write(PointJournal(slots), slots, points) == 2


def test_a_torn_slot_is_cut_off(slots: Path) -> None:
    write(PointJournal(slots), slots, A)
    with slots.open("ab") as file:
        file.write(b"half of a slot")
    journal = PointJournal(slots)
    assert journal.size == slots.stat().st_size == 5 * SLOT
    assert write(journal, slots, [NewPoint("new", 1.0, 9.0)]) == 1
    assert read(slots)[-1] == ("new", 9.0, None, 1.0)
