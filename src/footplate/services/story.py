"""What the story of a run says of an event."""

from __future__ import annotations

from typing import Any

from footplate.domain import events, run_status
from footplate.domain.codec import to_json
from footplate.domain.events import Event
from footplate.domain.records import RunRecord, StoryLine


def line(record: RunRecord, event: Event, now: float) -> StoryLine:
    data: dict[str, Any] = to_json(event)
    return StoryLine(record.version, now, type(event).__name__, run_status.status(record), events.tell(event), data)


def lines(before: RunRecord, after: RunRecord, event: Event, now: float) -> list[StoryLine]:
    """What the story says of an event, and of the attempt that begins because of it."""
    told = [line(after, event, now)]
    if after.attempt > before.attempt:
        words = f"attempt {after.attempt} begins" + (
            "" if isinstance(event, events.RunRestarted) else f" by itself, of at most {after.spec.max_attempts}"
        )
        data = {"attempt": after.attempt}
        told.append(StoryLine(after.version, now, events.ATTEMPT_STARTED, run_status.status(after), words, data))
    return told
