"""The attributes of an environment, which its files, its definition and its request to a builder are made from."""

from __future__ import annotations

from typing import Dict, Optional

from footplate.sdk.environments.sections import DatabricksSection, DockerSection, PythonSection, RSection, SparkSection
from footplate.sdk.values.checked_attributes import Checked


class EnvironmentFields(Checked):
    def __init__(self, name: str) -> None:
        self.name = name
        self.version: Optional[str] = None
        self.asset_id: Optional[str] = None
        self.python = PythonSection()
        self.docker = DockerSection()
        self.spark = SparkSection()
        self.databricks = DatabricksSection()
        self.r: Optional[RSection] = None
        self.inferencing_stack_version: Optional[str] = None
        self.environment_variables: Dict[str, str] = {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
        self.curated: Optional[str] = None  # the name of the curated environment that this one comes from
        self._seal()
