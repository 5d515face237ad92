"""Plan the ranks of a run: its spec and the places of its nodes in, one plan per rank out. Pure, with golden copies.

A run of one plain process starts as soon as its agent has joined. All others *meet*: every node prepares itself, holds
the ports that its ranks will bind, and reports. When all have reported, all get their plans at the same time.
"""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, Sequence, Tuple

from footplate.domain.orders import NodePlace, RankPlan
from footplate.domain.specs import Distribution, RunSpec

_PORTS_OF_TORCH = 2  # for MASTER_PORT, and for the older init method where nodes share no directory
_PORTS_OF_MPI = 2  # for the channel that starts daemons, and for AZ_BATCH_MASTER_NODE


def plan(spec: RunSpec, places: Sequence[NodePlace]) -> Tuple[RankPlan, ...]:
    """Return the plans of a run whose nodes are at these places, in rank order."""
    distribution = spec.distribution
    if distribution.kind == "tensorflow":
        return _plan_tensorflow(distribution, places)
    per_node = processes_per_node(distribution)
    total = sum(per_node)
    describe = _VARIABLES.get(distribution.kind)
    defaults = _defaults(total, places)
    ranks: List[RankPlan] = []
    for node, count in enumerate(per_node):
        for local_rank in range(count):
            seat = _Seat(len(ranks), local_rank, node, count, total)
            variables = {} if describe is None else describe(distribution, places, seat)
            ranks.append(RankPlan(seat.rank, local_rank, node, log_name(seat.rank, total), variables, defaults))
    return tuple(ranks)


def meets(distribution: Distribution) -> bool:
    """Whether the processes must find each other, so that none may start before all nodes are prepared."""
    return distribution.kind != "none" or distribution.node_count > 1


def ports_to_hold(distribution: Distribution, node: int) -> int:
    """Return the number of ports that the ranks of this node will bind and that others must know beforehand."""
    if distribution.kind == "torch":
        return _PORTS_OF_TORCH if node == 0 else 0
    if distribution.kind == "mpi":
        return _PORTS_OF_MPI
    if distribution.kind == "tensorflow":
        return sum(task.node == node for task in _tasks(distribution))
    return 0


def processes_per_node(distribution: Distribution) -> Tuple[int, ...]:
    """Return the number of ranks of each node. A remainder goes to the first nodes, one each."""
    if distribution.kind == "torch":
        total = distribution.process_count or distribution.node_count
        base, more = divmod(total, distribution.node_count)
        return tuple(base + (1 if node < more else 0) for node in range(distribution.node_count))
    if distribution.kind == "tensorflow":
        tasks = _tasks(distribution)
        return tuple(sum(task.node == node for task in tasks) for node in range(distribution.node_count))
    return (distribution.processes_per_node if distribution.kind == "mpi" else 1,) * distribution.node_count


def log_name(rank: int, total: int) -> str:
    return "user_logs/std_log.txt" if total == 1 else f"user_logs/std_log_process_{rank:02d}.txt"


def first_log(distribution: Distribution) -> str:
    """Return the log that a user follows by default: the log of rank 0."""
    if distribution.kind == "tensorflow":
        tasks = _tasks(distribution)
        return _task_log(tasks[0], len(tasks))
    return log_name(0, sum(processes_per_node(distribution)))


# ── Variables ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Seat(NamedTuple):
    rank: int
    local_rank: int
    node: int
    local_total: int
    total: int


def _torch(distribution: Distribution, places: Sequence[NodePlace], seat: _Seat) -> Dict[str, str]:
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
        # Agents replace it by a file:// URL if the nodes share a directory.
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": f"tcp://{master.address}:{master.ports[1]}",
        "AZ_BATCHAI_TASK_INDEX": str(seat.rank),
    }


def _mpi(distribution: Distribution, places: Sequence[NodePlace], seat: _Seat) -> Dict[str, str]:
    master = places[0]
    return {
        "AZ_BATCH_MASTER_NODE": f"{master.address}:{master.ports[1]}",
        "AZ_BATCHAI_MPI_MASTER_NODE": "localhost" if len(places) == 1 else master.address,
        "AZ_BATCH_HOST_LIST": ",".join(place.address for place in places),
    }


_VARIABLES = {"torch": _torch, "mpi": _mpi}


def _defaults(total: int, places: Sequence[NodePlace]) -> Dict[str, str]:
    """Return torchrun's defaults: otherwise each process on a machine would start as many threads as it has cores.

    On virtual nodes the host name resolves to another interface than their addresses.
    """
    variables = {"OMP_NUM_THREADS": "1"} if total > 1 else {}
    if total > 1 and all(place.address.startswith("127.") for place in places):
        variables["GLOO_SOCKET_IFNAME"] = "lo"
    return variables


# ── TensorFlow ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Task(NamedTuple):
    type: str
    number: int
    node: int


def _tasks(distribution: Distribution) -> Tuple[_Task, ...]:
    """Return the tasks in rank order: a chief first, then workers, then parameter servers, each round-robin over the
    nodes.
    """
    nodes = distribution.node_count
    chief = [_Task("chief", 0, 0)] if distribution.chief else []
    workers = [_Task("worker", index, index % nodes) for index in range(distribution.worker_count)]
    servers = [_Task("ps", index, index % nodes) for index in range(distribution.parameter_server_count)]
    return (*chief, *workers, *servers)


def _task_log(task: _Task, total: int) -> str:
    return log_name(0, 1) if total == 1 else f"user_logs/std_log_{task.type}_{task.number}.txt"


def _plan_tensorflow(distribution: Distribution, places: Sequence[NodePlace]) -> Tuple[RankPlan, ...]:
    tasks = _tasks(distribution)
    ports_used = [0] * len(places)
    cluster: Dict[str, List[str]] = {}
    seats: List[int] = []
    for task in tasks:
        place, local = places[task.node], ports_used[task.node]
        cluster.setdefault(task.type, []).append(f"{place.address}:{place.ports[local]}")
        seats.append(local)
        ports_used[task.node] += 1
    ranks: List[RankPlan] = []
    for rank, (task, local) in enumerate(zip(tasks, seats)):
        # With a chief, the workers only serve as well.
        attends = task.type == "ps" or (distribution.chief and task.type == "worker")
        log = _task_log(task, len(tasks))
        name = f"{task.type} {task.number}"
        ranks.append(RankPlan(rank, local, task.node, log, _task_variables(cluster, task), {}, attends, name))
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
