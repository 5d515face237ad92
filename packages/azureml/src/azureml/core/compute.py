from __future__ import annotations

from footplate.sdk.compute.cloud import (
    AdlaCompute,
    AksCompute,
    BatchCompute,
    DatabricksCompute,
    DataFactoryCompute,
    DsvmCompute,
    HDInsightCompute,
    KubernetesCompute,
    RemoteCompute,
    SynapseCompute,
)
from footplate.sdk.compute.instance import ComputeInstance
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget

__all__ = [
    "AdlaCompute",
    "AksCompute",
    "AmlCompute",
    "BatchCompute",
    "ComputeInstance",
    "ComputeTarget",
    "DataFactoryCompute",
    "DatabricksCompute",
    "DsvmCompute",
    "HDInsightCompute",
    "KubernetesCompute",
    "RemoteCompute",
    "SynapseCompute",
]
