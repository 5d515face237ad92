"""Who starts what where: (spec, places of the nodes) in, one plan per rank out. Pure: a launch has a golden copy.

A run of one plain process starts as soon as its agent has joined. All others *meet*: every node prepares itself, holds
the ports that its ranks will bind, and reports; when all have reported, all get their plans at the same time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from footplate.domain.datasets import DataInput, DataOutput
from footplate.domain.records import Lock
from footplate.domain.specs import Distribution, Program, RunSpec

_PORTS_OF_TORCH = 2  # for MASTER_PORT, and for the older way of meeting where no folder is shared
_PORTS_OF_MPI = 2  # for the channel over which daemons are started, and for AZ_BATCH_MASTER_NODE


@dataclass(frozen=True)
class NodePlace:
    """A node as the ranks of all nodes find it. Its agent holds the ports until the ranks start."""

    address: str
    ports: Tuple[int, ...] = ()


@dataclass(frozen=True)
class RankPlan:
    """`defaults` give way to what the user or the machine has set. A rank that `attends` serves the others, never ends
    by itself and is ended when they are done: a parameter server."""

    rank: int
    local_rank: int
    node: int
    log: str  # where its stdout and stderr go, as a file of the run
    variables: Dict[str, str] = field(default_factory=lambda: {})
    defaults: Dict[str, str] = field(default_factory=lambda: {})
    attends: bool = False
    task: str = ""  # what TensorFlow calls it, as in "worker 1"


@dataclass(frozen=True)
class MpiOrders:
    """What the node that runs mpirun needs: the places of all nodes, and the word by which daemons are asked for."""

    places: Tuple[NodePlace, ...]
    processes_per_node: int
    secret: str


@dataclass(frozen=True)
class NodeOrders:
    """All that a node agent needs to know, given to it when it joins and whenever it asks again.

    `ready` is false until all nodes of the gang are prepared; `ranks` is empty until then. `hold` tells how many ports
    the node is to hold for its ranks. `others_ended` is true when no rank runs on any other node, and their outputs are
    home; `ended_well` when those of all nodes have ended so. `shipped` tells how much of each log and journal the
    server has, so that a restarted agent goes on where the last one stopped:
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
    collect: Tuple[str, ...] = ()
    watch: Tuple[str, ...] = ()
    shipped: Dict[str, Any] = field(default_factory=lambda: {})
    inputs: Tuple[DataInput, ...] = ()
    outputs: Tuple[DataOutput, ...] = ()
    nodes: int = 1
    processes: int = 1  # of all nodes together
    hold: int = 0
    others_ended: bool = True
    ended_well: bool = False
    mpi: Optional[MpiOrders] = None
    gpus: Tuple[str, ...] = ()  # UUIDs of the devices that this node has for itself
    logins: Dict[str, str] = field(default_factory=lambda: {}, repr=False)  # for channels and indexes of the lock
    peers: Tuple[str, ...] = ()  # addresses of all nodes, where processes have to find each other


def plan(spec: RunSpec, places: Sequence[NodePlace]) -> Tuple[RankPlan, ...]:
    """The ranks of a run whose nodes are at these places, in rank order."""
    wanted = spec.distribution
    if wanted.kind == "tensorflow":
        return _plan_tensorflow(wanted, places)
    per_node = processes_per_node(wanted)
    total = sum(per_node)
    ranks: List[RankPlan] = []
    for node, count in enumerate(per_node):
        for local_rank in range(count):
            seat = _Seat(len(ranks), local_rank, node, count, total)
            variables = _VARIABLES[wanted.kind](wanted, places, seat)
            defaults = _defaults(total, places)
            ranks.append(RankPlan(seat.rank, local_rank, node, log_name(seat.rank, total), variables, defaults))
    return tuple(ranks)


def meets(wanted: Distribution) -> bool:
    """Whether its processes must find each other, so that none may start before all nodes are prepared."""
    return wanted.kind != "none" or wanted.node_count > 1


def ports_to_hold(wanted: Distribution, node: int) -> int:
    """How many ports the ranks of this node will bind that others must know beforehand."""
    if wanted.kind == "torch":
        return _PORTS_OF_TORCH if node == 0 else 0
    if wanted.kind == "mpi":
        return _PORTS_OF_MPI
    if wanted.kind == "tensorflow":
        return sum(task.node == node for task in _tasks(wanted))
    return 0


def processes_per_node(wanted: Distribution) -> Tuple[int, ...]:
    """How many ranks each node gets. A total that does not divide evenly gives the first nodes one more."""
    if wanted.kind == "torch":
        total = wanted.process_count or wanted.node_count
        base, more = divmod(total, wanted.node_count)
        return tuple(base + (1 if node < more else 0) for node in range(wanted.node_count))
    if wanted.kind == "tensorflow":
        tasks = _tasks(wanted)
        return tuple(sum(task.node == node for task in tasks) for node in range(wanted.node_count))
    return (wanted.processes_per_node if wanted.kind == "mpi" else 1,) * wanted.node_count


def log_name(rank: int, total: int) -> str:
    return "user_logs/std_log.txt" if total == 1 else f"user_logs/std_log_process_{rank:02d}.txt"


def first_log(wanted: Distribution) -> str:
    """The log that a person who follows the run wants to see: that of rank 0."""
    if wanted.kind == "tensorflow":
        tasks = _tasks(wanted)
        return _task_log(tasks[0], len(tasks))
    return log_name(0, sum(processes_per_node(wanted)))


# ── Variables ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Seat(NamedTuple):
    rank: int
    local_rank: int
    node: int
    local_total: int
    total: int


def _none(wanted: Distribution, places: Sequence[NodePlace], seat: _Seat) -> Dict[str, str]:
    return {}


def _torch(wanted: Distribution, places: Sequence[NodePlace], seat: _Seat) -> Dict[str, str]:
    master = places[0]
    return {
        "MASTER_ADDR": master.address,
        "MASTER_PORT": str(master.ports[0]),
        "WORLD_SIZE": str(seat.total),
        "RANK": str(seat.rank),
        "LOCAL_RANK": str(seat.local_rank),
        "LOCAL_WORLD_SIZE": str(seat.local_total),
        "NODE_RANK": str(seat.node),
        "GROUP_RANK": str(seat.node),
        # Where the nodes share a folder their agents put a file:// URL in its place.
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": f"tcp://{master.address}:{master.ports[1]}",
        "AZ_BATCHAI_TASK_INDEX": str(seat.rank),
    }


def _mpi(wanted: Distribution, places: Sequence[NodePlace], seat: _Seat) -> Dict[str, str]:
    master = places[0]
    return {
        "AZ_BATCH_MASTER_NODE": f"{master.address}:{master.ports[1]}",
        "AZ_BATCHAI_MPI_MASTER_NODE": "localhost" if len(places) == 1 else master.address,
        "AZ_BATCH_HOST_LIST": ",".join(place.address for place in places),
    }


_VARIABLES = {"none": _none, "torch": _torch, "mpi": _mpi}


def _defaults(total: int, places: Sequence[NodePlace]) -> Dict[str, str]:
    """As torchrun does: processes that share a machine would otherwise all start as many threads as it has cores.

    On virtual nodes the host's name leads to another interface than their addresses.
    """
    found = {"OMP_NUM_THREADS": "1"} if total > 1 else {}
    if total > 1 and all(place.address.startswith("127.") for place in places):
        found["GLOO_SOCKET_IFNAME"] = "lo"
    return found


# ── TensorFlow ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Task(NamedTuple):
    type: str
    number: int
    node: int


def _tasks(wanted: Distribution) -> Tuple[_Task, ...]:
    """In rank order. Workers one to a node and then round again, parameter servers likewise; a chief first of all."""
    nodes = wanted.node_count
    chief = [_Task("chief", 0, 0)] if wanted.chief else []
    workers = [_Task("worker", index, index % nodes) for index in range(wanted.worker_count)]
    servers = [_Task("ps", index, index % nodes) for index in range(wanted.parameter_server_count)]
    return (*chief, *workers, *servers)


def _task_log(task: _Task, total: int) -> str:
    return log_name(0, 1) if total == 1 else f"user_logs/std_log_{task.type}_{task.number}.txt"


def _plan_tensorflow(wanted: Distribution, places: Sequence[NodePlace]) -> Tuple[RankPlan, ...]:
    tasks, taken = _tasks(wanted), [0] * len(places)
    cluster: Dict[str, List[str]] = {}
    seats: List[int] = []
    for task in tasks:
        place, local = places[task.node], taken[task.node]
        cluster.setdefault(task.type, []).append(f"{place.address}:{place.ports[local]}")
        seats.append(local)
        taken[task.node] += 1
    ranks: List[RankPlan] = []
    for rank, (task, local) in enumerate(zip(tasks, seats)):
        # Under a chief the workers, too, only serve.
        attends = task.type == "ps" or (wanted.chief and task.type == "worker")
        variables, log = _task_variables(cluster, task), _task_log(task, len(tasks))
        name = f"{task.type} {task.number}"
        ranks.append(RankPlan(rank, local, task.node, log, variables, {}, attends, name))
    return tuple(ranks)


def _task_variables(cluster: Dict[str, List[str]], task: _Task) -> Dict[str, str]:
    config = {
        "cluster": {type: cluster[type] for type in ("chief", "ps", "worker") if type in cluster},
        "task": {"type": task.type, "index": task.number},
        "environment": "cloud",
    }
    return {
        "TF_CONFIG": json.dumps(config),
        "AZ_BATCHAI_PS_HOSTS": ",".join(cluster.get("ps", [])),
        "AZ_BATCHAI_WORKER_HOSTS": ",".join(cluster.get("worker", [])),
        "AZ_BATCHAI_TASK_INDEX": str(task.number),
        "AZ_BATCHAI_TASK_TYPE": task.type,
    }
