from __future__ import annotations

from footplate.sdk.conda_dependencies import CondaDependencies
from footplate.sdk.environment import Environment, EnvironmentDefinition
from footplate.sdk.environment_build import ImageBuildDetails
from footplate.sdk.environment_image import DockerImageDetails
from footplate.sdk.environment_sections import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    ContainerRegistry,
    DatabricksSection,
    DockerBuildContext,
    DockerImagePlatform,
    DockerSection,
    PythonSection,
    RSection,
    SparkPackage,
    SparkSection,
)

__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "CondaDependencies",
    "ContainerRegistry",
    "DatabricksSection",
    "DockerBuildContext",
    "DockerImageDetails",
    "DockerImagePlatform",
    "DockerSection",
    "Environment",
    "EnvironmentDefinition",
    "ImageBuildDetails",
    "PythonSection",
    "RSection",
    "SparkPackage",
    "SparkSection",
]
