"""The state that the server keeps and the API returns, as frozen values.

Times are seconds since the epoch, as floats, from the server's clock unless a name says otherwise.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.datasets import ModelUse
from footplate.domain.node_kinds import KnownKind
from footplate.domain.orders import Cause
from footplate.domain.specs import RunSpec
from footplate.domain.targets import LOCAL


class Stage(enum.Enum):
    """The progress of a run. The status that users see is derived from it and from the outcome."""

    ACCEPTED = "accepted"
    BACKOFF = "backoff"  # pauses before another attempt
    LOCKING = "locking"  # the server resolves the environment
    QUEUED = "queued"  # no nodes yet
    PROVISIONING = "provisioning"  # the engine starts the node agents
    PREPARING = "preparing"  # the agents fetch snapshot, environment and data
    RUNNING = "running"
    FINALIZING = "finalizing"  # the ranks have ended, the agents ship the remaining files
    ENDED = "ended"


class NodeState(enum.Enum):
    LAUNCHED = "launched"
    JOINED = "joined"
    PREPARING = "preparing"
    PREPARED = "prepared"  # waits for the other nodes
    RUNNING = "running"
    ATTENDING = "attending"  # the only ranks left serve others and do not end by themselves
    EXITED = "exited"
    DONE = "done"
    LOST = "lost"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    `kind`: completed, failed or canceled. It is decided once; the run ends when its nodes are done.
    """

    kind: str
    cause: Optional[Cause] = None


def failure_of(outcome: Optional[Outcome]) -> Optional[Cause]:
    """Return why a run has failed; None if it has not."""
    return outcome.cause if outcome is not None and outcome.kind == "failed" else None


@dataclass(frozen=True)
class Waiting:
    """The reason why a run waits, and its position in the queue of its compute target (1 is next, 0 is not in a queue).

    `latest`: the latest start, if all runs before it use their whole time limits. `nodes` and `gpus`: the resources
    that it waits for, all at once. These are None until the queue has been looked at.
    """

    reason: str
    position: int
    latest: Optional[float] = None
    nodes: Optional[int] = None
    gpus: Optional[int] = None


@dataclass(frozen=True)
class NodeRecord:
    index: int
    state: NodeState
    host: Optional[str] = None
    address: Optional[str] = None
    message: Optional[str] = None  # current activity, for users
    info: Dict[str, Any] = field(default_factory=lambda: {})  # cpus, memory, gpus, python, …
    ports: Tuple[int, ...] = ()  # held by its agent for its ranks
    gpus: Optional[Tuple[str, ...]] = None  # UUIDs of its exclusive GPUs; None until that is decided
    logs: Optional[Tuple[int, int]] = None  # how many logs the run had, and their bytes, when this node had finished


@dataclass(frozen=True)
class RunRecord:
    """The part of a run that its lifecycle decides about. Tags, properties, files and metrics are stored beside it."""

    id: str
    workspace: str
    spec: RunSpec
    stage: Stage
    created: float
    version: int = 0  # grows by one with every accepted event; saved with compare-and-set
    attempt: int = 1
    started: Optional[float] = None
    ended: Optional[float] = None
    lock: Optional[str] = None  # digest of the environment lock
    handle: Optional[str] = None  # the engine's name for the run's agents; opaque to all others
    waiting: Optional[Waiting] = None
    outcome: Optional[Outcome] = None
    warnings: Tuple[str, ...] = ()
    nodes: Tuple[NodeRecord, ...] = ()
    revivals: int = 0  # how often agents of this attempt were started again because they had died
    wake_at: Optional[float] = None  # when the lifecycle wants a WakeTimeReached
    group: Optional[Dict[str, Any]] = None  # of a group: `controllers.GroupState` as JSON


@dataclass(frozen=True)
class RunHome:
    """The workspace and the experiment of a run."""

    experiment_id: str
    workspace_id: str
    workspace: str
    subscription_id: str
    resource_group: str


@dataclass(frozen=True)
class StoryLine:
    """One accepted event of a run, as stored and shown."""

    seq: int
    time: float
    event: str
    status: str  # the status after the event
    text: str
    data: Dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class RunView:
    """A run as the API returns it.

    In lists, `spec` is null, `metrics` has the last values of the requested metrics, and `ranges` their extremes.
    """

    id: str
    workspace: str
    experiment: str
    experiment_id: str
    number: int
    kind: str
    type: Optional[str]
    status: str
    stage: Stage
    version: int
    attempt: int
    created: float
    started: Optional[float] = None
    ended: Optional[float] = None
    parent: Optional[str] = None
    has_children: bool = False
    name: Optional[str] = None
    display_name: Optional[str] = None
    description: Optional[str] = None
    target: str = LOCAL
    snapshot: Optional[str] = None
    lock: Optional[str] = None
    waiting: Optional[Waiting] = None
    outcome: Optional[Outcome] = None
    warnings: Tuple[str, ...] = ()
    nodes: Tuple[NodeRecord, ...] = ()
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    properties: Dict[str, str] = field(default_factory=lambda: {})
    parameters: Dict[str, str] = field(default_factory=lambda: {})  # of the script, read from its arguments
    created_by: str = ""
    archived: Optional[float] = None
    spec: Optional[RunSpec] = None
    metrics: Dict[str, Any] = field(default_factory=lambda: {})
    ranges: Dict[str, Tuple[Optional[float], Optional[float]]] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class WorkspaceView:
    id: str
    name: str
    subscription_id: str
    resource_group: str
    location: str
    created: float
    friendly_name: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class ExperimentView:
    id: str
    workspace: str
    name: str
    created: float
    archived: Optional[float] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    updated: Optional[float] = None


@dataclass(frozen=True)
class ComputeView:
    """A compute target. `engine` names the engine that starts its agents; `options` is stored unchanged for the
    client's API.
    """

    name: str
    workspace: str
    engine: str
    max_nodes: int
    created: float
    modified: float
    min_nodes: int = 0
    idle_seconds: float = 1800.0
    state: str = "Succeeded"
    options: Dict[str, Any] = field(default_factory=lambda: {})
    busy_nodes: int = 0  # assigned to runs
    preparing_nodes: int = 0  # busy nodes that exist and do not run the script yet
    idle_nodes: int = 0
    current_nodes: int = 0  # nodes that exist
    target_nodes: int = 0  # nodes that should exist; others are coming or leaving
    resized: float = 0.0  # when the number of nodes or the limits last changed
    waiting_runs: int = 0
    gpus: int = 0  # GPUs of the machine, for all targets with nodes there; 0 if only the nodes themselves know
    busy_gpus: int = 0
    kinds: Tuple[KnownKind, ...] = ()  # of its nodes, if they are other machines, as far as they are known


@dataclass(frozen=True)
class ClusterView:
    """The machines behind a compute target. `machines`: how many there are now; null if only the nodes know."""

    machines: Optional[int] = None


@dataclass(frozen=True)
class EngineView:
    """An engine of the server: the options of its compute targets with their meaning, and those that a run may
    override. `problem`: why it cannot be used.
    """

    name: str
    options: Dict[str, str] = field(default_factory=lambda: {})
    run_options: Tuple[str, ...] = ()
    problem: Optional[str] = None


@dataclass(frozen=True)
class FileView:
    """A file of a run or of a model. `digest` is null while the file grows (a live log)."""

    path: str
    size: int
    digest: Optional[str] = None
    modified: Optional[float] = None


@dataclass(frozen=True)
class ModelView:
    """A registered model. `root` is the last path component of the registered path; every file's path begins with it.

    Registered from a file: one file, whose path is `root`. From a folder: files below `root/`.
    """

    workspace: str
    name: str
    version: int
    created: float
    root: str
    files: Tuple[FileView, ...] = ()
    description: Optional[str] = None
    framework: Optional[str] = None
    framework_version: Optional[str] = None
    run: Optional[str] = None
    experiment: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    properties: Dict[str, str] = field(default_factory=lambda: {})
    resources: Dict[str, Any] = field(default_factory=lambda: {})
    options: Dict[str, Any] = field(default_factory=lambda: {})
    datasets: Tuple[ModelUse, ...] = ()  # the datasets named at registration, and those that its run read
    aliases: Tuple[str, ...] = ()  # an alias names one version of a model at a time


@dataclass(frozen=True)
class EnvironmentView:
    """A registered environment: the client's own definition, stored unchanged, with its version."""

    workspace: str
    name: str
    version: str
    created: float
    definition: Dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class CuratedView:
    """A curated environment. `nearest` is the tested one that replaces it; null for a tested one.

    `deviations` tell how it differs from Azure's, `left_out` which packages are missing, and `day` the day up to which
    releases are installed. `unavailable` is the reason why it cannot be used; `similar` names another one.
    """

    name: str
    python: str
    requirements: Tuple[str, ...]
    nearest: Optional[str] = None
    left_out: Tuple[str, ...] = ()
    day: Optional[str] = None
    deviations: Tuple[str, ...] = ()
    similar: Optional[str] = None
    unavailable: Optional[str] = None
    variables: Dict[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class BuiltView:
    """An environment that is built on the server's machine. `size` excludes files that other environments share."""

    digest: str
    path: str
    builder: str
    python: str
    packages: int
    created: float
    used: float
    size: int
    altered: bool = False  # modified after it was built: new runs get a fresh one
    in_use: bool = False


@dataclass(frozen=True)
class CacheView:
    """One of the caches that environments are built from.

    `size` is its size on disk, or the space that clearing it freed.
    """

    name: str
    holds: str
    size: int


@dataclass(frozen=True)
class ClearedView:
    """The environments and caches that were removed, or would be.

    `left` says why the caches were left alone, if they were.
    """

    environments: Tuple[BuiltView, ...]
    caches: Tuple[CacheView, ...] = ()
    left: Optional[str] = None


@dataclass(frozen=True)
class BuildView:
    """A build that was requested without a run. `state`: building, built or failed. `text` is the log from `offset`."""

    digest: str
    state: str
    offset: int = 0
    text: str = ""
    path: Optional[str] = None
    cause: Optional[Cause] = None
