"""Records of active runs in memory: never older than the database, whatever the order of the writers."""

from __future__ import annotations

from footplate.domain.records import RunRecord, Stage
from footplate.domain.specs import RunSpec
from footplate.storage.run_keys import RecentRecords


def record(version: int, stage: Stage = Stage.QUEUED, run: str = "r") -> RunRecord:
    return RunRecord(run, "w", RunSpec("lab"), stage, created=1.0, version=version)


def stored(recent: RecentRecords, new: RunRecord) -> None:
    recent.put(new, 7, recent.begin(new.id))


def test_the_last_record_is_remembered_until_the_next_change_begins() -> None:
    recent = RecentRecords()
    assert recent.get("r") is None
    stored(recent, record(1))
    assert recent.get("r") == record(1)
    recent.begin("r")
    assert recent.get("r") is None


def test_a_late_writer_does_not_bring_back_an_old_record() -> None:
    recent = RecentRecords()
    late = recent.begin("r")
    stored(recent, record(2))
    recent.put(record(1), 1, late)
    assert recent.get("r") == record(2)


def test_an_ended_run_is_not_remembered_nor_brought_back() -> None:
    recent = RecentRecords()
    late = recent.begin("r")
    stored(recent, record(3, Stage.ENDED))
    recent.put(record(2), 2, late)
    assert recent.get("r") is None


def test_a_full_memory_starts_over_without_late_writers() -> None:
    recent = RecentRecords(limit=2)
    late = recent.begin("a")
    for run in ("b", "c", "d"):
        stored(recent, record(1, run=run))
    recent.put(record(1, run="a"), 1, late)
    assert [recent.get(run) for run in "abcd"] == [None] * 4
    stored(recent, record(2, run="a"))
    assert recent.get("a") == record(2, run="a")


def test_a_change_learns_the_last_line_of_the_record_that_it_changes() -> None:
    recent = RecentRecords()
    assert recent.begin("r").version is None
    stored(recent, record(3))
    begun = recent.begin("r")
    assert (begun.version, begun.last_line) == (3, 7)
    assert recent.begin("r").version is None, "another writer has begun: it may add lines"
