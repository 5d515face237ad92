from __future__ import annotations

from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment, EnvironmentDefinition
from footplate.sdk.environments.sections import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    ContainerRegistry,
    DockerSection,
    PythonSection,
    SparkPackage,
    SparkSection,
)
from footplate.sdk.values.run_configuration_sections import (
    AmlComputeConfiguration,
    ApplicationEndpointConfiguration,
    Data,
    DataLocation,
    DataReferenceConfiguration,
    DockerConfiguration,
    HdiConfiguration,
    HistoryConfiguration,
    KubernetesComputeConfiguration,
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    RunDataset,
    SparkConfiguration,
    TensorflowConfiguration,
)
from footplate.sdk.values.run_configuration_sections import RunDataset as Dataset

__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "AmlComputeConfiguration",
    "ApplicationEndpointConfiguration",
    "CondaDependencies",
    "ContainerRegistry",
    "Data",
    "DataLocation",
    "DataReferenceConfiguration",
    "Dataset",
    "DockerConfiguration",
    "DockerSection",
    "Environment",
    "EnvironmentDefinition",
    "HdiConfiguration",
    "HistoryConfiguration",
    "KubernetesComputeConfiguration",
    "MpiConfiguration",
    "ParallelTaskConfiguration",
    "PyTorchConfiguration",
    "PythonSection",
    "RunConfiguration",
    "RunDataset",
    "SparkConfiguration",
    "SparkPackage",
    "SparkSection",
    "TensorflowConfiguration",
]
