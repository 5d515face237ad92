"""Compute targets. A cluster limits how many nodes run at once; the nodes are your own machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Type, TypeVar

from footplate.domain import shapes
from footplate.domain.records import ComputeView, RunView
from footplate.domain.targets import LOCAL
from footplate.sdk.compute import configurations
from footplate.sdk.compute.configurations import (
    PRIORITIES,
    AmlComputeProvisioningConfiguration,
    AmlComputeStatus,
    EngineConfiguration,
    ScaleSettings,
    seconds,
    whole_number,
)
from footplate.sdk.compute.local_target import AbstractComputeTarget
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import ComputeTargetException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.timestamps import utc_text
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.runs.controlled_run import ControlledRun as Run

MANY_NODES = 1000
"""Default size of a target on an engine that has a queue of its own: as good as no limit."""

OWN_MACHINES = "nodes are your own machines"
"""The reason why options about Azure's machines and networks have no effect."""

_BUSY = ("Provisioning", "Preparing", "Running", "Finalizing", "CancelRequested")

C = TypeVar("C", bound="AmlCompute")


@explained
class ComputeTarget(AbstractComputeTarget):
    """A cluster of the workspace.

    `ComputeTarget(workspace, name)` returns the target with that name as an object of its own class. The
    error for an unknown name is the usual test before creating one.

    Args:
        workspace: The workspace.
        name: The name of the target.

    Raises:
        ComputeTargetException: There is no such target.

    Example:
        try:
            target = ComputeTarget(ws, "cluster")
        except ComputeTargetException:
            sizes = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
            target = ComputeTarget.create(ws, "cluster", sizes)
        target.refresh_state()
        print(target.name, target.provisioning_state, [each.name for each in ComputeTarget.list(ws)])
        target.delete()
    """

    def __new__(cls, workspace: Workspace, name: str) -> AmlCompute:
        return _of_view(workspace, configurations.fetch(workspace, name))

    workspace: Workspace
    _view: ComputeView

    @staticmethod
    def create(workspace: Workspace, name: str, provisioning_configuration: EngineConfiguration) -> AmlCompute:
        """Create a cluster, or update the sizes of one that exists, as Azure does.

        Args:
            workspace: The workspace.
            name: The name of the cluster.
            provisioning_configuration: Its sizes, from `AmlCompute.provisioning_configuration` or
                `ComputeTarget.engine_configuration`.

        Returns:
            The cluster.

        Raises:
            ComputeTargetException: The configuration or the name is refused.
            UserErrorException: The name is reserved, such as `local`.
        """
        return _of_view(
            workspace,
            configurations.put(workspace, name, "provisioning_configuration", provisioning_configuration, "replace"),
        )

    @staticmethod
    def attach(workspace: Workspace, name: str, attach_configuration: EngineConfiguration) -> AmlCompute:
        """Add a cluster that exists already, such as a Slurm partition. Adding it again changes nothing.

        Args:
            workspace: The workspace.
            name: The name of the target.
            attach_configuration: Its engine and options, from `ComputeTarget.engine_configuration`.

        Returns:
            The target.

        Raises:
            ComputeTargetException: The name is taken by a target with other settings, the configuration is
                refused, or the cluster does not answer.
            UserErrorException: The name is reserved, such as `local`.

        Example:
            target = ComputeTarget.attach(ws, "big", ComputeTarget.engine_configuration("local", max_nodes=4))
            print(target.type)
            target.delete()
        """
        view = configurations.put(workspace, name, "attach_configuration", attach_configuration, "refuse")
        return _of_view(workspace, view)

    @staticmethod
    def engine_configuration(
        engine: str,
        max_nodes: int = MANY_NODES,
        min_nodes: int = 0,
        idle_seconds_before_scaledown: float = 1800,
        check: bool = True,
        **options: Any,
    ) -> EngineConfiguration:
        """Describe a target on any engine of the server. Azure has no such method.

        Args:
            engine: The name of an engine, such as `local`, `ray` or `slurm`.
            max_nodes: How many nodes may run at once.
            min_nodes: How many nodes to keep when nothing runs.
            idle_seconds_before_scaledown: How long a node may stay idle.
            check: Whether the cluster must answer before the target is added.
            **options: Options of the engine, such as the partition of a Slurm cluster, and the needs of a
                node: `cpus`, `memory` (GiB), `gpus`, `resources`.

        Returns:
            A configuration for `ComputeTarget.create` or `ComputeTarget.attach`. The server refuses an
            unknown engine or option there, with the valid ones in the hint.

        Raises:
            ComputeTargetException: A number is not valid.

        Example:
            slurm = ComputeTarget.engine_configuration("slurm", max_nodes=8, partition="gpu", gpus=2)
        """
        sizes = whole_number("min_nodes", min_nodes), whole_number("max_nodes", max_nodes)
        return EngineConfiguration(engine, *sizes, seconds(idle_seconds_before_scaledown), options, bool(check))

    @staticmethod
    def list(workspace: Workspace) -> List[ComputeTarget]:
        """Return the clusters of a workspace, without `local`.

        Args:
            workspace: The workspace.

        Returns:
            A list of targets.
        """
        views = workspace.session.api_for(configurations.KINDS).computes.list(workspace.id)
        return [_of_view(workspace, view) for view in views if view.name != LOCAL]

    # ── identity ──

    @property
    def name(self) -> str:
        """The name, unique in the workspace."""
        return self._view.name

    @property
    def type(self) -> str:
        """`AmlCompute` for a cluster of the server's own machines, otherwise the name of its engine."""
        return "AmlCompute" if self._view.engine == LOCAL else self._view.engine

    @property
    def id(self) -> str:
        """The workspace and the name as a path."""
        return f"/workspaces/{self.workspace.name}/computes/{self.name}"

    @property
    def location(self) -> str:
        """The location of the workspace."""
        return self.workspace.location

    @property
    def tags(self) -> Dict[str, Any]:
        """The tags that the target was created with."""
        return dict(self._view.options.get("tags") or {})

    @property
    def provisioning_state(self) -> str:
        """`Succeeded`, as last read from the server."""
        return self._view.state

    @property
    def provisioning_errors(self) -> None:
        """Always None: errors are raised by `create`."""
        return None

    def delete(self) -> None:
        """Delete the target from the workspace. `detach` is the same.

        Raises:
            ComputeTargetException: It still has runs, or does not exist any more.
        """
        self.workspace.session.api_for(configurations.KINDS).computes.delete(self.workspace.id, self.name)

    detach = delete

    def refresh_state(self) -> None:
        """Read the target from the server again.

        Raises:
            ComputeTargetException: It does not exist any more.
        """
        self._view = configurations.fetch(self.workspace, self.name)

    def serialize(self) -> Dict[str, Any]:
        """Return the target as Azure writes it, as last read from the server.

        Returns:
            A dict.

        Example:
            print([target.serialize() for target in ComputeTarget.list(ws)])
        """
        return {
            "id": self.id,
            "name": self.name,
            "location": self.location,
            "tags": self.tags,
            "properties": {
                "computeType": self.type,
                "provisioningState": self.provisioning_state,
                "provisioningErrors": self.provisioning_errors,
                "createdOn": utc_text(self._view.created),
                "modifiedOn": utc_text(self._view.modified),
                "status": AmlComputeStatus(self._view).serialize(),
            },
        }

    def __deepcopy__(self, memo: Dict[int, Any]) -> ComputeTarget:
        """Return this object: a copied run configuration still names the same target."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name!r}, type={self.type!r})"

    def _repr_html_(self) -> str:
        view = self._view
        return notebooks.row({"Name": self.name, "Type": self.type, "State": self.provisioning_state,
                              "Nodes": f"{view.current_nodes} of at most {view.max_nodes}"})  # fmt: skip


@explained
class AmlCompute(ComputeTarget):
    """A cluster. At most `max_nodes` nodes run at once; further runs wait in its queue.

    Example:
        sizes = AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=2, tags={"team": "a"})
        cluster = ComputeTarget.create(ws, "small", sizes)
        cluster.wait_for_completion(show_output=True)
        cluster.update(max_nodes=3)
        print(cluster.get_status().serialize(), cluster.list_nodes(), list(cluster.get_active_runs()))
        cluster.delete()
    """

    @classmethod
    def from_view(cls: Type[C], workspace: Workspace, view: ComputeView) -> C:
        """Return a cluster without the request that calling the class makes."""
        cluster = object.__new__(cls)
        cluster.workspace, cluster._view = workspace, view
        return cluster

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
        """Describe the sizes of a cluster.

        Args:
            vm_size: A VM size of Azure, which reserves the CPUs, memory and GPUs of that size for each node.
                Unknown names reserve nothing.
            vm_priority: `dedicated`, or `lowpriority`: runs of other clusters get GPUs first.
            min_nodes: How many nodes to keep when nothing runs.
            max_nodes: How many nodes may run at once.
            idle_seconds_before_scaledown: How long a node may stay idle.
            tags: Tags of the cluster.
            description: A text about the cluster.
            admin_username, admin_user_password, admin_user_ssh_key: No effect; a warning says so.
            vnet_resourcegroup_name, vnet_name, subnet_name: No effect; a warning says so.
            remote_login_port_public_access, enable_node_public_ip: No effect; a warning says so.
            identity_type, identity_id, location: No effect; a warning says so.

        Returns:
            A configuration for `ComputeTarget.create`.

        Raises:
            ComputeTargetException: `max_nodes` is missing, or a value is not valid.
        """
        if max_nodes is None:
            raise ComputeTargetException("max_nodes is missing", hint="set how many nodes may run at once: max_nodes=4")
        min_nodes, max_nodes = whole_number("min_nodes", min_nodes), whole_number("max_nodes", max_nodes)
        if not 0 <= min_nodes <= max_nodes or max_nodes < 1:
            raise ComputeTargetException(
                f"min_nodes={min_nodes}, max_nodes={max_nodes} is not a valid size",
                hint="use 0 ≤ min_nodes ≤ max_nodes, and max_nodes ≥ 1",
            )
        if str(vm_priority).lower() not in PRIORITIES:
            raise ComputeTargetException(f"vm_priority is {vm_priority!r}", hint=f"use {' or '.join(PRIORITIES)}")
        warn_without_effect(
            without_effect(
                OWN_MACHINES, admin_username=admin_username, admin_user_password=admin_user_password,
                admin_user_ssh_key=admin_user_ssh_key, vnet_resourcegroup_name=vnet_resourcegroup_name,
                vnet_name=vnet_name, subnet_name=subnet_name, identity_type=identity_type, identity_id=identity_id,
                location=location, enable_node_public_ip=not enable_node_public_ip,
                remote_login_port_public_access=remote_login_port_public_access not in (None, "NotSpecified"),
            )
        )  # fmt: skip
        options = {"vm_size": vm_size, "vm_priority": vm_priority, "description": description, "tags": dict(tags or {})}
        idle = 1800 if idle_seconds_before_scaledown is None else idle_seconds_before_scaledown
        return AmlComputeProvisioningConfiguration(min_nodes, max_nodes, seconds(idle), options)

    def wait_for_completion(
        self,
        show_output: bool = False,
        min_node_count: Optional[int] = None,
        timeout_in_minutes: float = 25,
        is_delete_operation: bool = False,
    ) -> None:
        """Return at once: creating and deleting a cluster takes no time.

        Args:
            show_output: Whether to print the state.
            min_node_count: Accepted and ignored.
            timeout_in_minutes: Accepted and ignored.
            is_delete_operation: Whether the cluster was just deleted.
        """
        try:
            self.refresh_state()
            state = self.provisioning_state
        except ComputeTargetException as error:
            state = "Succeeded" if is_delete_operation else f"Failed: {error.message}"
        if show_output:
            operation = "Deletion" if is_delete_operation else "Provisioning"
            print(f'{state}\nAmlCompute wait for completion finished\n\n{operation} operation finished, operation "{state}"')  # fmt: skip  # noqa: E501

    def get_status(self) -> AmlComputeStatus:
        """Read the state of the cluster.

        Returns:
            The numbers of nodes, their states and the sizes; `serialize()` returns them as a dict.

        Raises:
            ComputeTargetException: The cluster does not exist any more.
        """
        self.refresh_state()
        return AmlComputeStatus(self._view)

    @property
    def status(self) -> AmlComputeStatus:
        """The state as last read from the server; `get_status()` reads it again."""
        return AmlComputeStatus(self._view)

    @property
    def vm_size(self) -> str:
        """The VM size that the cluster was created with."""
        return self.status.vm_size

    @property
    def vm_priority(self) -> str:
        """`Dedicated` or `LowPriority`."""
        return self.status.vm_priority

    @property
    def scale_settings(self) -> ScaleSettings:
        """The minimum and maximum number of nodes, and how long a node may stay idle."""
        return self.status.scale_settings

    @staticmethod
    def supported_vmsizes(workspace: Workspace, location: Optional[str] = None) -> List[Dict[str, Any]]:
        """Return the VM sizes with known resources. Other names are accepted and reserve nothing.

        Args:
            workspace: The workspace.
            location: Accepted and ignored.

        Returns:
            Dicts with `name`, `vCPUs`, `gpus` and `memoryGB`.

        Example:
            print([size["name"] for size in AmlCompute.supported_vmsizes(ws) if size["gpus"]])
        """
        named_shapes = [(name, shapes.shape_of(name)) for name in shapes.names()]
        return [
            {"name": name, "vCPUs": shape.cpus, "gpus": shape.gpus, "memoryGB": shape.memory}
            for name, shape in named_shapes
            if shape is not None
        ]

    def update(
        self,
        min_nodes: Optional[int] = None,
        max_nodes: Optional[int] = None,
        idle_seconds_before_scaledown: Optional[float] = None,
    ) -> None:
        """Change the sizes of the cluster. Arguments that are None stay as they are.

        Args:
            min_nodes: How many nodes to keep when nothing runs.
            max_nodes: How many nodes may run at once.
            idle_seconds_before_scaledown: How long a node may stay idle.

        Raises:
            ComputeTargetException: A value is not valid.
        """
        body: Dict[str, Any] = {}
        for name, count in (("min_nodes", min_nodes), ("max_nodes", max_nodes)):
            if count is not None:
                body[name] = whole_number(name, count)
        if idle_seconds_before_scaledown is not None:
            body["idle_seconds"] = seconds(idle_seconds_before_scaledown)
        computes = self.workspace.session.api_for(configurations.CREATING).computes
        self._view = computes.change(self.workspace.id, self.name, **body)

    def list_nodes(self) -> List[Dict[str, Any]]:
        """Return one entry per node: busy nodes with their run, then idle ones.

        Returns:
            Dicts with `nodeId`, `nodeState`, `runId` and `privateIpAddress`.
        """
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
        """Yield the runs on its nodes.

        Returns:
            An iterator of runs.
        """
        return (self.workspace.get_run(view.id) for view in self._active())

    def _active(self) -> List[RunView]:
        runs = self.workspace.session.api.runs.list(self.workspace.id, status=_BUSY, parent="any")
        return [view for view in runs if view.target == self.name]


def _of_view(workspace: Workspace, view: ComputeView) -> AmlCompute:
    from footplate.sdk.compute.instance import ComputeInstance  # noqa: PLC0415  # derives from a class of this module

    kind = ComputeInstance if view.options.get("instance") else AmlCompute
    return kind.from_view(workspace, view)
