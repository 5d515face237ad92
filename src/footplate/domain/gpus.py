"""Who gets which GPU: what a run asks for and what its nodes have in, the devices of each node and of each rank out.

A run *asks* when it names a number (for each node or for each process), when its estimator says `use_gpu`, when its
processes are to talk through NCCL, or when the machine size of its target has GPUs. It then waits until its GPUs are
free, and has them alone. A run that does not ask takes one for each process if they are free when it starts, alone as
well, and waits for none. A run that sets CUDA_VISIBLE_DEVICES itself is left alone. A device is known by its UUID, so
nodes that share a machine share it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from footplate import environ
from footplate.domain.codec import from_json
from footplate.domain.launch import RankPlan, processes_per_node
from footplate.domain.specs import RunSpec

VISIBLE = "CUDA_VISIBLE_DEVICES"
INFO = "gpu_devices"
"""The key in a node's info under which its devices are listed."""

Share = Tuple[str, ...]
"""The UUIDs of the devices that a node has for itself."""


@dataclass(frozen=True)
class Gpu:
    """`index` is the driver's number for it, in the order of the PCI bus; `memory` is in bytes."""

    index: int
    uuid: str
    name: str = ""
    memory: int = 0


@dataclass(frozen=True)
class Need:
    """How many GPUs a node is to have. `firm`: wait for them. `exact`: fewer will not do, even if it has no more."""

    count: int
    firm: bool = False
    exact: bool = False


class GpuHost(NamedTuple):
    """A node as far as this matters: what it has, in the driver's order, and what it needs."""

    devices: Tuple[Gpu, ...]
    need: Need


def devices(info: Mapping[str, Any]) -> Tuple[Gpu, ...]:
    """What a node said about its devices when it joined."""
    return tuple(from_json(Gpu, item) for item in info.get(INFO) or ())


def chooses_itself(spec: RunSpec) -> bool:
    return VISIBLE in spec.environment_variables or VISIBLE in spec.environment.variables


def uses_nccl(spec: RunSpec) -> bool:
    return spec.distribution.kind == "torch" and spec.distribution.backend == "nccl"


def needs(spec: RunSpec, size: Optional[int] = None) -> Tuple[Need, ...]:
    """What each node of the run is to have. `size`: how many the machine size has that its target names, if it does."""
    if chooses_itself(spec):
        return (Need(0),) * spec.distribution.node_count
    return tuple(_need(spec, ranks, size) for ranks in processes_per_node(spec.distribution))


def _need(spec: RunSpec, ranks: int, size: Optional[int]) -> Need:
    asked = spec.gpus
    if asked.per_process is not None:
        return Need(asked.per_process * ranks, firm=True, exact=True)
    if asked.per_node is not None:
        return Need(asked.per_node, firm=True, exact=True)
    if uses_nccl(spec):  # which wants another device for each process
        return Need(ranks, firm=True, exact=True)
    if size:
        return Need(size, firm=True)
    return Need(0) if size == 0 and not asked.needed else Need(ranks, firm=asked.needed)


def wanted(spec: RunSpec, size: Optional[int], there: int) -> int:
    """How many GPUs the run waits for, all nodes together, if these are one machine that has `there`."""
    each = [need for need in needs(spec, size) if need.firm]
    return sum(need.count if need.exact else min(need.count, there // len(each)) for need in each)


def assign(machines: Sequence[GpuHost], taken: Collection[str]) -> Optional[Tuple[Share, ...]]:
    """Devices for all nodes at once, or None when some of them must wait. Nodes may share their devices.

    Raises nothing: what can never be had (see `shortage`) is None for ever.
    """
    used = set(taken)
    shares: List[Share] = []
    for machine, limit in zip(machines, _limits(machines)):
        free = [gpu.uuid for gpu in machine.devices if gpu.uuid not in used]
        count = machine.need.count if machine.need.exact else min(machine.need.count, limit)
        if count > len(free) and machine.need.firm:
            return None
        shares.append(tuple(free[:count]))
        used.update(shares[-1])
    return tuple(shares)


def shortage(machines: Sequence[GpuHost]) -> Optional[int]:
    """The first node that could not have its GPUs even if nobody else had any; None when all can."""
    for last in range(len(machines)):
        if assign(machines[: last + 1], ()) is None:
            return last
    return None


def _limits(machines: Sequence[GpuHost]) -> List[int]:
    """How many each node can have when those that share a machine share its devices alike."""
    together: Dict[Tuple[str, ...], int] = {}
    groups = [tuple(gpu.uuid for gpu in machine.devices) for machine in machines]
    for group in groups:
        together[group] = together.get(group, 0) + 1
    return [len(group) // together[group] for group in groups]


# ── What a rank is told ───────────────────────────────────────────────────────────────────────────────────────────────


def variables(spec: RunSpec, plan: RankPlan, info: Mapping[str, Any], share: Share) -> Dict[str, str]:
    """The variables of a rank on a node with GPUs; on one without only that, and none when the user has chosen.

    All ranks of a node see all devices that the run has there, and LOCAL_RANK is the number of a rank's own: what
    scripts for torch and Horovod expect. Each sees its own alone where it was asked for a number for each process, and
    with TensorFlow, which would fill the memory of all that it sees.
    """
    present = devices(info)
    if chooses_itself(spec):
        return {}
    if not present:
        return {"AZ_BATCHAI_NUM_GPUS": "0"}
    held = [gpu.index for gpu in present if gpu.uuid in share]
    own = [] if plan.attends else _own(spec, plan, held)
    alone = spec.gpus.per_process is not None or spec.distribution.kind == "tensorflow" or plan.attends
    seen = own if alone else held
    return {
        VISIBLE: _listed(seen),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        environ.GPUS: _listed(own),
        "AZ_BATCHAI_NUM_GPUS": str(len(seen)),
    }


def _own(spec: RunSpec, plan: RankPlan, held: List[int]) -> List[int]:
    """The part of the node's devices that is this rank's; some have the same one when there are fewer than ranks."""
    ranks = processes_per_node(spec.distribution)[plan.node]
    each = len(held) // ranks
    if each == 0:
        return [held[plan.local_rank % len(held)]] if held else []
    return held[plan.local_rank * each : (plan.local_rank + 1) * each]


def _listed(indices: Sequence[int]) -> str:
    return ",".join(str(index) for index in indices)
