"""Compute classes that exist only on Azure. Scripts may import them; using one raises an error."""

from __future__ import annotations

from typing import Any, NoReturn

from footplate.sdk.compute.targets import ComputeTarget
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


class AksCompute(_CloudCompute):
    pass


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
