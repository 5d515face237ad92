"""Compute classes that exist only on Azure. Scripts may import them; using one raises an error."""

from __future__ import annotations

from typing import Any, NoReturn, Optional

from footplate.sdk.compute.targets import AmlComputeProvisioningConfiguration, ComputeTarget, EngineConfiguration
from footplate.sdk.exceptions import ComputeTargetException


class _CloudCompute(ComputeTarget):
    """A compute class of Azure's. Its constructor finds a cluster by name, or raises ComputeTargetException."""

    @classmethod
    def attach_configuration(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise ComputeTargetException(
            f"{cls.__name__} exists only on Azure; Footplate runs on your own machines",
            hint="create a cluster of your machines: AmlCompute.provisioning_configuration(max_nodes=4)",
        )

    provisioning_configuration = attach_configuration


class AdlaCompute(_CloudCompute):
    pass


class AksCompute(ComputeTarget):
    """A cluster for web services. Here every service runs on the server's machine, and the name is kept for scripts."""

    @classmethod
    def provisioning_configuration(cls, agent_count: Optional[int] = None, **_: Any) -> EngineConfiguration:
        return AmlComputeProvisioningConfiguration(0, agent_count or 3, 1800.0, {"description": "for web services"})

    @classmethod
    def attach_configuration(cls, *_: Any, **__: Any) -> EngineConfiguration:
        return cls.provisioning_configuration()


class BatchCompute(_CloudCompute):
    pass


class DatabricksCompute(_CloudCompute):
    pass


class DataFactoryCompute(_CloudCompute):
    pass


class DsvmCompute(_CloudCompute):
    pass


class HDInsightCompute(_CloudCompute):
    pass


class KubernetesCompute(_CloudCompute):
    pass


class RemoteCompute(_CloudCompute):
    pass


class SynapseCompute(_CloudCompute):
    pass
