from __future__ import annotations

from footplate.sdk.conda_dependencies import CondaDependencies
from footplate.sdk.environment import DockerSection, Environment, PythonSection

__all__ = ["CondaDependencies", "DockerSection", "Environment", "PythonSection"]
