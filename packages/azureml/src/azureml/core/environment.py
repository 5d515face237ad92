from footplate.sdk.environments.build import DockerImageDetails, ImageBuildDetails
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment, EnvironmentDefinition
from footplate.sdk.environments.sections import (
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
