"""ComputeInstance: Azure's notebook machine, here a cluster of one node that is always on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from footplate.sdk.compute.targets import AmlCompute, AmlComputeProvisioningConfiguration, AmlComputeStatus
from footplate.sdk.compute.targets import ComputeTarget as _ComputeTarget
from footplate.sdk.exceptions import ComputeTargetException

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace


class ComputeInstanceStatus(AmlComputeStatus):
    """The state of an instance; `state` is always Running."""

    state = "Running"


class ComputeInstance(AmlCompute):
    """One machine. Runs that are submitted to it use it one after the other."""

    def __new__(cls, workspace: Workspace, name: str) -> ComputeInstance:
        found = _ComputeTarget(workspace, name)
        if not isinstance(found, ComputeInstance):
            raise ComputeTargetException(
                f"ComputeTargetNotFound: {name!r} is a cluster, not an instance",
                hint=f"use ComputeTarget(workspace, {name!r})",
            )
        return found

    @property
    def type(self) -> str:
        return "ComputeInstance"

    @staticmethod
    def provisioning_configuration(  # pyright: ignore[reportIncompatibleMethodOverride]  # Azure's parameters
        vm_size: str = "",
        ssh_public_access: bool = False,
        admin_user_ssh_public_key: Optional[str] = None,
        vnet_resourcegroup_name: Optional[str] = None,
        vnet_name: Optional[str] = None,
        subnet_name: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        description: Optional[str] = None,
        assigned_user_object_id: Optional[str] = None,
        assigned_user_tenant_id: Optional[str] = None,
        schedules: Any = None,
        setup_scripts: Any = None,
        enable_node_public_ip: bool = True,
    ) -> AmlComputeProvisioningConfiguration:
        """Describe one machine. Arguments for networks, logins, users and schedules are accepted and ignored."""
        made = AmlCompute.provisioning_configuration(vm_size, max_nodes=1, tags=tags, description=description)
        made.options["instance"] = True
        return made

    def get_status(self) -> ComputeInstanceStatus:
        self.refresh_state()
        return ComputeInstanceStatus(self._view)

    def start(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Print that the machine is on, if `show_output` is set."""
        self._report(show_output)

    restart = start

    def stop(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Leave the machine on: it is your own. Runs that wait for it can be canceled."""
        self._report(show_output)

    def _report(self, show_output: bool) -> None:
        if show_output:
            print(f"{self.name} is your own machine, which Footplate does not start or stop.")
