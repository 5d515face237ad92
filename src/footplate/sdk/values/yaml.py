"""Read and write conda files and run configurations as YAML.

PyYAML is a dependency of Footplate, but a job runs on the user's interpreter, which may lack it. It is therefore
imported on first use: in a job without PyYAML, everything but YAML files works.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any, Optional

from footplate.sdk.exceptions import UserErrorException


class YamlError(UserErrorException):
    """YAML that cannot be read or written. `line` and `column`, counted from 1, are 0 where there is no position."""

    def __init__(self, message: str, line: int = 0, column: int = 0, hint: Optional[str] = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


def loads(text: str, name: str = "the YAML text") -> Any:
    """Return the data in `text`: mappings with text keys, lists, texts, numbers, booleans and None."""
    try:
        return _format().load(text, name)
    except RecursionError:
        raise YamlError(f"{name} is nested too deeply to be read", hint="is it the right file?") from None


def load_file(path: str) -> Any:
    try:
        with open(os.fspath(path), encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise YamlError(f"{path} is not UTF-8: {error.reason}", hint="save it as UTF-8") from error
    except OSError as error:
        hint = f"give the path of a file; relative paths start at {os.getcwd()}"
        raise UserErrorException(f"file {path!r} cannot be read: {error.strerror}", error, hint=hint) from error
    return loads(text, path)


def dumps(data: Any) -> str:
    """Return the data as YAML that every YAML 1.1 reader reads as the same data; keys keep their order."""
    return _format().dump(data)


def _format() -> ModuleType:
    try:
        from footplate.sdk.values import yaml_format  # noqa: PLC0415  # PyYAML may be missing in a job
    except ImportError as error:
        raise YamlError(
            f"YAML cannot be read or written in this interpreter: {error}",
            hint="add pyyaml to the packages of the run's environment: environment.python.conda_dependencies"
            ".add_pip_package('pyyaml')",
        ) from error
    return yaml_format
