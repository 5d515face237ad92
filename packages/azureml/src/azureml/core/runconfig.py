from __future__ import annotations

from footplate.sdk.conda_dependencies import CondaDependencies
from footplate.sdk.environment import DockerSection, Environment, PythonSection
from footplate.sdk.run_configuration import (
    DockerConfiguration,
    MpiConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    TensorflowConfiguration,
)

__all__ = [
    "CondaDependencies",
    "DockerConfiguration",
    "DockerSection",
    "Environment",
    "MpiConfiguration",
    "PyTorchConfiguration",
    "PythonSection",
    "RunConfiguration",
    "TensorflowConfiguration",
]
