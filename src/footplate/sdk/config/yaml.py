"""The part of YAML that run configurations and conda files need, read and written without dependencies.

One behaviour everywhere: a job has no PyYAML, so where there is one it is not used either.
"""

from __future__ import annotations

from footplate.sdk.config.yaml_reader import load_file, loads
from footplate.sdk.config.yaml_scalars import YamlError
from footplate.sdk.config.yaml_writer import dumps

__all__ = ["YamlError", "dumps", "load_file", "loads"]
