"""The kinds of run: which events each admits, which kinds of run may be its children, and who ends it.

This table is the only place that knows the kinds by name. The SDK imports it at start-up, so it names events by their
class names instead of importing them; a test checks the names.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, NamedTuple, Tuple

from footplate.errors import InvalidInput

JOB = "job"
INTERACTIVE = "interactive"
GROUP = "group"

_ALWAYS = frozenset({"RunSubmitted", "RunFailed", "RunCancelRequested", "WarningAdded"})
_NODES = frozenset({
    "EnvironmentLocked", "EnvironmentDeferred", "WaitReasonChanged", "RunAdmitted", "NodesLaunched", "EngineReported",
    "NodeJoined", "NodeProgressed", "GpusAssigned", "NodePrepared", "NodeStarted", "NodeWorkersFinished", "RankFailed",
    "NodeExited", "NodeFinished", "NodeLost", "NodeVanished", "AgentsMissing", "EngineEnded", "RunRestarted",
    "WakeTimeReached",
})  # fmt: skip


class RunKind(NamedTuple):
    """One kind of run. `refusals` explains, for events of the user, why this kind does not admit them."""

    name: str
    ended_by: str  # "nodes", "client" or "controller"
    admits: FrozenSet[str]
    children: FrozenSet[str]
    refusals: Dict[str, Tuple[str, str]] = {}  # noqa: RUF012  # a constant

    @property
    def has_nodes(self) -> bool:
        """Whether an engine runs it on nodes: it has a program and an environment and waits in a queue."""
        return self.ended_by == "nodes"

    @property
    def can_restart(self) -> bool:
        return "RunRestarted" in self.admits


_KINDS = (
    RunKind(
        JOB,
        ended_by="nodes",
        admits=_ALWAYS | _NODES,
        children=frozenset({JOB, INTERACTIVE, GROUP}),
        refusals={
            "RunCompleted": (
                "the status of run {id} is managed by Footplate: it completes when its script ends",
                "end it early with: footplate runs cancel {id}",
            )
        },
    ),
    RunKind(
        INTERACTIVE,
        ended_by="client",
        admits=_ALWAYS | {"RunCompleted", "StatusReported"},
        children=frozenset({JOB, INTERACTIVE, GROUP}),
        refusals={
            "RunRestarted": (
                "run {id} is interactive: only its own process can run it",
                "start a new one: start_logging()",
            )
        },
    ),
    RunKind(
        GROUP,
        ended_by="controller",
        admits=_ALWAYS
        | {"RunCompleted", "RunRestarted", "WakeTimeReached", "GroupScaled", "GroupDecided", "ChildrenFinished"},
        children=frozenset({JOB, GROUP}),  # no process runs on the server that an interactive child could be
    ),
)
_BY_NAME = {kind.name: kind for kind in _KINDS}


def kind_of(spec: Any) -> RunKind:
    """Return the kind of a run, given its spec, its view or anything else that has a `kind`."""
    return kind_named(spec.kind)


def kind_named(name: str) -> RunKind:
    if name not in _BY_NAME:
        raise InvalidInput(f"run kind {name!r} is unknown", f"use one of {', '.join(map(repr, _BY_NAME))}")
    return _BY_NAME[name]


def kinds_with_nodes() -> Tuple[str, ...]:
    return tuple(kind.name for kind in _KINDS if kind.has_nodes)
