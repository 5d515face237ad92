"""What happened: the frozen values that the server keeps and the API shows.

Times are seconds since the epoch, as floats, from the server's clock unless a name says otherwise.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.datasets import ModelUse
from footplate.domain.specs import RunSpec
from footplate.domain.targets import LOCAL


class Stage(enum.Enum):
    """How far a run has come. The status that people see is derived from this and from the outcome."""

    ACCEPTED = "accepted"
    BACKOFF = "backoff"  # pauses before another attempt
    LOCKING = "locking"  # the server resolves the environment
    QUEUED = "queued"  # no nodes yet
    PROVISIONING = "provisioning"  # the engine starts the node agents
    PREPARING = "preparing"  # the agents fetch snapshot, environment and data
    RUNNING = "running"
    FINALIZING = "finalizing"  # the ranks have ended, the agents ship what is left
    ENDED = "ended"


class NodeState(enum.Enum):
    LAUNCHED = "launched"
    JOINED = "joined"
    PREPARING = "preparing"
    PREPARED = "prepared"  # waits for the other nodes
    RUNNING = "running"
    ATTENDING = "attending"  # only ranks are left that serve others and do not end by themselves
    EXITED = "exited"
    DONE = "done"
    LOST = "lost"


@dataclass(frozen=True)
class Cause:
    """Why something ended or failed. `code` is for programs, `message` is the sentence for people."""

    code: str
    message: str
    hint: Optional[str] = None
    node: Optional[int] = None
    rank: Optional[int] = None
    exit_code: Optional[int] = None
    signal: Optional[str] = None  # e.g. SIGSEGV
    exception: Optional[str] = None  # e.g. ValueError
    exception_message: Optional[str] = None
    traceback: Optional[str] = None
    last_lines: Tuple[str, ...] = ()
    time: Optional[float] = None  # when a rank failed, by its node's clock; the first one tells why


@dataclass(frozen=True)
class Outcome:
    """`kind`: completed, failed or canceled. Decided once; the run ends with it when its nodes are done."""

    kind: str
    cause: Optional[Cause] = None


@dataclass(frozen=True)
class Waiting:
    """Why a queued run waits, in words, and its place in the line of its compute target (1 is next).

    `latest`: when it starts at the latest, if all before it use the whole of their time limits. `nodes` and `gpus`:
    what it is to have, all at once. None of these is known before the queue has been looked at.
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
    message: Optional[str] = None  # what it is doing now, in words
    info: Dict[str, Any] = field(default_factory=lambda: {})  # cpus, memory, gpus, python, …
    ports: Tuple[int, ...] = ()  # held by its agent for its ranks
    gpus: Optional[Tuple[str, ...]] = None  # the UUIDs of those it has for itself; None until that is decided


@dataclass(frozen=True)
class RunRecord:
    """The part of a run that its lifecycle decides about. Tags, properties, files and metrics live beside it."""

    id: str
    workspace: str
    spec: RunSpec
    stage: Stage
    created: float
    version: int = 0  # grows by one with every accepted event; saved by compare-and-set
    attempt: int = 1
    started: Optional[float] = None
    ended: Optional[float] = None
    lock: Optional[str] = None  # digest of the environment lock
    handle: Optional[str] = None  # the engine's own word for the run's agents; opaque to everybody else
    waiting: Optional[Waiting] = None
    outcome: Optional[Outcome] = None
    warnings: Tuple[str, ...] = ()
    nodes: Tuple[NodeRecord, ...] = ()
    revivals: int = 0  # how often agents of this attempt were started again because they had died
    wake_at: Optional[float] = None  # when the lifecycle wants a WakeTimeReached
    group: Optional[Dict[str, Any]] = None  # of a group: `controllers.GroupState` as JSON


@dataclass(frozen=True)
class StoryLine:
    """One accepted event of a run, as kept and as shown."""

    seq: int
    time: float
    event: str
    status: str  # the status after the event
    text: str
    data: Dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class RunView:
    """A run as the API shows it. In lists `spec` is null, and `metrics` has the last values of those asked for."""

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
    created_by: str = ""
    spec: Optional[RunSpec] = None
    metrics: Dict[str, Any] = field(default_factory=lambda: {})


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


@dataclass(frozen=True)
class ComputeView:
    """A compute target. `engine` names who starts its agents; `options` is kept for the client's API, word for word."""

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
    busy_nodes: int = 0  # those that runs have
    preparing_nodes: int = 0  # of the busy ones that are there, those on which the script does not run yet
    idle_nodes: int = 0
    current_nodes: int = 0  # those that are there
    target_nodes: int = 0  # those that are to be there; others come or leave
    resized: float = 0.0  # when it last had more or fewer, or was given other sizes
    waiting_runs: int = 0
    gpus: int = 0  # of the machine, for all targets whose nodes are there; 0 where only the nodes themselves can tell
    busy_gpus: int = 0


@dataclass(frozen=True)
class FileView:
    """A file of a run or of a model. `digest` is null while it still grows (a live log)."""

    path: str
    size: int
    digest: Optional[str] = None
    modified: Optional[float] = None


@dataclass(frozen=True)
class ModelView:
    """`root` is the last path component of what was registered; every file's path begins with it.

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
    datasets: Tuple[ModelUse, ...] = ()  # those it was registered with, and those that its run has read


@dataclass(frozen=True)
class EnvironmentView:
    """A registered environment: the client's own definition, kept word for word, with the version it was given."""

    workspace: str
    name: str
    version: str
    created: float
    definition: Dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Lock:
    """An environment, resolved. Same content, same digest. `content` is what the builder needs and nothing else."""

    digest: str
    builder: str
    content: Dict[str, Any]
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class CuratedView:
    """An environment of the catalogue. `nearest` is the tested one that stands in for it; null for a tested one."""

    name: str
    python: str
    requirements: Tuple[str, ...]
    nearest: Optional[str] = None
    left_out: Tuple[str, ...] = ()


@dataclass(frozen=True)
class BuiltView:
    """An environment that is built on the server's machine. `size` counts what no other environment shares."""

    digest: str
    path: str
    builder: str
    python: str
    packages: int
    created: float
    used: float
    size: int
    altered: bool = False  # somebody changed it after it was built: new runs get another one
    in_use: bool = False


@dataclass(frozen=True)
class CacheView:
    """One of the caches that environments are made from. `size` is what it holds on disk, or what clearing it freed."""

    name: str
    holds: str
    size: int


@dataclass(frozen=True)
class ClearedView:
    """What was, or would be, removed. `left` says why the caches were not touched, if they were not."""

    environments: Tuple[BuiltView, ...]
    caches: Tuple[CacheView, ...] = ()
    left: Optional[str] = None


@dataclass(frozen=True)
class BuildView:
    """A build that was asked for without a run. `state`: building, built or failed. `text` is the log from `offset`."""

    digest: str
    state: str
    offset: int = 0
    text: str = ""
    path: Optional[str] = None
    cause: Optional[Cause] = None
