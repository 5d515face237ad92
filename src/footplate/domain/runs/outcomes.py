"""How a run ends: which event decides the outcome, and which of several failures is the cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

from footplate.domain.orders import AGENT_STOPPED, MPI_FAILED, Cause
from footplate.domain.records import NodeRecord, NodeState, Outcome, RunRecord, Stage, failure_of
from footplate.domain.runs import events, group_transitions
from footplate.domain.runs.events import Effect
from footplate.domain.runs.restarts import Decision, backoff_seconds, begin_attempt, restarts_by_itself
from footplate.domain.runs.root_cause import blames_another
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.runs.run_status import ENDED_NODES, OVER_NODES, awaits_engine


def decide(record: RunRecord, outcome: Outcome, now: float) -> Decision:
    """Fix the outcome if it is still open, stop the nodes that still run, and end the run if none is left."""
    first = record.outcome is None
    if first and kind_of(record.spec).ended_by == "controller":
        return group_transitions.end(record, outcome)
    after = replace(record, outcome=outcome) if first else record
    # An engine that is ending the agents must not be asked to cancel them: it would report that as the reason. The
    # other nodes stop with their next heartbeat.
    stops = first and working(after) and not awaits_engine(after)
    effects: Tuple[Effect, ...] = (events.StopNodes(working(after)),) if stops else ()
    return settle(after, now, effects)


def settle(record: RunRecord, now: float, effects: Tuple[Effect, ...]) -> Decision:
    """Move on to FINALIZING when all ranks have ended, and to ENDED when all nodes are over."""
    if record.outcome is not None and all(n.state in OVER_NODES for n in record.nodes) and not awaits_engine(record):
        if restarts_by_itself(record, record.outcome):
            return begin_attempt(record, effects, now, backoff_seconds(record, now))
        ended = replace(record, stage=Stage.ENDED, ended=now, waiting=None, wake_at=None)
        queue: Tuple[Effect, ...] = (events.ScheduleQueue(),) if kind_of(record.spec).has_nodes else ()
        return ended, (*effects, events.ForgetNodes(), *queue)
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
    """Whether this rank failed before the rank that is held to be the cause.

    The launcher only passes on how the ranks ended (it names no rank), so any rank explains more. A rank that does not
    blame another one explains more than a rank that does. Ranks that end with a stopped agent explain nothing.
    """
    decided = failure_of(outcome)
    if decided is not None and cause.code == decided.code == MPI_FAILED:
        return cause.node == 0 and decided.node != 0  # mpirun's own failure, not that of a daemon which it stopped
    if decided is None or decided.code == AGENT_STOPPED or cause.rank is None or cause.time is None:
        return False
    if decided.rank is None:
        return decided.code == MPI_FAILED
    if blames_another(cause) != blames_another(decided):
        return blames_another(decided)
    return decided.time is None or cause.time < decided.time


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def working(record: RunRecord) -> Tuple[int, ...]:
    """Return the nodes whose ranks may still run. A node that only ships its last files must not be stopped."""
    return tuple(n.index for n in record.nodes if n.state not in ENDED_NODES)


def lose_nodes(record: RunRecord, causes: Dict[int, Cause], now: float) -> Decision:
    """Give these nodes up. The run fails because of the first one, also when its ranks had all ended well."""
    after = record
    for index, cause in causes.items():
        after = with_node(after, index, state=NodeState.LOST, message=cause.message)
    if after.outcome is not None and after.outcome.kind == "completed":
        # The ranks ended well, but some of their files did not arrive: the run has not completed.
        after = replace(after, outcome=None)
    return decide(after, Outcome("failed", next(iter(causes.values()))), now)


def with_node(record: RunRecord, index: int, **changes: Any) -> RunRecord:
    nodes: List[NodeRecord] = list(record.nodes)
    nodes[index] = replace(nodes[index], **changes)
    return replace(record, nodes=tuple(nodes))
