"""Decide whether a run gets another attempt, by itself or because the user restarts it, and when that begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Tuple

from footplate.domain.orders import NODE_LOST, Cause
from footplate.domain.records import Outcome, RunRecord, Stage, Waiting
from footplate.domain.runs import events
from footplate.domain.runs.events import Effect
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.runs.run_status import status
from footplate.domain.specs import RESTART_CAUSES, RestartPolicy

Decision = Tuple[RunRecord, Tuple[Effect, ...]]
"""The record after an event, and the effects to perform."""


def why_not_again(record: RunRecord) -> Optional[Tuple[str, str]]:
    """Return the reason and a hint when the user cannot restart the run, or None."""
    if record.stage is not Stage.ENDED or record.outcome is None:
        return (
            f"run {record.id} is {status(record)}, and only a run that has ended can be restarted",
            f"wait until it ends, or cancel it: footplate runs cancel {record.id}",
        )
    if record.outcome.kind == "completed":
        return f"run {record.id} has completed: there is nothing to try again", "submit it again as a new run"
    return None


def restarts_by_itself(record: RunRecord, outcome: Outcome) -> bool:
    """Whether the restart policy of the run asks for another attempt after this outcome.

    A lost node may be done by now: an agent that took over from a dead one has shipped its files.
    """
    policy, limit = record.spec.restart, record.spec.max_attempts
    used_up = limit is not None and record.attempt >= limit
    if not kind_of(record.spec).has_nodes or policy.when == "never" or outcome.kind == "canceled" or used_up:
        return False
    cause = outcome.cause
    if cause is not None and cause.code == NODE_LOST and record.handle is None:
        return False  # agents of this attempt may still be starting, and nothing could stop them
    return policy.when == "always" or (cause is not None and _covers(policy, cause))


def _covers(policy: RestartPolicy, cause: Cause) -> bool:
    """Whether the policy names the cause. A failure that the user reported names no node and is never covered."""
    codes = {code for name in policy.causes for code in RESTART_CAUSES[name]}
    return cause.code in codes and (cause.node is not None or cause.code in RESTART_CAUSES["start_failed"])


def backoff_seconds(record: RunRecord, now: float) -> float:
    """Return the pause before the next attempt: it doubles with each attempt, except after one that ran for long."""
    policy = record.spec.restart
    ran_for_long = record.started is not None and now - record.started > policy.max_backoff_seconds
    doublings = 0 if ran_for_long else min(record.attempt - 1, 30)
    return min(policy.backoff_seconds * 2.0**doublings, policy.max_backoff_seconds)


def begin_attempt(record: RunRecord, effects: Tuple[Effect, ...], now: float, pause: float = 0.0) -> Decision:
    """Begin the next attempt: after a pause, or at once. It keeps the environment that was resolved before."""
    after = replace(
        record, attempt=record.attempt + 1, nodes=(), handle=None, outcome=None, waiting=None, started=None, ended=None,
        revivals=0,
    )  # fmt: skip
    effects = (*effects, events.BeginAttempt(record.handle))
    if pause > 0:
        reason = f"attempt {after.attempt} begins after a pause of {pause:g} s"
        after = replace(after, stage=Stage.BACKOFF, wake_at=now + pause, waiting=Waiting(reason, 0))
        return after, (*effects, events.WakeRun(now + pause))
    return enter_queue(after, effects)


def enter_queue(record: RunRecord, effects: Tuple[Effect, ...] = ()) -> Decision:
    """Queue the run, or resolve its environment first when no attempt has done so."""
    stage = Stage.LOCKING if record.lock is None else Stage.QUEUED
    effect: Effect = events.ResolveEnvironment() if record.lock is None else events.ScheduleQueue()
    return replace(record, stage=stage, wake_at=None, waiting=None), (*effects, effect)
