from azureml.core.compute.adla import AdlaCompute
from azureml.core.compute.aks import AksCompute
from azureml.core.compute.amlcompute import AmlCompute
from azureml.core.compute.batch import BatchCompute
from azureml.core.compute.compute import ComputeTarget
from azureml.core.compute.computeinstance import ComputeInstance
from azureml.core.compute.databricks import DatabricksCompute
from azureml.core.compute.datafactory import DataFactoryCompute
from azureml.core.compute.dsvm import DsvmCompute
from azureml.core.compute.hdinsight import HDInsightCompute
from azureml.core.compute.kubernetescompute import KubernetesCompute
from azureml.core.compute.remote import RemoteCompute
from azureml.core.compute.synapse import SynapseCompute

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
