from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.domain.records import RunRecord, Stage, Waiting
from footplate.domain.runs.events import AgentsMissing, Event, NodeFinished, RunRestarted
from footplate.domain.specs import RunSpec
from footplate.services import story

RECORD = RunRecord("r", "w", RunSpec("e", max_attempts=3), Stage.RUNNING, created=1.0)
PAUSE = {"wake_at": 9.0, "waiting": Waiting("attempt 2 begins after a pause of 8 s", 0)}


@pytest.mark.parametrize(
    ("event", "changes", "texts"),
    [
        (NodeFinished(0), {}, ["node 0: everything is stored"]),
        (AgentsMissing((0,), 0, True), {"revivals": 1}, ["node 0: no agent runs; starting it again (1 of 3)"]),
        (AgentsMissing((0, 1), 3, True), {"revivals": 3}, ["nodes 0, 1: no agent runs"]),
        (RunRestarted(2, "ada"), {"attempt": 2}, ["restart requested by ada", "attempt 2 begins"]),
        (
            NodeFinished(0),
            {"attempt": 2},
            ["node 0: everything is stored", "attempt 2 begins by itself, of at most 3"],
        ),
        (
            NodeFinished(0),
            {"attempt": 2, **PAUSE},
            [
                "node 0: everything is stored",
                "attempt 2 begins by itself, of at most 3; attempt 2 begins after a pause of 8 s",
            ],
        ),
    ],
)
def test_lines_tell_the_event_and_its_consequence(event: Event, changes: dict[str, object], texts: list[str]) -> None:
    after = replace(RECORD, version=1, **changes)  # type: ignore[arg-type]
    assert [line.text for line in story.lines(RECORD, after, event, 5.0)] == texts
