"""Compute targets that only Azure's cloud has. Scripts import them beside AmlCompute; only who uses one is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from footplate.sdk.compute.targets import ComputeTarget
from footplate.sdk.exceptions import ComputeTargetException


class _CloudCompute(ComputeTarget):
    """Asked for by its name, it is one that does not exist, unless a cluster is called so."""

    @classmethod
    def attach_configuration(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise ComputeTargetException(
            f"{cls.__name__} is a service of Azure's cloud, and Footplate's nodes are your own machines",
            hint="make a cluster of them: AmlCompute.provisioning_configuration(max_nodes=4)",
        )

    provisioning_configuration = attach_configuration


class AdlaCompute(_CloudCompute):
    pass


class AksCompute(_CloudCompute):
    pass


class BatchCompute(_CloudCompute):
    pass


class ComputeInstance(_CloudCompute):
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
