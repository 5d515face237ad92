"""How a run ends: what decides its outcome, which of several failures is the cause, and whether it is tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Optional, Tuple

from footplate.domain.events import BeginAttempt, Effect, ForgetNodes, ResolveEnvironment, ScheduleQueue, StopNodes
from footplate.domain.records import Cause, NodeRecord, NodeState, Outcome, RunRecord, Stage
from footplate.domain.root_cause import blames_another
from footplate.domain.run_kinds import kind_of
from footplate.domain.run_status import ENDED_NODES, MPI_FAILED, NODE_LOST, OVER_NODES, status

Decision = Tuple[RunRecord, Tuple[Effect, ...]]
"""The record after an event, and what is to be done about it."""


def decide(record: RunRecord, outcome: Outcome, now: float) -> Decision:
    """Fix the outcome if it is still open, have the nodes that still run stopped, and end if none is left."""
    first = record.outcome is None
    after = replace(record, outcome=outcome) if first else record
    working = tuple(n.index for n in after.nodes if n.state not in ENDED_NODES)
    effects: Tuple[Effect, ...] = (StopNodes(working),) if first and working else ()
    return settle(after, now, effects)


def settle(record: RunRecord, now: float, effects: Tuple[Effect, ...]) -> Decision:
    """Move on to FINALIZING when all ranks have ended, and to ENDED when all nodes are over."""
    if record.outcome is not None and all(n.state in OVER_NODES for n in record.nodes):
        if _tries_by_itself(record, record.outcome):
            return try_again(record, effects)
        ended = replace(record, stage=Stage.ENDED, ended=now, waiting=None)
        return ended, (*effects, ForgetNodes(), *((ScheduleQueue(),) if kind_of(record.spec).has_nodes else ()))
    if record.outcome is not None and all(n.state in ENDED_NODES for n in record.nodes):
        return replace(record, stage=Stage.FINALIZING), effects
    return record, effects


def decide_failure(record: RunRecord, cause: Cause, now: float) -> Decision:
    if failed_before(cause, record.outcome):
        record = replace(record, outcome=None)
    return decide(record, Outcome("failed", cause), now)


def complete_if_all_ended(record: RunRecord, now: float) -> Decision:
    if all(n.state in (NodeState.ATTENDING, *ENDED_NODES) for n in record.nodes):
        return decide(record, Outcome("completed"), now)
    return record, ()


def failed_before(cause: Cause, outcome: Optional[Outcome]) -> bool:
    """Whether this rank failed before the one that is held to be the cause. What started the ranks only passes on how
    they ended (it names no rank), so any of them explains more; and so does any of them that does not blame another."""
    known = outcome.cause if outcome is not None and outcome.kind == "failed" else None
    if known is not None and cause.code == known.code == MPI_FAILED:
        return cause.node == 0 and known.node != 0  # that of mpirun itself, not of a daemon that it ended
    if known is None or cause.rank is None or cause.time is None:
        return False
    if known.rank is None:
        return known.code == MPI_FAILED
    if blames_another(cause) != blames_another(known):
        return blames_another(known)
    return known.time is None or cause.time < known.time


# ── Another attempt ───────────────────────────────────────────────────────────────────────────────────────────────────


def why_not_again(record: RunRecord) -> Optional[Tuple[str, str]]:
    if record.stage is not Stage.ENDED or record.outcome is None:
        return (
            f"run {record.id} is {status(record)}, and only a run that has ended can be restarted",
            f"wait for its end, or ask for it: footplate runs cancel {record.id}",
        )
    if record.outcome.kind == "completed":
        return f"run {record.id} has completed: there is nothing to try again", "submit it again as a new run"
    return None


def _tries_by_itself(record: RunRecord, outcome: Outcome) -> bool:
    """Whether nothing but the loss of a node ended this attempt, and the spec allows another one.

    The node may be over in a good way by now: where an agent vanished, the next one has brought over what was there.
    """
    cause = outcome.cause if outcome.kind == "failed" else None
    lost = cause is not None and cause.code == NODE_LOST and cause.node is not None  # a user's own code names no node
    return lost and record.handle is not None and record.attempt < record.spec.max_attempts


def try_again(record: RunRecord, effects: Tuple[Effect, ...]) -> Decision:
    """The next attempt, from the queue on; what the server needs to know of the last one is in the story."""
    stage = Stage.LOCKING if record.lock is None else Stage.QUEUED
    after = replace(
        record, attempt=record.attempt + 1, stage=stage, nodes=(), handle=None, outcome=None, waiting=None,
        started=None, ended=None,
    )  # fmt: skip
    begin: Effect = ResolveEnvironment() if record.lock is None else ScheduleQueue()
    return after, (*effects, BeginAttempt(record.handle), begin)


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def alive(record: RunRecord) -> Tuple[int, ...]:
    return tuple(n.index for n in record.nodes if n.state not in OVER_NODES)


def with_node(record: RunRecord, index: int, **changes: Any) -> RunRecord:
    nodes: List[NodeRecord] = list(record.nodes)
    nodes[index] = replace(nodes[index], **changes)
    return replace(record, nodes=tuple(nodes))
