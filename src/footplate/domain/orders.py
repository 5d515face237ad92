"""Orders of a node agent, and the values that they are made of and that it reports.

They are apart from specs and records because the first line of a script waits until its agent has loaded them: on a
cluster every agent is a new process, and each dataclass takes half a millisecond to define.
"""

from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Tuple

from footplate.domain.values import Value, field

CHECKPOINTS = "checkpoints"
"""The folder of the working directory that is saved while the ranks run, and restored for the next attempt."""

DEFAULT_DATASTORE = "workspaceblobstore"

OUTPUT_PATH = "dataset/{run-id}/{output-name}"
"""The default destination of an output: a folder per run and name."""

CUT_MARK = "──── cut: ".encode()
"""The start of a log whose beginning was removed because it was too large."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
INFO = "gpu_devices"
"""The key in a node's info that lists its devices."""

ASSIGNED = "gpus_assigned"
"""The key in a node's info that says whether an engine such as Slurm or Ray has chosen these devices for it."""


def checkpoint_folder(node: int) -> str:
    """Return the folder of the run's files in which the checkpoints of a node are."""
    return CHECKPOINTS if node == 0 else f"{CHECKPOINTS}_node_{node}"


def checkpoint_folders(nodes: int) -> Tuple[str, ...]:
    return tuple(checkpoint_folder(node) for node in range(nodes))


# ── Orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Program(Value):
    """The program of each rank. Either `script` with `arguments`, or `command`, which runs under `sh -c`.

    Arguments keep `$NAME` as written: each rank expands them against its own environment just before the start.
    """

    script: Optional[str] = None
    arguments: Tuple[str, ...] = ()
    command: Optional[str] = None


class Lock(Value):
    """A resolved environment. Same content, same digest. `content` is exactly what the builder needs."""

    digest: str
    builder: str
    content: Dict[str, Any]
    warnings: Tuple[str, ...] = ()


class DataInput(Value):
    """Data that a run reads: either a `dataset`, by id, or the `path` of a `datastore`.

    `mode`: mount (appears as a folder or a file and is read on demand), download (copied before the start) or direct
    (the script gets the id and reads the data itself). `path_on_compute`: where it appears; the default is a folder of
    ours.
    """

    name: str
    dataset: Optional[str] = None
    datastore: Optional[str] = None
    path: str = ""
    mode: str = "mount"
    path_on_compute: Optional[str] = None
    overwrite: bool = False


class Registration(Value):
    """The name under which an output becomes a dataset when the run completes."""

    name: str
    description: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})


class DataOutput(Value):
    """A folder that a run writes and that goes to `path` of `datastore`; `{run-id}` and `{output-name}` are filled in.

    `mode`: mount (kept also when the run fails) or upload (at the end, if the run completes). `globs` select files.
    `is_dataset` is false for an output that is only a place: it is not a dataset of the run. `table`: how its files are
    read as a table (`format`, `types`, `steps` of a tabular definition, and `glob` to select them); None for files.
    """

    name: str
    datastore: str = DEFAULT_DATASTORE
    path: str = OUTPUT_PATH
    mode: str = "mount"
    path_on_compute: Optional[str] = None
    globs: Tuple[str, ...] = ()
    overwrite: bool = False
    is_dataset: bool = True
    register: Optional[Registration] = None
    table: Optional[Dict[str, Any]] = None


class NodePlace(Value):
    """The address of a node for the ranks of all nodes. Its agent holds the ports until the ranks start."""

    address: str
    ports: Tuple[int, ...] = ()


class RankPlan(Value):
    """The plan of one rank. Settings of the user or the machine override `defaults`.

    A rank that `attends` serves the others (a parameter server): it never ends by itself and is stopped when they are
    done.
    """

    rank: int
    local_rank: int
    node: int
    log: str  # the run's file for its stdout and stderr
    variables: Dict[str, str] = field(default_factory=lambda: {})
    defaults: Dict[str, str] = field(default_factory=lambda: {})
    attends: bool = False
    task: str = ""  # TensorFlow's name for it, such as "worker 1"


class MpiOrders(Value):
    """Instructions for the node that runs mpirun: the places of all nodes, and the secret that authorizes daemons."""

    places: Tuple[NodePlace, ...]
    processes_per_node: int
    secret: str


class NodeOrders(Value):
    """The orders of a node agent. It gets them with its start or when it joins, and whenever it requests them again.

    `ready` is false and `ranks` is empty until all nodes of the gang are prepared. `hold` is the number of ports that
    the node must hold for its ranks. `others_ended` is true when no rank runs on any other node and their outputs are
    stored; `ended_well` when the ranks of all nodes have completed. `shipped` is how much of each log and journal the
    server has, so that a restarted agent resumes there:
    `{"logs": {path: bytes}, "journals": {"<run id>/<writer>.slots": bytes, "<run id>/<writer>.text": bytes}}`.
    """

    run: str
    node: int
    attempt: int
    ready: bool
    stop: bool
    program: Program
    lock: Lock
    snapshot: Optional[str]
    variables: Dict[str, str]
    ranks: Tuple[RankPlan, ...] = ()
    max_seconds: Optional[float] = None
    warning_signal: Optional[str] = None  # for the ranks, before a time limit ends them
    warning_seconds: float = 0.0  # before `max_seconds`
    full_disk_seconds: Optional[float] = None  # how long files of the ended ranks wait for disk space; None: for ever
    direct_from: Optional[int] = None  # the size from which on files go to the object store; None: to the server
    log_limit: Optional[int] = None  # bytes of a log; None for runs that end, whose logs are kept whole
    collect: Tuple[str, ...] = ()
    restore: bool = False  # begin with the files that the run keeps in the directories `collect`
    watch: Tuple[str, ...] = ()
    shipped: Dict[str, Any] = field(default_factory=lambda: {})
    inputs: Tuple[DataInput, ...] = ()
    outputs: Tuple[DataOutput, ...] = ()
    nodes: int = 1
    processes: int = 1  # on all nodes together
    hold: int = 0
    others_ended: bool = True
    ended_well: bool = False
    mpi: Optional[MpiOrders] = None
    gpus: Tuple[str, ...] = ()  # UUIDs of the devices that this node uses exclusively
    logins: Dict[str, str] = field(
        default_factory=lambda: {}, repr=False
    )  # credentials for channels and indexes of the lock
    peers: Tuple[str, ...] = ()  # addresses of all nodes, if their processes must find each other


class Gpu(Value):
    """A GPU. `index` is the driver's number, in the order of the PCI bus; `memory` is in bytes."""

    index: int
    uuid: str
    name: str = ""
    memory: int = 0


# ── Reports ───────────────────────────────────────────────────────────────────────────────────────────────────────────


NODE_LOST = "node_lost"
"""The code of a cause when a node is gone. The default restart policy retries it: it is not the script's fault."""

AGENT_STOPPED = "agent_stopped"
"""The code of a cause when an agent received a signal to stop. Only the engine knows why; until it reports that, the
run does not end.
"""

STOPPED_ELSEWHERE = "stopped_elsewhere"
"""The code of a cause when a person or program other than this server stopped the agents."""

MPI_FAILED = "mpi_failed"
"""The code of a cause that names the launcher, because no rank is known to have failed."""


ReportedEvent = Literal["joined", "prepares", "started", "attends", "failed", "exited", "lost", "done"]
"""The events that agents report, by the names that stand in requests."""


class Cause(Value):
    """The reason of an end or a failure. `code` is for programs, `message` is a sentence for users."""

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
    time: Optional[float] = None  # when a rank failed, by its node's clock; the first failure is the cause
