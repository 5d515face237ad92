"""Configurations and states of clusters, which users pass and read, and the requests that send them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from footplate.domain.records import ComputeView
from footplate.domain.targets import LOCAL
from footplate.sdk.exceptions import ComputeTargetException, Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.timestamps import utc_text

PRIORITIES = {"dedicated": "Dedicated", "lowpriority": "LowPriority"}


class EngineConfiguration:
    """A compute target that `ComputeTarget.create` or `ComputeTarget.attach` can make on any engine."""

    def __init__(
        self,
        engine: str,
        min_nodes: int,
        max_nodes: int,
        idle_seconds: float,
        options: Dict[str, Any],
        check: bool = True,
    ) -> None:
        self.engine = engine
        self.min_nodes = min_nodes
        self.max_nodes = max_nodes
        self.idle_seconds_before_scaledown = idle_seconds
        self.options = options
        self.check = check


class AmlComputeProvisioningConfiguration(EngineConfiguration):
    """A cluster of the server's machine, as `AmlCompute.provisioning_configuration` describes it."""

    def __init__(self, min_nodes: int, max_nodes: int, idle_seconds: float, options: Dict[str, Any]) -> None:
        super().__init__(LOCAL, min_nodes, max_nodes, idle_seconds, options)


class ScaleSettings:
    """The minimum and maximum number of nodes, and how long a node may stay idle."""

    def __init__(self, minimum_node_count: int, maximum_node_count: int, idle_seconds_before_scaledown: float) -> None:
        self.minimum_node_count = minimum_node_count
        self.maximum_node_count = maximum_node_count
        self.idle_seconds_before_scaledown = idle_seconds_before_scaledown

    def serialize(self) -> Dict[str, Any]:
        return {
            "minNodeCount": self.minimum_node_count,
            "maxNodeCount": self.maximum_node_count,
            "nodeIdleTimeBeforeScaleDown": f"PT{self.idle_seconds_before_scaledown:g}S",
        }


class AmlComputeStatus:
    """The state of a cluster. Attributes have Python names; `serialize()` uses Azure's."""

    def __init__(self, view: ComputeView) -> None:
        self.current_node_count = view.current_nodes
        self.target_node_count = view.target_nodes
        self.node_state_counts = {
            "preparing": view.preparing_nodes,
            "running": view.current_nodes - view.preparing_nodes - view.idle_nodes,
            "idle": view.idle_nodes,
            "unusable": 0,
            "leaving": 0,
            "preempted": 0,
        }
        self.allocation_state = "Steady" if self.target_node_count == self.current_node_count else "Resizing"
        self.allocation_state_transition_time = utc_text(view.resized)
        self.errors: Optional[List[Any]] = None
        self.creation_time = utc_text(view.created)
        self.modified_time = utc_text(view.modified)
        self.provisioning_state = view.state
        self.scale_settings = ScaleSettings(view.min_nodes, view.max_nodes, view.idle_seconds)
        priority = str(view.options.get("vm_priority") or "dedicated")
        self.vm_priority = PRIORITIES.get(priority.lower(), priority)
        self.vm_size = str(view.options.get("vm_size") or "")

    def serialize(self) -> Dict[str, Any]:
        return {
            "currentNodeCount": self.current_node_count,
            "targetNodeCount": self.target_node_count,
            "nodeStateCounts": {f"{state}NodeCount": count for state, count in self.node_state_counts.items()},
            "allocationState": self.allocation_state,
            "allocationStateTransitionTime": self.allocation_state_transition_time,
            "errors": self.errors,
            "creationTime": self.creation_time,
            "modifiedTime": self.modified_time,
            "provisioningState": self.provisioning_state,
            "provisioningStateTransitionTime": None,
            "scaleSettings": self.scale_settings.serialize(),
            "vmPriority": self.vm_priority,
            "vmSize": self.vm_size,
        }

    def __repr__(self) -> str:
        return f"AmlComputeStatus({self.serialize()!r})"


def whole_number(name: str, value: Any) -> int:
    """Return the value as an int. Notebooks read sizes from environment variables, so text is accepted."""
    try:
        count = int(value)
        exact = isinstance(value, str) or count == value
    except (TypeError, ValueError, OverflowError):
        exact, count = False, 0
    if not exact:
        raise ComputeTargetException(f"{name} is {value!r}", hint=f"use a whole number: {name}=4")
    return count


def seconds(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"idle_seconds_before_scaledown is {value!r}"
        raise ComputeTargetException(message, hint="use a number of seconds, such as 1800") from None


_RESERVED = ("amlcompute", LOCAL, "containerinstance")
KINDS: Kinds = {"not_found": ComputeTargetException, "conflict": ComputeTargetException}
CREATING: Kinds = dict(KINDS, invalid=ComputeTargetException)


def fetch(workspace: Workspace, name: str) -> ComputeView:
    if str(name).lower() == LOCAL:
        raise ComputeTargetException(
            "ComputeTargetNotFound: 'local' is this machine, not a cluster",
            hint="pass the name itself: ScriptRunConfig(compute_target='local')",
        )
    if not name or "/" in name:  # not a path of the API, so the server's error would not name the compute target
        hint = "list compute targets with: footplate compute list"
        raise ComputeTargetException(f"there is no compute target {name!r}", hint=hint)
    return workspace.session.api_for(KINDS).computes.get(workspace.id, name)


def put(workspace: Workspace, name: str, argument: str, wanted: Any, if_exists: str) -> ComputeView:
    if name.lower() in _RESERVED:
        raise UserErrorException(f"{name!r} is a reserved name", hint="choose another name for the compute target")
    if not isinstance(wanted, EngineConfiguration):
        raise ComputeTargetException(
            f"{argument} is {wanted!r}",
            hint="use AmlCompute.provisioning_configuration or ComputeTarget.engine_configuration",
        )
    return workspace.session.api_for(CREATING).computes.put(
        workspace.id,
        name,
        engine=wanted.engine,
        max_nodes=wanted.max_nodes,
        min_nodes=wanted.min_nodes,
        idle_seconds=wanted.idle_seconds_before_scaledown,
        options=wanted.options,
        if_exists=if_exists,
        check=wanted.check,
    )
