"""Transitions of a run's nodes: one function per event about agents, nodes and ranks.

Each takes the record, the event and the time, and returns the new record and the effects. `lifecycle` calls them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import List, Optional

from footplate.domain.orders import NODE_LOST, STOPPED_ELSEWHERE, Cause
from footplate.domain.records import NodeState, Outcome, RunRecord, Stage, Waiting, failure_of
from footplate.domain.runs import events
from footplate.domain.runs.outcomes import (
    complete_if_all_ended,
    decide,
    decide_failure,
    failed_before,
    lose_nodes,
    settle,
    with_node,
    working,
)
from footplate.domain.runs.restarts import Decision
from footplate.domain.runs.root_cause import blames_another
from footplate.domain.runs.run_status import (
    BEFORE_START,
    ENDED_NODES,
    OVER_NODES,
    awaits_engine,
    awaits_lock,
    is_equipped,
    is_ready,
)

MAX_REVIVALS = 3
"""How often the agents of one attempt are started again before their nodes are given up."""

_RESOLVING = "resolving the environment for this node"
_SAME_MISHAP_SECONDS = 15.0
_SAME_ESTIMATE_SECONDS = 60.0


def on_launched(record: RunRecord, event: events.NodesLaunched, now: float) -> Decision:
    if record.handle == event.handle:
        return record, ()
    # A cancel may have come while the engine was starting the agents.
    late = working(record) if record.outcome is not None and record.stage is not Stage.ENDED else ()
    return replace(record, handle=event.handle), (events.StopNodes(late),) if late else ()


def on_engine_reported(record: RunRecord, event: events.EngineReported, now: float) -> Decision:
    if record.stage is not Stage.PROVISIONING or record.outcome is not None:
        return record, ()
    after = record
    for node, host in zip(record.nodes, event.hosts):
        if node.state is NodeState.LAUNCHED and host not in (None, node.host):
            after = with_node(after, node.index, host=host)
    reported = Waiting(event.reason, 0, event.estimated_start) if event.reason else None
    if not _is_same_wait(record.waiting, reported):
        after = replace(after, waiting=reported)
    return after, ()


def _is_same_wait(old: Optional[Waiting], new: Optional[Waiting]) -> bool:
    """Whether two reports are the same. Schedulers move their estimates all the time: small changes are ignored."""
    if old is None or new is None or old.latest is None or new.latest is None:
        return old == new
    return old.reason == new.reason and abs(old.latest - new.latest) < _SAME_ESTIMATE_SECONDS


def on_joined(record: RunRecord, event: events.NodeJoined, now: float) -> Decision:
    node = record.nodes[event.node]
    if node.state is not NodeState.LAUNCHED:
        return record, ()
    after = with_node(
        record, event.node, state=NodeState.JOINED, host=event.host, address=event.address, info=event.info
    )
    waits = any(other.state is NodeState.LAUNCHED for other in after.nodes)
    after = replace(after, waiting=record.waiting if waits else None)
    if event.node != 0 or not awaits_lock(after):
        return after, ()
    return with_node(after, 0, message=_RESOLVING), (events.ResolveEnvironment(),)


def clear_resolving(record: RunRecord) -> RunRecord:
    """Return the record without the message that the environment is being resolved."""
    return with_node(record, 0, message=None) if record.nodes[0].message == _RESOLVING else record


def on_progressed(record: RunRecord, event: events.NodeProgressed, now: float) -> Decision:
    node = record.nodes[event.node]
    if node.state not in (NodeState.JOINED, NodeState.PREPARING, NodeState.PREPARED) or node.message == event.message:
        return record, ()
    state = NodeState.PREPARED if node.state is NodeState.PREPARED else NodeState.PREPARING
    after = with_node(record, event.node, state=state, message=event.message)
    return replace(after, stage=Stage.PREPARING), ()


def on_gpus_assigned(record: RunRecord, event: events.GpusAssigned, now: float) -> Decision:
    if len(event.gpus) != len(record.nodes) or all(node.gpus is not None for node in record.nodes):
        return record, ()
    after = record
    for node, gpus in enumerate(event.gpus):
        after = with_node(after, node, gpus=gpus, message=None)
    return after, ()


def on_prepared(record: RunRecord, event: events.NodePrepared, now: float) -> Decision:
    node = record.nodes[event.node]
    # A restarted agent holds other ports than the last one. That is fine until the ports are published.
    again = node.state is NodeState.PREPARED and node.ports != event.ports and not is_ready(record)
    if node.state not in (NodeState.JOINED, NodeState.PREPARING) and not again:
        return record, ()
    after = with_node(record, event.node, state=NodeState.PREPARED, ports=event.ports)
    missing = ", ".join(str(n.index) for n in after.nodes if n.state in BEFORE_START)
    message = f"ready, waits for node{'s' if ',' in missing else ''} {missing}" if missing else None
    if message is None and not is_equipped(after):
        return replace(after, stage=Stage.PREPARING), ()  # the message about missing GPUs stays
    for index in [n.index for n in after.nodes if n.state is NodeState.PREPARED]:
        after = with_node(after, index, message=message)
    return replace(after, stage=Stage.PREPARING), ()


def on_started(record: RunRecord, event: events.NodeStarted, now: float) -> Decision:
    if record.nodes[event.node].state not in (NodeState.JOINED, NodeState.PREPARING, NodeState.PREPARED):
        return record, ()
    after = with_node(record, event.node, state=NodeState.RUNNING, message=None)
    # A fast node may have ended already when the last one starts: the run counts as started all the same.
    if all(n.state in (NodeState.RUNNING, NodeState.ATTENDING, *ENDED_NODES) for n in after.nodes):
        return replace(after, stage=Stage.RUNNING, started=now), ()
    return replace(after, stage=Stage.PREPARING), ()


def on_workers_finished(record: RunRecord, event: events.NodeWorkersFinished, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in (NodeState.ATTENDING, *ENDED_NODES):
        return record, ()
    after = with_node(record, event.node, state=NodeState.ATTENDING, message="serves the others until they finish")
    return complete_if_all_ended(after, now)


def on_exited(record: RunRecord, event: events.NodeExited, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in ENDED_NODES:
        return record, ()
    after = with_node(record, event.node, state=NodeState.EXITED, message="shipping remaining files")
    if event.cause is not None:
        return decide_failure(after, event.cause, now)
    return complete_if_all_ended(after, now)


def on_rank_failed(record: RunRecord, event: events.RankFailed, now: float) -> Decision:
    if record.nodes[event.node].state in ENDED_NODES:
        return record, ()
    if record.outcome is not None and not failed_before(event.cause, record.outcome):
        return record, ()
    return decide_failure(record, event.cause, now)


def on_finished(record: RunRecord, event: events.NodeFinished, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in OVER_NODES:
        return record, ()
    after = with_node(record, event.node, state=NodeState.DONE, message=None, logs=event.logs)
    if after.outcome is None and all(n.state in OVER_NODES for n in after.nodes):
        after = replace(after, outcome=Outcome("completed"))
    return settle(after, now, ())


def on_lost(record: RunRecord, event: events.NodeLost, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in OVER_NODES:
        return record, ()
    if record.outcome is not None and record.outcome.kind != "completed":  # which is not the reason: say it as well
        record = replace(record, warnings=(*record.warnings, event.cause.message))
    return lose_nodes(record, {event.node: event.cause}, now)


def on_agents_missing(record: RunRecord, event: events.AgentsMissing, now: float) -> Decision:
    """Start dead agents again a few times, then give their nodes up."""
    missing = [index for index in event.nodes if record.nodes[index].state not in OVER_NODES]
    if record.stage is Stage.ENDED or not missing or event.launch != record.revivals:
        return record, ()
    if record.outcome is not None and all(record.nodes[index].state is NodeState.LAUNCHED for index in missing):
        return _give_up(record, missing, "its agent ended before it had begun", now)
    if not event.confirmed:
        return record, ()
    if record.revivals < MAX_REVIVALS:
        return replace(record, revivals=record.revivals + 1), (events.LaunchNodes(),)
    return _give_up(record, missing, f"its agent died {MAX_REVIVALS + 1} times and was given up", now)


def _give_up(record: RunRecord, nodes: List[int], why: str, now: float) -> Decision:
    hint = "see system_logs of the run, and whether the machine ran out of memory"
    causes = {index: Cause(NODE_LOST, f"lost node {index}: {why}", hint, node=index) for index in nodes}
    return lose_nodes(record, causes, now)


def on_engine_ended(record: RunRecord, event: events.EngineEnded, now: float) -> Decision:
    """Give up the nodes that are not over. The engine's reason replaces the report of agents that it stopped."""
    unfinished = [node.index for node in record.nodes if node.state not in OVER_NODES]
    if record.stage is Stage.ENDED or not (unfinished or awaits_engine(record)):
        return record, ()
    cause = event.cause or _stop_elsewhere_cause(record)
    failure = failure_of(record.outcome)
    lost_another = failure is not None and blames_another(failure)
    if awaits_engine(record) or (event.cause is not None and lost_another):
        record = replace(record, outcome=Outcome("failed", cause))
    return lose_nodes(record, dict.fromkeys(unfinished, cause), now) if unfinished else settle(record, now, ())


def _stop_elsewhere_cause(record: RunRecord) -> Cause:
    report = record.outcome.cause if record.outcome is not None else None
    message = "its agents were stopped, and not by Footplate" + (f": {report.message}" if report is not None else "")
    hint = "see who stopped them: a person, a shutdown of the machine, or another client of the engine"
    return Cause(STOPPED_ELSEWHERE, message, hint, node=0)


def on_vanished(record: RunRecord, event: events.NodeVanished, now: float) -> Decision:
    running = record.nodes[event.node].state in (NodeState.RUNNING, NodeState.ATTENDING)
    if record.stage is Stage.ENDED or not running or len(record.nodes) == 1:
        return record, ()
    failure = failure_of(record.outcome)
    if failure is not None and failure != event.cause and failure.rank is not None and failure.node != event.node:
        if now - (failure.time or now) > _SAME_MISHAP_SECONDS:
            return record, ()
        # Ranks fail because a node is gone, never the other way round: their report was only faster.
        return replace(record, outcome=Outcome("failed", event.cause)), ()
    return (record, ()) if record.outcome is not None else decide(record, Outcome("failed", event.cause), now)
