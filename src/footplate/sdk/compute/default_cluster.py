"""The default sizes of clusters, as attributes of `Workspace`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.sdk.compute import targets
    from footplate.sdk.compute.configurations import AmlComputeProvisioningConfiguration
else:
    targets = Deferred("footplate.sdk.compute.targets")


class DefaultCluster:
    """A class attribute whose value is created on first use: the compute modules take 30 ms to import."""

    def __init__(self, vm_size: str) -> None:
        self._vm_size = vm_size

    def __get__(self, instance: Any, owner: Any) -> AmlComputeProvisioningConfiguration:
        return targets.AmlCompute.provisioning_configuration(self._vm_size, max_nodes=2)
