"""Compute targets. A cluster limits how many nodes run at once; the nodes are your own machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from footplate.domain import shapes
from footplate.domain.records import ComputeView, RunView
from footplate.domain.targets import LOCAL
from footplate.sdk import compute, notebooks
from footplate.sdk.exceptions import ComputeTargetException, Kinds, UserErrorException
from footplate.sdk.timestamps import utc_text

if TYPE_CHECKING:
    from footplate.sdk.runs.run import Run
    from footplate.sdk.workspace import Workspace

_RESERVED = ("amlcompute", LOCAL, "containerinstance")
MANY_NODES = 1000
"""Default size of a target on an engine that has a queue of its own: as good as no limit."""

_KINDS: Kinds = {"not_found": ComputeTargetException, "conflict": ComputeTargetException}
PRIORITIES = {"dedicated": "Dedicated", "lowpriority": "LowPriority"}
_BUSY = ("Provisioning", "Preparing", "Running", "Finalizing", "CancelRequested")


class EngineConfiguration:
    """A compute target that `ComputeTarget.create` or `ComputeTarget.attach` can make on any engine."""

    def __init__(
        self, engine: str, min_nodes: int, max_nodes: int, idle_seconds: float, options: Dict[str, Any]
    ) -> None:
        self.engine = engine
        self.min_nodes = min_nodes
        self.max_nodes = max_nodes
        self.idle_seconds_before_scaledown = idle_seconds
        self.options = options


class AmlComputeProvisioningConfiguration(EngineConfiguration):
    """A cluster of the server's machine, as `AmlCompute.provisioning_configuration` describes it."""

    def __init__(self, min_nodes: int, max_nodes: int, idle_seconds: float, options: Dict[str, Any]) -> None:
        super().__init__(LOCAL, min_nodes, max_nodes, idle_seconds, options)


class AbstractComputeTarget:
    """A place where a run can go: a cluster or this machine."""

    name: Any
    type: Any


class ComputeTarget(AbstractComputeTarget):
    """`ComputeTarget(workspace, name)` returns the target with that name as an object of its own class.

    It raises ComputeTargetException if there is none, which is the usual test before creating one.
    """

    def __new__(cls, workspace: Workspace, name: str) -> AmlCompute:
        return _of_view(workspace, _fetch(workspace, name))

    workspace: Workspace
    _view: ComputeView

    @staticmethod
    def create(workspace: Workspace, name: str, provisioning_configuration: EngineConfiguration) -> AmlCompute:
        """Create the cluster, or update the sizes of one that exists, as Azure does."""
        return _put(workspace, name, "provisioning_configuration", provisioning_configuration, "replace")

    @staticmethod
    def attach(workspace: Workspace, name: str, attach_configuration: EngineConfiguration) -> AmlCompute:
        """Add a cluster that exists already, such as a Slurm partition; a name that is taken is refused."""
        return _put(workspace, name, "attach_configuration", attach_configuration, "refuse")

    @staticmethod
    def engine_configuration(
        engine: str,
        max_nodes: int = MANY_NODES,
        min_nodes: int = 0,
        idle_seconds_before_scaledown: float = 1800,
        **options: Any,
    ) -> EngineConfiguration:
        """Describe a target on any engine of the server; an unknown engine or option is refused with the valid ones."""
        sizes = _whole("min_nodes", min_nodes), _whole("max_nodes", max_nodes)
        return EngineConfiguration(engine, *sizes, _seconds(idle_seconds_before_scaledown), options)

    @staticmethod
    def list(workspace: Workspace) -> List[ComputeTarget]:
        views = workspace.session.api_for(_KINDS).computes.list(workspace.id)
        return [_of_view(workspace, view) for view in views if view.name != LOCAL]

    # ── identity ──

    @property
    def name(self) -> str:
        return self._view.name

    @property
    def type(self) -> str:
        return "AmlCompute" if self._view.engine == LOCAL else self._view.engine

    @property
    def id(self) -> str:
        return f"/workspaces/{self.workspace.name}/computes/{self.name}"

    @property
    def location(self) -> str:
        return self.workspace.location

    @property
    def tags(self) -> Dict[str, Any]:
        return dict(self._view.options.get("tags") or {})

    @property
    def provisioning_state(self) -> str:
        return self._view.state

    @property
    def provisioning_errors(self) -> None:
        return None

    def delete(self) -> None:
        """Delete the cluster. Raise ComputeTargetException if it still has runs."""
        self.workspace.session.api_for(_KINDS).computes.delete(self.workspace.id, self.name)

    detach = delete

    def refresh_state(self) -> None:
        self._view = _fetch(self.workspace, self.name)

    def __deepcopy__(self, memo: Dict[int, Any]) -> ComputeTarget:
        """Return this object: a copied run configuration still names the same target."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name!r}, type={self.type!r})"

    def _repr_html_(self) -> str:
        view = self._view
        return notebooks.row({"Name": self.name, "Type": self.type, "State": self.provisioning_state,
                              "Nodes": f"{view.current_nodes} of at most {view.max_nodes}"})  # fmt: skip


class AmlCompute(ComputeTarget):
    """A cluster. At most `max_nodes` nodes run at once; further runs wait in its queue."""

    @staticmethod
    def provisioning_configuration(
        vm_size: str = "",
        vm_priority: str = "dedicated",
        min_nodes: int = 0,
        max_nodes: Optional[int] = None,
        idle_seconds_before_scaledown: Optional[float] = 1800,
        admin_username: Optional[str] = None,
        admin_user_password: Optional[str] = None,
        admin_user_ssh_key: Optional[str] = None,
        vnet_resourcegroup_name: Optional[str] = None,
        vnet_name: Optional[str] = None,
        subnet_name: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        description: Optional[str] = None,
        remote_login_port_public_access: str = "NotSpecified",
        identity_type: Optional[str] = None,
        identity_id: Optional[List[str]] = None,
        location: Optional[str] = None,
        enable_node_public_ip: bool = True,
    ) -> AmlComputeProvisioningConfiguration:
        """Return the sizes of a cluster. Arguments for networks and logins are accepted and ignored."""
        if max_nodes is None:
            raise ComputeTargetException("max_nodes is missing", hint="set how many nodes may run at once: max_nodes=4")
        min_nodes, max_nodes = _whole("min_nodes", min_nodes), _whole("max_nodes", max_nodes)
        if not 0 <= min_nodes <= max_nodes or max_nodes < 1:
            raise ComputeTargetException(
                f"min_nodes={min_nodes}, max_nodes={max_nodes} is not a valid size",
                hint="use 0 ≤ min_nodes ≤ max_nodes, and max_nodes ≥ 1",
            )
        if str(vm_priority).lower() not in PRIORITIES:
            raise ComputeTargetException(f"vm_priority is {vm_priority!r}", hint=f"use {' or '.join(PRIORITIES)}")
        options = {"vm_size": vm_size, "vm_priority": vm_priority, "description": description, "tags": dict(tags or {})}
        idle = 1800 if idle_seconds_before_scaledown is None else idle_seconds_before_scaledown
        return AmlComputeProvisioningConfiguration(min_nodes, max_nodes, _seconds(idle), options)

    def wait_for_completion(
        self,
        show_output: bool = False,
        min_node_count: Optional[int] = None,
        timeout_in_minutes: float = 25,
        is_delete_operation: bool = False,
    ) -> None:
        """Return at once: creating and deleting a cluster takes no time. `show_output` prints its state."""
        try:
            self.refresh_state()
            state = self.provisioning_state
        except ComputeTargetException as error:
            state = "Succeeded" if is_delete_operation else f"Failed: {error.message}"
        if show_output:
            operation = "Deletion" if is_delete_operation else "Provisioning"
            print(f'{state}\nAmlCompute wait for completion finished\n\n{operation} operation finished, operation "{state}"')  # fmt: skip  # noqa: E501

    def get_status(self) -> AmlComputeStatus:
        self.refresh_state()
        return AmlComputeStatus(self._view)

    @property
    def status(self) -> AmlComputeStatus:
        return AmlComputeStatus(self._view)

    @property
    def vm_size(self) -> str:
        return self.status.vm_size

    @property
    def vm_priority(self) -> str:
        return self.status.vm_priority

    @property
    def scale_settings(self) -> ScaleSettings:
        return self.status.scale_settings

    @staticmethod
    def supported_vmsizes(workspace: Workspace, location: Optional[str] = None) -> List[Dict[str, Any]]:
        """Return the VM sizes with known resources. Other names are accepted and reserve nothing."""
        known = [(name, shapes.shape_of(name)) for name in shapes.names()]
        return [
            {"name": name, "vCPUs": shape.cpus, "gpus": shape.gpus, "memoryGB": shape.memory}
            for name, shape in known
            if shape is not None
        ]

    def update(
        self,
        min_nodes: Optional[int] = None,
        max_nodes: Optional[int] = None,
        idle_seconds_before_scaledown: Optional[float] = None,
    ) -> None:
        body: Dict[str, Any] = {}
        for name, count in (("min_nodes", min_nodes), ("max_nodes", max_nodes)):
            if count is not None:
                body[name] = _whole(name, count)
        if idle_seconds_before_scaledown is not None:
            body["idle_seconds"] = _seconds(idle_seconds_before_scaledown)
        computes = self.workspace.session.api_for(_CREATING).computes
        self._view = computes.change(self.workspace.id, self.name, **body)

    def list_nodes(self) -> List[Dict[str, Any]]:
        """Return one entry per node: busy nodes with their run, then idle ones."""
        nodes: List[Dict[str, Any]] = []
        for view in self._active():
            for node in view.nodes:
                nodes.append({"nodeId": f"{view.id}_{node.index}", "nodeState": node.state.value, "runId": view.id,
                              "privateIpAddress": node.address})  # fmt: skip
        for index in range(self.get_status().node_state_counts["idle"]):
            nodes.append({"nodeId": f"{self.name}_idle_{index}", "nodeState": "idle", "runId": None,
                          "privateIpAddress": None})  # fmt: skip
        return nodes

    def get_active_runs(self) -> Iterator[Run]:
        """Yield the runs on its nodes."""
        return (self.workspace.get_run(view.id) for view in self._active())

    def _active(self) -> List[RunView]:
        found = self.workspace.session.api.runs.list(self.workspace.id, status=_BUSY, parent="any")
        return [view for view in found if view.target == self.name]


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


class LocalTarget(AbstractComputeTarget):
    """The server's own machine, which is always available."""

    name = LOCAL
    type = LOCAL


_CREATING: Kinds = dict(_KINDS, invalid=ComputeTargetException)


def _whole(name: str, value: Any) -> int:
    """Return the value as an int. Notebooks read sizes from environment variables, so text is accepted."""
    try:
        count = int(value)
        exact = isinstance(value, str) or count == value
    except (TypeError, ValueError, OverflowError):
        exact, count = False, 0
    if not exact:
        raise ComputeTargetException(f"{name} is {value!r}", hint=f"use a whole number: {name}=4")
    return count


def _seconds(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"idle_seconds_before_scaledown is {value!r}"
        raise ComputeTargetException(message, hint="use a number of seconds, such as 1800") from None


def _fetch(workspace: Workspace, name: str) -> ComputeView:
    if str(name).lower() == LOCAL:
        raise ComputeTargetException(
            "ComputeTargetNotFound: 'local' is this machine, not a cluster",
            hint="pass the name itself: ScriptRunConfig(compute_target='local')",
        )
    if not name or "/" in name:  # not a path of the API, so the server's error would not name the compute target
        hint = "list compute targets with: footplate compute list"
        raise ComputeTargetException(f"there is no compute target {name!r}", hint=hint)
    return workspace.session.api_for(_KINDS).computes.get(workspace.id, name)


def _put(workspace: Workspace, name: str, argument: str, wanted: Any, if_exists: str) -> AmlCompute:
    if name.lower() in _RESERVED:
        raise UserErrorException(f"{name!r} is a reserved name", hint="choose another name for the compute target")
    if not isinstance(wanted, EngineConfiguration):
        raise ComputeTargetException(
            f"{argument} is {wanted!r}",
            hint="use AmlCompute.provisioning_configuration or ComputeTarget.engine_configuration",
        )
    made = workspace.session.api_for(_CREATING).computes.put(
        workspace.id,
        name,
        engine=wanted.engine,
        max_nodes=wanted.max_nodes,
        min_nodes=wanted.min_nodes,
        idle_seconds=wanted.idle_seconds_before_scaledown,
        options=wanted.options,
        if_exists=if_exists,
    )
    return _of_view(workspace, made)


def _of_view(workspace: Workspace, view: ComputeView) -> AmlCompute:
    kind = compute.instance.ComputeInstance if view.options.get("instance") else AmlCompute
    # Calling the class would run ComputeTarget.__new__, which queries the server again.
    made = object.__new__(kind)
    made.workspace = workspace
    made._view = view  # pyright: ignore[reportPrivateUsage]
    return made
