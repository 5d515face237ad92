from __future__ import annotations

from azureml.core.compute.aks import AksCompute
from azureml.core.compute.amlcompute import AmlCompute
from azureml.core.compute.compute import ComputeTarget
from azureml.core.compute.computeinstance import ComputeInstance
from footplate.sdk.compute.cloud import (
    AdlaCompute,
    BatchCompute,
    DatabricksCompute,
    DataFactoryCompute,
    DsvmCompute,
    HDInsightCompute,
    KubernetesCompute,
    RemoteCompute,
    SynapseCompute,
)

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
