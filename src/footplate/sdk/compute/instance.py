"""ComputeInstance: Azure's notebook machine, here a cluster of one node that is always on."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from footplate.sdk.compute.configurations import AmlComputeProvisioningConfiguration, AmlComputeStatus
from footplate.sdk.compute.targets import OWN_MACHINES, AmlCompute
from footplate.sdk.compute.targets import ComputeTarget as _ComputeTarget
from footplate.sdk.exceptions import ComputeTargetException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained


class ComputeInstanceStatus(AmlComputeStatus):
    """The state of an instance; `state` is always Running."""

    state = "Running"


@explained
class ComputeInstance(AmlCompute):
    """One machine. Runs that are submitted to it use it one after the other.

    Args:
        workspace: The workspace.
        name: The name of an existing instance.

    Raises:
        ComputeTargetException: There is no such instance, or the name is that of a cluster.

    Example:
        sizes = ComputeInstance.provisioning_configuration(vm_size="STANDARD_DS3_V2")
        ComputeTarget.create(ws, "notebooks", sizes)
        instance = ComputeInstance(ws, "notebooks")
        instance.start(show_output=True)
        print(instance.get_status().state)
        instance.stop()
        instance.delete()
    """

    def __new__(cls, workspace: Workspace, name: str) -> ComputeInstance:
        target = _ComputeTarget(workspace, name)
        if not isinstance(target, ComputeInstance):
            raise ComputeTargetException(
                f"ComputeTargetNotFound: {name!r} is a cluster, not an instance",
                hint=f"use ComputeTarget(workspace, {name!r})",
            )
        return target

    @property
    def type(self) -> str:
        """Always `ComputeInstance`."""
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
        """Describe one machine.

        Args:
            vm_size: A VM size of Azure, which reserves the CPUs, memory and GPUs of that size.
            tags: Tags of the instance.
            description: A text about the instance.
            ssh_public_access, admin_user_ssh_public_key: No effect; a warning says so.
            vnet_resourcegroup_name, vnet_name, subnet_name, enable_node_public_ip: No effect; a warning says so.
            assigned_user_object_id, assigned_user_tenant_id: No effect; a warning says so.
            schedules, setup_scripts: No effect; a warning says so.

        Returns:
            A configuration for `ComputeTarget.create`.
        """
        warn_without_effect(
            without_effect(
                OWN_MACHINES, ssh_public_access=ssh_public_access, admin_user_ssh_public_key=admin_user_ssh_public_key,
                vnet_resourcegroup_name=vnet_resourcegroup_name, vnet_name=vnet_name, subnet_name=subnet_name,
                assigned_user_object_id=assigned_user_object_id, assigned_user_tenant_id=assigned_user_tenant_id,
                schedules=schedules, setup_scripts=setup_scripts, enable_node_public_ip=not enable_node_public_ip,
            )
        )  # fmt: skip
        configuration = AmlCompute.provisioning_configuration(vm_size, max_nodes=1, tags=tags, description=description)
        configuration.options["instance"] = True
        return configuration

    def get_status(self) -> ComputeInstanceStatus:
        """Read the state of the instance.

        Returns:
            The state, with the attributes of a cluster's state and `state`, which is always `Running`.
        """
        self.refresh_state()
        return ComputeInstanceStatus(self._view)

    def start(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Do nothing: the machine is your own, and it is on. `restart` is the same.

        Args:
            wait_for_completion: Accepted and ignored.
            show_output: Whether to print a line that says so.
        """
        self._report(show_output)

    restart = start

    def stop(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Leave the machine on: it is your own. Runs that wait for it can be canceled.

        Args:
            wait_for_completion: Accepted and ignored.
            show_output: Whether to print a line that says so.
        """
        self._report(show_output)

    def delete(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Delete the instance from the workspace. The machine is your own and stays on.

        Args:
            wait_for_completion: Accepted and ignored: the instance is gone on return.
            show_output: Whether to print a line that says so.

        Raises:
            ComputeTargetException: It still has runs, or does not exist any more.
        """
        super().delete()
        self._report(show_output)

    detach = delete

    def _report(self, show_output: bool) -> None:
        if show_output:
            print(f"{self.name} is your own machine, which Footplate does not start or stop.")
