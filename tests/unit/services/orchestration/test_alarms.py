from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs.events import Event, WakeRun, WakeTimeReached
from footplate.domain.specs import RunSpec
from footplate.errors import Conflict, Unavailable
from footplate.services.orchestration.alarms import Alarms, ServerClock


class Runs:
    """Remembers who was woken; answers with an error first, if there is one."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, float]] = []
        self.errors: list[Exception] = []
        self.changed = threading.Condition()

    def tell(self, run: str, event: Event, attempt: int | None = None, seen: RunRecord | None = None) -> RunRecord:
        assert isinstance(event, WakeTimeReached)
        with self.changed:
            error = self.errors.pop() if self.errors else None
            self.woken.append((run, event.at))
            self.changed.notify_all()
        if error is not None:
            raise error
        return record(run)

    def until(self, true: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(true, timeout=20)


def record(run: str, stage: Stage = Stage.RUNNING) -> RunRecord:
    return RunRecord(run, "w", RunSpec("e"), stage, created=0.0)


@pytest.fixture
def clock(tmp_path: Path) -> ServerClock:
    """Return a clock that stands at 100."""
    return ServerClock(tmp_path, monotonic=lambda: 7.0, wall=lambda: 100.0)


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def started(runs: Runs, clock: ServerClock) -> Iterator[Alarms]:
    made = Alarms(runs.tell, clock)
    made.start()
    yield made
    made.stop()


def test_runs_are_woken_in_the_order_of_their_times(runs: Runs, clock: ServerClock) -> None:
    made = Alarms(runs.tell, clock)
    for run, at in (("late", 99.0), ("never", 101.0), ("early", 98.0)):
        made.set(record(run), WakeRun(at))
    made.start()
    runs.until(lambda: len(runs.woken) == 2)
    made.stop()
    assert runs.woken == [("early", 98.0), ("late", 99.0)]


def test_an_alarm_that_is_set_later_is_noticed(runs: Runs, started: Alarms) -> None:
    started.set(record("r"), WakeRun(50.0))
    runs.until(lambda: runs.woken == [("r", 50.0)])


def test_a_store_that_is_away_is_tried_again(runs: Runs, tmp_path: Path) -> None:
    runs.errors = [Unavailable("the database restarts")]
    times = iter([100.0] * 4)
    made = Alarms(runs.tell, ServerClock(tmp_path, monotonic=lambda: next(times, 200.0), wall=lambda: 100.0))
    made.set(record("r"), WakeRun(50.0))
    made.start()
    runs.until(lambda: len(runs.woken) == 2)
    made.stop()


def test_a_run_that_has_ended_is_left_alone(runs: Runs, started: Alarms) -> None:
    runs.errors = [Conflict("it has ended")]
    started.set(record("ended"), WakeRun(50.0))
    started.set(record("next"), WakeRun(60.0))
    runs.until(lambda: runs.woken == [("ended", 50.0), ("next", 60.0)])


def test_a_pause_is_not_longer_than_the_policy_allows(runs: Runs, tmp_path: Path) -> None:
    """The clock was set back by an hour while no server ran: an attempt is due in an hour, by the record."""
    passed = [0.0]
    made = Alarms(runs.tell, ServerClock(tmp_path, monotonic=lambda: passed[0]), wall=lambda: 1000.0)
    waiting = record("r", Stage.BACKOFF)
    made.set(waiting, WakeRun(4600.0))
    made.start()
    passed[0] = waiting.spec.restart.max_backoff_seconds
    made.set(record("other"), WakeRun(0.0))  # wakes the thread
    runs.until(lambda: ("r", 4600.0) in runs.woken)
    made.stop()
