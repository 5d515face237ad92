from __future__ import annotations

from footplate.sdk.conda_dependencies import CondaDependencies
from footplate.sdk.environment import Environment, EnvironmentDefinition
from footplate.sdk.environment_sections import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    ContainerRegistry,
    DockerSection,
    PythonSection,
    SparkPackage,
    SparkSection,
)
from footplate.sdk.run_configuration import RunConfiguration
from footplate.sdk.run_configuration_sections import (
    AmlComputeConfiguration,
    ApplicationEndpointConfiguration,
    DataReferenceConfiguration,
    DockerConfiguration,
    HdiConfiguration,
    HistoryConfiguration,
    KubernetesComputeConfiguration,
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    SparkConfiguration,
    TensorflowConfiguration,
)

__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "AmlComputeConfiguration",
    "ApplicationEndpointConfiguration",
    "CondaDependencies",
    "ContainerRegistry",
    "DataReferenceConfiguration",
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
    "SparkConfiguration",
    "SparkPackage",
    "SparkSection",
    "TensorflowConfiguration",
]
