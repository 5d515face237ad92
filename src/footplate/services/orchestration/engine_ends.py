"""The causes of runs whose agents an engine has ended: preemption, lost nodes, limits, and other clients."""

from __future__ import annotations

from typing import NamedTuple

from footplate.domain.orders import NODE_LOST, STOPPED_ELSEWHERE, Cause
from footplate.domain.records import RunRecord
from footplate.domain.runs import run_status
from footplate.engines import agent_bootstrap
from footplate.engines.base import Engine, Observation


class _Ending(NamedTuple):
    """The code of the cause, its words and a hint for the user."""

    code: str
    words: str
    hint: str


_MORE_ATTEMPTS = "with max_attempts above 1 it continues by itself, from what it has saved in ./checkpoints"
_ENDINGS = {
    "preempted": _Ending("preempted", "{engine} preempted the run", _MORE_ATTEMPTS),
    "node_lost": _Ending(NODE_LOST, "{engine} lost a node of the run", _MORE_ATTEMPTS),
    "time_limit": _Ending("engine_time_limit", "the time limit of {engine} ended the run", _MORE_ATTEMPTS),
    "out_of_memory": _Ending(
        "out_of_memory", "{engine} ended the run: out of memory", "give its nodes more memory, or use less of it"
    ),
    "stopped_elsewhere": _Ending(
        STOPPED_ELSEWHERE,
        "the run was stopped in {engine}, and not by Footplate",
        "see who stopped it there; start it again with: footplate runs restart {run}",
    ),
}
"""By `Observation.ended_by`."""


_REFUSALS = {
    agent_bootstrap.UNTRUSTED: (
        "does not trust the certificate of the server",
        "start the server with --ca-file, or set SSL_CERT_FILE on the nodes, to name the authority that signed it",
    ),
    agent_bootstrap.REFUSED: (
        "refused to start the agent: its Python is older than 3.8, or the server does not have this version any more",
        "set the option python of the compute target; see the log of the engine's job on that node",
    ),
}
"""By the exit code of the bootstrap."""


def cause_of(seen: Observation, record: RunRecord, engine: Engine) -> Cause | None:
    """Return why the engine ended the agents; None if it did not end them.

    An engine on other machines that does not know the agents any more has lost them: others would begin anew, where
    nothing is left of what these did.
    """
    refused = _refusal(seen, record)
    if refused is not None:
        return refused
    lost = seen.state == "gone" and not engine.shares_home
    ending = _ENDINGS["node_lost"] if lost else _ENDINGS.get(seen.ended_by or "")
    if ending is None:
        return None
    unfinished = (node.index for node in record.nodes if node.state not in run_status.OVER_NODES)
    message = ending.words.format(engine=engine.name) + (f": {seen.reason}" if seen.reason else "")
    return Cause(ending.code, message, ending.hint.format(run=record.id), node=next(unfinished, 0))


def _refusal(seen: Observation, record: RunRecord) -> Cause | None:
    """Return why the bootstrap of a node refused to start the agent: the node itself can tell nobody else."""
    if seen.state != "exited":
        return None
    for node in record.nodes:
        code = seen.codes.get(node.index)
        if node.state not in run_status.OVER_NODES and code in _REFUSALS:
            words, hint = _REFUSALS[code]
            return Cause("start_failed", f"node {node.index} {words}", hint, node=node.index)
    return None
