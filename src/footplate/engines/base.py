"""The engine protocol. An engine starts the node agents of a run, watches them and ends them; nothing else.

Logs, metrics, retries and environments are not an engine's business. A new engine costs one module, one row in
`engines/__init__` (or in settings.ini), one subclass of the conformance suite, and a guide that docs/README.md lists.
Commands, checks of options and reference pages read what the engine says about itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from footplate.domain.orders import NodeOrders
from footplate.domain.shapes import Shape
from footplate.errors import Unavailable


@dataclass(frozen=True)
class NodeResources:
    """Resources that one node needs; None where the run leaves the amount to the engine."""

    cpus: int | None = None
    memory: float | None = None  # GiB
    gpus: int | None = None
    custom: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class AgentJob:
    """The agents of one attempt of a run: `node_count` of them, started together.

    `endpoint` and `token` are how the agents reach the server; the token is valid for this run only. An engine with
    `shares_home` gets the server's socket and its home directory; any other engine gets a URL that is reachable from
    other machines, and no home, but the digest of the agent bundle that its nodes fetch (`engines/remote_start`). It
    may get the orders of a single node, too, and pass them to the agent, which otherwise requests them.
    """

    run: str
    attempt: int
    node_count: int
    endpoint: str
    token: str | None = None
    home: str | None = None
    bundle: str | None = None
    ca: str = ""  # authority of the server's certificate, as FOOTPLATE_CA
    resources: NodeResources = NodeResources()
    time_limit: float | None = None  # seconds that the scripts may run; preparation and delivery come on top
    grace: float = 0.0  # seconds between a request to stop and the use of force
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # of the compute target
    orders: NodeOrders | None = None
    describe: bool = False  # agents describe their node at length when they join
    is_first: bool = False  # no server has submitted this job yet: the engine need not look for its agents


@dataclass(frozen=True)
class LaunchRequest:
    """The rendered request: argv and variables of a process, the text of a batch file, a JSON body."""

    engine: str
    run: str
    attempt: int
    body: dict[str, Any]


ENDED_BY = ("preempted", "node_lost", "time_limit", "out_of_memory", "stopped_elsewhere")
"""Reasons for which an engine ends agents: the last is a person or program other than this server."""


@dataclass(frozen=True)
class Observation:
    """The state of the agents of one handle.

    `state`: queued, running, exited (every agent has ended) or gone (the engine does not know the handle).
    `codes`: exit codes of agents that have ended, by node; None if an agent left no exit code.
    `lost`: nodes whose agent died without an exit code while others still run.
    `reason`: why it is queued or was ended, in the engine's words.
    `ended_by`: why the engine ended the agents before they were done: one of ENDED_BY; None if it did not.
    `estimated_start`: when the engine expects to start queued agents, in seconds since the epoch.
    `places`: the host of each node that has one, by node.
    """

    state: str
    codes: dict[int, int | None] = field(default_factory=dict[int, "int | None"])
    lost: tuple[int, ...] = ()
    reason: str | None = None
    ended_by: str | None = None
    estimated_start: float | None = None
    places: dict[int, str] = field(default_factory=dict[int, str])


class NotStarted(Unavailable):
    """Raised by `submit` when agents cannot be started at this moment: the server repeats the launch."""


class Engine(Protocol):
    """Methods may be called from several threads."""

    name: str
    shares_home: bool
    """Whether agents run on the server's machine, as its user, and see its home directory."""

    options: Mapping[str, str]
    """Options of a compute target that this engine understands: name → meaning, in a few words."""

    def node_shape(self) -> Shape | None:
        """Return the shape of the machine that all nodes share; None if each node is a machine of its own."""
        ...

    def prepare(self, job: AgentJob) -> LaunchRequest:
        """Render the request, without side effects. Raise InvalidInput, naming the field, for an impossible job."""
        ...

    def submit(self, request: LaunchRequest) -> str:
        """Start the agents and return a handle that survives a restart of the server.

        Idempotent per run and attempt: living agents are left alone, dead agents are started again. Raise NotStarted
        if the same request can succeed later.
        """
        ...

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        """Return one observation per handle, in one batch.

        Leave out handles whose state cannot be known at the moment. Raise Unavailable if nothing can be known.
        """
        ...

    def cancel(self, handle: str, grace: float) -> None:
        """Ask all agents to stop and end them by force after `grace` seconds. Return at once; idempotent."""
        ...

    def forget(self, handle: str) -> bool:
        """Remove everything kept for a run that has ended. Return False while an agent lives that will do so."""
        ...


@runtime_checkable
class ClusterEngine(Engine, Protocol):
    """An engine for clusters that exist without Footplate. Engines need not have these two members."""

    run_options: Collection[str]
    """Options of the target that a run may override. Never list one that decides how the server reaches the cluster
    or which programs run outside the run's own agents: every run of the workspace may set these."""

    def reach(self, options: Mapping[str, Any]) -> int | None:
        """Return how many nodes the cluster of a target has, None if unknown. Raise Unavailable if it does not answer,
        and InvalidInput, naming the option, if it has no such partition or the like.
        """
        ...
