"""Lines of a run's story: one for each event, and one more for what the lifecycle did about it."""

from __future__ import annotations

from typing import Any

from footplate.domain.codec import to_json
from footplate.domain.records import RunRecord, StoryLine
from footplate.domain.runs import events, run_status
from footplate.domain.runs.controllers import GroupDecision
from footplate.domain.runs.events import Event
from footplate.domain.runs.node_transitions import MAX_REVIVALS


def line(record: RunRecord, event: Event, now: float) -> StoryLine:
    data: dict[str, Any] = _decision(event.decision) if isinstance(event, events.GroupDecided) else to_json(event)
    return StoryLine(record.version, now, type(event).__name__, run_status.status(record), _text(record, event), data)


def _decision(decision: GroupDecision) -> dict[str, Any]:
    """Return the notes and orders of a decision. State and specs are left out: the record has the latest of them."""
    orders = {"submit": decision.submit, "cancel": decision.cancel, "restart": decision.restart}
    keys = {verb: [order.key for order in ordered] for verb, ordered in orders.items() if ordered}
    return {**keys, **({"notes": to_json(decision.notes)} if decision.notes else {})}


def _text(record: RunRecord, event: Event) -> str:
    text = events.describe(event)
    if isinstance(event, events.AgentsMissing) and record.revivals > event.launch:
        text += f"; starting it again ({record.revivals} of {MAX_REVIVALS})"
    return text


def lines(before: RunRecord, after: RunRecord, event: Event, now: float) -> list[StoryLine]:
    """Return the line of an event, and a line for the attempt that begins because of it."""
    story = [line(after, event, now)]
    if after.attempt > before.attempt:
        data = {"attempt": after.attempt}
        text = _attempt_text(after, by_itself=not isinstance(event, events.RunRestarted))
        story.append(StoryLine(after.version, now, events.ATTEMPT_STARTED, run_status.status(after), text, data))
    return story


def _attempt_text(record: RunRecord, by_itself: bool) -> str:
    text = f"attempt {record.attempt} begins"
    limit = record.spec.max_attempts
    if by_itself:
        text += " by itself" + (f", of at most {limit}" if limit is not None else "")
    if record.wake_at is not None and record.waiting is not None:
        text += f"; {record.waiting.reason}"
    return text
