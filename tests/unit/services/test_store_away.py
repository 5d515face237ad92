"""A database that fails in the middle of a decision: the run continues when it is back and does not fail."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.records import RunRecord, StoryLine
from footplate.errors import FootplateError, OutOfSpace, Unavailable
from footplate.storage.runs import Runs


class Moody:
    """The runs of a store that fails once at `event`, before or after it has stored anything."""

    def __init__(self, runs: Runs, event: str, error: FootplateError, kept: bool) -> None:
        self._runs, self._event, self._kept = runs, event, kept
        self._error: FootplateError | None = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    def create(self, record: RunRecord, created_by: str, lines: list[StoryLine], person: str | None = None) -> None:
        self._once(lines, lambda: self._runs.create(record, created_by, lines, person))

    def save(self, record: RunRecord, expected_version: int, lines: list[StoryLine]) -> bool:
        return self._once(lines, lambda: self._runs.save(record, expected_version, lines))

    def _once(self, lines: list[StoryLine], call: Any) -> Any:
        error = self._error
        if error is None or lines[0].event != self._event:
            return call()
        self._error = None
        if self._kept:
            call()
        raise error


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("event", ["EnvironmentLocked", "RunAdmitted", "NodesLaunched"])
@pytest.mark.parametrize("error", [Unavailable("the database restarts"), OutOfSpace("the disk is full")])
def test_a_run_continues_when_the_database_is_back(house, event: str, kept: bool, error: FootplateError) -> None:
    house.store.runs = Moody(house.store.runs, event, error, kept)
    house.submit("r1")
    house.until_launched("r1")
    assert house.status("r1") not in ("Failed", "Canceled")
    assert set(house.engine.submitted) == {"r1"}


def test_a_stored_but_unconfirmed_submission_is_started(house) -> None:
    """A repetition finds the run; somebody must still start it."""
    house.store.runs = Moody(house.store.runs, "RunSubmitted", Unavailable("the database restarts"), kept=True)
    with pytest.raises(Unavailable):
        house.submit("r1")
    assert house.submit("r1").id == "r1"
    house.until_launched("r1")
