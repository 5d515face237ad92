"""Explains, in plain words, why a run waits in a Ray cluster. Ray itself reports only numbers.

The two generations of Ray's autoscaler report differently. The first one, which also watches clusters that do not
scale, publishes the usage of each node and the number of nodes that it starts. The second one publishes neither: the
usage comes from the text that the dashboard shows, and its actions are known from its events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_COUNTED = ("CPU", "GPU")
_UNITS = {"": 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_AMOUNT = r"([\d.]+[A-Za-z]*)"
_USAGE = re.compile(rf"^{_AMOUNT}/{_AMOUNT} (\S+)(?: \({_AMOUNT} used of {_AMOUNT} reserved)?", re.MULTILINE)
_ADDS = "Adding "
_ROUTINE = ("Started a ray job ", "Resized to ", "Removing ", "Current cluster resources")
"""Beginnings of events that do not explain why somebody waits."""

Usage = Mapping[str, Mapping[str, "tuple[float, float]"]]
"""The used and the total amount of each resource, by node."""


@dataclass(frozen=True)
class ClusterState:
    """A look at a cluster. `starting` counts nodes that the autoscaler starts. None: Ray does not report it.

    `events` are the (time, message) pairs of the cluster, oldest first.
    """

    usage: Usage | None
    starting: int | None = None
    error: str | None = None
    events: tuple[tuple[str, str], ...] = ()


def read_status(status: Mapping[str, Any]) -> ClusterState:
    """Read the head's answer to /api/cluster_status. The second autoscaler leaves it empty."""
    cluster: dict[str, Any] = status.get("clusterStatus") or {}
    metrics: dict[str, Any] = cluster.get("loadMetricsReport") or {}
    usage: dict[str, dict[str, list[float]]] | None = metrics.get("usageByNode")
    if usage is None:
        return ClusterState(None)
    nodes = {node: {name: (used, total) for name, (used, total) in each.items()} for node, each in usage.items()}
    return ClusterState(nodes, _count_starting(cluster.get("autoscalerReport") or {}), status.get("autoscalingError"))


def read_usage(texts: Mapping[str, str]) -> Usage:
    """Read the lines of nodes, such as `1.0/4.0 CPU (1.0 used of 2.0 reserved in placement groups)`."""
    return {node: dict(map(_read_amounts, _USAGE.finditer(text))) for node, text in texts.items()}


def _read_amounts(match: re.Match[str]) -> tuple[str, tuple[float, float]]:
    used, total, used_of_reserved, reserved = (_number(match[index] or "0") for index in (1, 2, 4, 5))
    return match[3], (used - used_of_reserved + reserved, total)


def _number(text: str) -> float:
    digits = text.rstrip("".join(_UNITS))
    return float(digits) * _UNITS[text[len(digits) :]]


def explain(state: ClusterState, job: str, bundle: Mapping[str, float], nodes: int) -> str:
    """Return the reason why a job waits that needs `nodes` times the resources of `bundle`."""
    needs = _describe(bundle, nodes)
    if state.usage is None:
        return f"the Ray cluster has not started the job: it needs {needs}"
    free = _count(bundle, ({name: total - used for name, (used, total) in n.items()} for n in state.usage.values()))
    large = _count(bundle, ({name: total for name, (_, total) in n.items()} for n in state.usage.values()))
    if free >= nodes:
        return "Ray is starting the job"
    if state.starting:
        count = f"{state.starting} node{'s' if state.starting > 1 else ''}"
        return f"Scaling: Ray is starting {count}; the run needs {needs}"
    report_text = _last_report(state, job)
    if report_text and report_text.startswith(_ADDS):
        return f"Scaling: Ray reports: {report_text}; the run needs {needs}"
    reason = state.error or report_text
    report = f"; the autoscaler reports: {reason}" if reason else ""
    if large < nodes:
        have = f"has only {large} of {len(state.usage)}" if large else f"has none among its {len(state.usage)} nodes"
        return f"the run needs {needs}, and the Ray cluster {have}: it waits until such nodes join{report}"
    return f"the Ray cluster is full: the run needs {needs}, and {free} of {large} such nodes are free{report}"


def _last_report(state: ClusterState, job: str) -> str | None:
    """Return the last event of interest since the job was submitted; one in the same second may have come before.

    The event of the job itself comes a moment late and is dropped after many others: then nodes may be for other jobs.
    """
    begun = next((time for time, message in state.events if message == f"Started a ray job {job}."), None)
    routine = _ROUTINE if begun is not None and state.starting is None else (*_ROUTINE, _ADDS)
    messages = [message for time, message in state.events if time >= (begun or "") and not message.startswith(routine)]
    return messages[-1].strip().rstrip(".") if messages else None


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


def _count(bundle: Mapping[str, float], nodes: Iterable[Mapping[str, float]]) -> int:
    return sum(fits(bundle, node) for node in nodes)


def fits(bundle: Mapping[str, float], have: Mapping[str, float]) -> bool:
    """Whether a node has room. The dashboard writes most names of resources in camel case, custom ones too."""
    return all(have.get(name, have.get(_camel_case(name), 0.0)) >= value for name, value in bundle.items())


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)
