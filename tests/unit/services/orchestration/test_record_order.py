from __future__ import annotations

from footplate.domain.records import RunRecord, Stage
from footplate.domain.specs import RunSpec
from footplate.services.orchestration.orchestrator import RecordOrder


def record(run: str, version: int, stage: Stage = Stage.QUEUED) -> RunRecord:
    return RunRecord(run, "w", RunSpec("lab"), stage, 0.0, version)


def test_an_older_record_is_refused_and_the_same_one_is_not() -> None:
    order = RecordOrder()
    assert [order.take(record("r", version)) for version in (1, 3, 2, 3, 4)] == [True, True, False, True, True]


def test_an_older_record_does_not_bring_back_an_ended_run() -> None:
    order = RecordOrder()
    assert order.take(record("r", 5, Stage.ENDED))
    assert not order.take(record("r", 4, Stage.RUNNING))
    assert order.take(record("r", 6)), "it was restarted"
    assert not order.take(record("r", 5, Stage.ENDED))


def test_the_id_of_a_deleted_run_can_be_used_again() -> None:
    order = RecordOrder()
    order.take(record("r", 5, Stage.ENDED))
    order.begin("r")
    assert order.take(record("r", 0))


def test_only_the_last_ended_runs_are_remembered() -> None:
    order = RecordOrder(ended_kept=2)
    for number in range(3):
        order.take(record(f"r{number}", 5, Stage.ENDED))
    assert [order.take(record(f"r{number}", 4)) for number in range(3)] == [True, False, False]
