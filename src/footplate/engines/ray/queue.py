"""Explains, in plain words, why a run waits in a Ray cluster. Ray itself reports only numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COUNTED = ("CPU", "GPU")


def explain(status: Mapping[str, Any], bundle: Mapping[str, float], nodes: int) -> str:
    """Return the reason. `status` is the head's answer to /api/cluster_status, `bundle` the resources of each node."""
    needs = _describe(bundle, nodes)
    known: dict[str, Any] = status.get("clusterStatus") or {}
    metrics: dict[str, Any] = known.get("loadMetricsReport") or {}
    usage: dict[str, dict[str, list[float]]] | None = metrics.get("usageByNode")
    if usage is None:
        return f"the Ray cluster has not started the job: it needs {needs}"
    starting = _count_starting(known.get("autoscalerReport") or {})
    free = sum(_fits(bundle, {name: total - used for name, (used, total) in each.items()}) for each in usage.values())
    large = sum(_fits(bundle, {name: total for name, (_, total) in each.items()}) for each in usage.values())
    if free >= nodes:
        return "Ray is starting the job"
    if starting:
        return f"Scaling: Ray is starting {starting} node{'s' if starting > 1 else ''}; the run needs {needs}"
    if large < nodes:
        have = f"has only {large} of {len(usage)}" if large else f"has none among its {len(usage)} nodes"
        error = f"; the autoscaler reports: {status['autoscalingError']}" if status.get("autoscalingError") else ""
        return f"the run needs {needs}, and the Ray cluster {have}: it waits until such nodes join{error}"
    return f"the Ray cluster is full: the run needs {needs}, and {free} of {large} such nodes are free"


def _describe(bundle: Mapping[str, float], nodes: int) -> str:
    parts = [_amount(name, value) for name, value in bundle.items() if value]
    shape = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "no resources"
    return f"a node with {shape}" if nodes == 1 else f"{nodes} nodes with {shape} each"


def _amount(name: str, value: float) -> str:
    if name == "memory":
        return f"{value / 2**30:.3g} GiB"
    return f"{value:g} {name}" + ("s" if name in _COUNTED and value != 1 else "")


def _count_starting(report: Mapping[str, Any]) -> int:
    launches: dict[str, int] = report.get("pendingLaunches") or {}
    return sum(launches.values()) + len(report.get("pendingNodes") or ())


def _fits(bundle: Mapping[str, float], have: Mapping[str, float]) -> bool:
    """Whether a node has room. The dashboard writes names of resources in camel case, custom ones too."""
    return all(have.get(_camel_case(name), 0.0) >= value for name, value in bundle.items())


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)
