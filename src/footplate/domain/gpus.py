"""Assign GPUs: from the request of a run and the devices of its nodes to the devices of each node and of each rank.

A run *asks* for GPUs when it names a number (per node or per process), when its estimator sets `use_gpu`, when its
processes communicate through NCCL, or when the machine size of its target has GPUs. It then waits until its GPUs are
free and has exclusive use of them. On a node whose devices an engine has chosen, a run that names no number has all of
them. A run that does not ask takes one per process if they are free when it starts, also
exclusively, and does not wait. A run that sets CUDA_VISIBLE_DEVICES itself is left alone. A device is identified by its
UUID, so nodes on the same machine share its devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from footplate import environ
from footplate.domain.codec import from_json
from footplate.domain.launch import processes_per_node
from footplate.domain.orders import ASSIGNED, INFO, VISIBLE, Gpu, RankPlan
from footplate.domain.specs import RunSpec

Share = Tuple[str, ...]
"""The variable with the UUIDs of the devices that a node has for its exclusive use."""


@dataclass(frozen=True)
class Need:
    """The number of GPUs that a node needs.

    `firm`: wait for them. `exact`: fewer are not enough, even if it has no more.
    """

    count: int
    firm: bool = False
    exact: bool = False


class GpuHost(NamedTuple):
    """A node with its devices, in the driver's order, and its need."""

    devices: Tuple[Gpu, ...]
    need: Need


def devices(info: Mapping[str, Any]) -> Tuple[Gpu, ...]:
    """Return the devices that a node reported when it joined."""
    return tuple(from_json(Gpu, item) for item in info.get(INFO) or ())


def chooses_itself(spec: RunSpec) -> bool:
    return VISIBLE in spec.environment_variables or VISIBLE in spec.environment.variables


def uses_nccl(spec: RunSpec) -> bool:
    return spec.distribution.kind == "torch" and spec.distribution.backend == "nccl"


def needs(spec: RunSpec, size: Optional[int] = None) -> Tuple[Need, ...]:
    """Return the need of each node.

    `size`: the number of GPUs of the machine size that its target names, if it names one.
    """
    if chooses_itself(spec):
        return (Need(0),) * spec.distribution.node_count
    return tuple(_need(spec, ranks, size) for ranks in processes_per_node(spec.distribution))


def asks(spec: RunSpec, size: Optional[int]) -> bool:
    """Whether the run asks for GPUs on any of its nodes."""
    return any(need.firm and need.count for need in needs(spec, size))


def _need(spec: RunSpec, ranks: int, size: Optional[int]) -> Need:
    request = spec.gpus
    if request.per_process is not None:
        return Need(request.per_process * ranks, firm=True, exact=True)
    if request.per_node is not None:
        return Need(request.per_node, firm=True, exact=True)
    if uses_nccl(spec):  # NCCL requires a device per process
        return Need(ranks, firm=True, exact=True)
    if size:
        return Need(size, firm=True)
    return Need(0) if size == 0 and not request.needed else Need(ranks, firm=request.needed)


def need_on(info: Mapping[str, Any], need: Need) -> Need:
    """Return the need of a node that has joined: all devices that its engine has chosen, if no number is named."""
    if need.exact or not need.count or not info.get(ASSIGNED):
        return need
    return Need(len(devices(info)), firm=True)


def count_wanted(spec: RunSpec, size: Optional[int], there: int) -> int:
    """Return how many GPUs the run waits for on all nodes, if these are one machine that has `there`."""
    each = [need for need in needs(spec, size) if need.firm]
    return sum(need.count if need.exact else min(need.count, there // len(each)) for need in each)


def assign(machines: Sequence[GpuHost], taken: Collection[str]) -> Optional[Tuple[Share, ...]]:
    """Assign devices to all nodes at once, or return None when some of them must wait. Nodes may share their devices.

    Raises nothing: a request that can never be met (see `shortage`) returns None every time.
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
    """Return the first node that could not get its GPUs even if all were free, or None."""
    for last in range(len(machines)):
        if assign(machines[: last + 1], ()) is None:
            return last
    return None


def _limits(machines: Sequence[GpuHost]) -> List[int]:
    """Return the most that each node can have when nodes on the same machine share its devices equally."""
    together: Dict[Tuple[str, ...], int] = {}
    groups = [tuple(gpu.uuid for gpu in machine.devices) for machine in machines]
    for group in groups:
        together[group] = together.get(group, 0) + 1
    return [len(group) // together[group] for group in groups]


# ── What a rank is told ───────────────────────────────────────────────────────────────────────────────────────────────


def variables(spec: RunSpec, plan: RankPlan, info: Mapping[str, Any], share: Share) -> Dict[str, str]:
    """Return the GPU variables of a rank. A node without GPUs sets only one; nothing is set if the user has chosen.

    All ranks of a node see all devices that the run has there, and LOCAL_RANK is the number of the rank's own device:
    scripts for torch and Horovod expect that. A rank sees only its own device if the run names a number per process,
    and with TensorFlow, which would fill the memory of every visible device.
    """
    present = devices(info)
    if chooses_itself(spec):
        return {}
    if not present:
        return {"AZ_BATCHAI_NUM_GPUS": "0"}
    node_devices = [gpu.index for gpu in present if gpu.uuid in share]
    own = [] if plan.attends else _devices_of_rank(spec, plan, node_devices)
    alone = spec.gpus.per_process is not None or spec.distribution.kind == "tensorflow" or plan.attends
    seen = own if alone else node_devices
    return {
        VISIBLE: _join(seen),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        environ.GPUS: _join(own),
        "AZ_BATCHAI_NUM_GPUS": str(len(seen)),
    }


def _devices_of_rank(spec: RunSpec, plan: RankPlan, node_devices: List[int]) -> List[int]:
    """Return the rank's share of the node's devices. Ranks share a device when there are fewer devices than ranks."""
    ranks = processes_per_node(spec.distribution)[plan.node]
    each = len(node_devices) // ranks
    if each == 0:
        return [node_devices[plan.local_rank % len(node_devices)]] if node_devices else []
    return node_devices[plan.local_rank * each : (plan.local_rank + 1) * each]


def _join(indices: Sequence[int]) -> str:
    return ",".join(str(index) for index in indices)
