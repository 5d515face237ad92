"""Who starts what where: (spec, addresses of the nodes) in, one plan per rank out. Pure: a launch has a golden copy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from footplate.domain.datasets import DataInput, DataOutput
from footplate.domain.records import Lock
from footplate.domain.specs import Distribution, Program, RunSpec
from footplate.errors import InvalidInput

TORCH_PORT = 6105


@dataclass(frozen=True)
class RankPlan:
    rank: int
    local_rank: int
    node: int
    log: str  # where its stdout and stderr go, as a file of the run
    variables: Dict[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class NodeOrders:
    """All that a node agent needs to know, given to it when it joins and whenever it asks again.

    `ready` is false while other nodes of the gang are missing; `ranks` is empty until then. `shipped` tells how much of
    each log and journal the server has, so that a restarted agent goes on where the last one stopped:
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


def plan(spec: RunSpec, addresses: Sequence[str]) -> Tuple[RankPlan, ...]:
    """The ranks of a run whose nodes have these addresses, in rank order."""
    wanted = spec.distribution
    check_launchable(wanted)
    per_node = processes_per_node(wanted)
    total = sum(per_node)
    ranks: List[RankPlan] = []
    for node, count in enumerate(per_node):
        for local_rank in range(count):
            rank = len(ranks)
            variables = _torch(wanted, addresses, rank, local_rank, node, total) if wanted.kind == "torch" else {}
            ranks.append(RankPlan(rank, local_rank, node, log_name(rank, total), variables))
    return tuple(ranks)


def check_launchable(wanted: Distribution) -> None:
    """Refuse, at submission, what no agent of this version can start."""
    if wanted.kind in ("mpi", "tensorflow"):
        raise InvalidInput(
            f"distribution {wanted.kind!r} cannot be started by this version of Footplate",
            "run it without a distribution, or with PyTorchConfiguration",
        )


def processes_per_node(wanted: Distribution) -> Tuple[int, ...]:
    """How many ranks each node gets. A total that does not divide evenly gives the first nodes one more."""
    if wanted.kind == "torch":
        total = wanted.process_count or wanted.node_count
        base, more = divmod(total, wanted.node_count)
        return tuple(base + (1 if node < more else 0) for node in range(wanted.node_count))
    return (1,) * wanted.node_count


def log_name(rank: int, total: int) -> str:
    return "user_logs/std_log.txt" if total == 1 else f"user_logs/std_log_process_{rank:02d}.txt"


def _torch(
    wanted: Distribution, addresses: Sequence[str], rank: int, local_rank: int, node: int, total: int
) -> Dict[str, str]:
    return {
        "MASTER_ADDR": addresses[0],
        "MASTER_PORT": str(TORCH_PORT),
        "WORLD_SIZE": str(total),
        "RANK": str(rank),
        "LOCAL_RANK": str(local_rank),
        "NODE_RANK": str(node),
        "AZ_BATCHAI_TASK_INDEX": str(rank),
    }
