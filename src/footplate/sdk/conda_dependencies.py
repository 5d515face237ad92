"""The packages that an environment asks for, in the shape of a conda environment file."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence

from footplate.sdk.exceptions import UserErrorException

DEFAULT_CHANNELS = ("anaconda", "conda-forge")
DEFAULT_PIP_PACKAGES = ("azureml-defaults",)
DEFAULT_FILE = "conda_dependencies.yml"
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._\-]*)")
_PLAIN_YAML = re.compile(r"[A-Za-z0-9_./=][A-Za-z0-9_./=<>~^,+\-\[\]]*")


def default_python_version() -> str:
    """The submitting interpreter's own version: a pin that this machine can certainly serve."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def package_name(requirement: str) -> str:
    """`Scikit_Learn[extra]>=1.0` → `scikit-learn`; two spellings of one package have one name."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else requirement.strip()


class CondaDependencies:
    """Channels, conda packages (python among them), pip packages and pip options. At first the default template."""

    def __init__(self) -> None:
        self._channels: List[str] = list(DEFAULT_CHANNELS)
        self._conda: List[str] = [f"python={default_python_version()}"]
        self._pip: List[str] = list(DEFAULT_PIP_PACKAGES)
        self._options: List[str] = []

    @staticmethod
    def create(
        pip_indexurl: Optional[str] = None,
        pip_packages: Optional[Sequence[str]] = None,
        conda_packages: Optional[Sequence[str]] = None,
        python_version: Optional[str] = None,
        pin_sdk_version: bool = True,
    ) -> CondaDependencies:
        """`pip_packages` replaces the default ones. `pin_sdk_version` is accepted: Footplate brings its own SDK."""
        made = CondaDependencies()
        if python_version is not None:
            made.set_python_version(python_version)
        if pip_packages is not None:
            made._pip = []
            for package in _list_of_strings("pip_packages", pip_packages):
                made.add_pip_package(package)
        for package in _list_of_strings("conda_packages", conda_packages or ()):
            made.add_conda_package(package)
        if pip_indexurl is not None:
            made.set_pip_index_url(pip_indexurl)
        return made

    # ── reading: iterators, as in the original ──

    @property
    def conda_channels(self) -> Iterator[str]:
        return iter(tuple(self._channels))

    @property
    def conda_packages(self) -> Iterator[str]:
        return iter(tuple(self._conda))

    @property
    def pip_packages(self) -> Iterator[str]:
        return iter(tuple(self._pip))

    @property
    def pip_options(self) -> Iterator[str]:
        return iter(tuple(self._options))

    def get_python_version(self) -> Optional[str]:
        for package in self._conda:
            if package_name(package) == "python":
                return package.strip()[len("python") :].lstrip("= ").split("=")[0] or None
        return None

    # ── changing ──

    def set_python_version(self, version: str) -> None:
        self.add_conda_package(f"python={version}")

    def add_channel(self, channel: str) -> None:
        if channel not in self._channels:
            self._channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        self._channels = [known for known in self._channels if known != channel]

    def add_conda_package(self, conda_package: str) -> None:
        _put(self._conda, conda_package)

    def remove_conda_package(self, conda_package: str) -> None:
        self._conda = [p for p in self._conda if package_name(p) != package_name(conda_package)]

    def add_pip_package(self, pip_package: str) -> None:
        """A package of the same name is replaced."""
        _put(self._pip, pip_package)

    def remove_pip_package(self, pip_package: str) -> None:
        self._pip = [p for p in self._pip if package_name(p) != package_name(pip_package)]

    def set_pip_requirements(self, pip_requirements: Sequence[str]) -> None:
        """All pip packages and options at once: lines of a requirements file."""
        lines = [line.strip() for line in pip_requirements if line.strip() and not line.strip().startswith("#")]
        self._options = [line for line in lines if line.startswith("-")]
        self._pip = [line for line in lines if not line.startswith("-")]

    def set_pip_option(self, pip_option: str) -> None:
        name = pip_option.split()[0].split("=")[0]
        self.remove_pip_option(name)
        self._options.append(pip_option)

    def remove_pip_option(self, pip_option: str) -> None:
        name = pip_option.split()[0].split("=")[0]
        self._options = [known for known in self._options if known.split()[0].split("=")[0] != name]

    def set_pip_index_url(self, index_url: str) -> None:
        self.set_pip_option(index_url if index_url.startswith("-") else f"--index-url {index_url}")

    # ── as data and as a file ──

    def as_dict(self) -> Dict[str, Any]:
        dependencies: List[Any] = list(self._conda)
        if self._pip or self._options:
            dependencies.append({"pip": [*self._options, *self._pip]})
        return {"name": "project_environment", "dependencies": dependencies, "channels": list(self._channels)}

    def serialize_to_string(self) -> str:
        """As YAML. Every string that YAML could misread is quoted the way JSON does it, which is YAML too."""
        lines = ["name: project_environment", "dependencies:"]
        lines += [f"- {_yaml(package)}" for package in self._conda]
        if self._pip or self._options:
            lines.append("- pip:")
            lines += [f"  - {_yaml(package)}" for package in (*self._options, *self._pip)]
        lines.append("channels:" if self._channels else "channels: []")
        lines += [f"- {_yaml(channel)}" for channel in self._channels]
        return "\n".join(lines) + "\n"

    def save_to_file(self, base_directory: str, conda_file_path: Optional[str] = None) -> str:
        """Write the YAML under `base_directory` and return its name there."""
        name = conda_file_path or DEFAULT_FILE
        with open(os.path.join(base_directory, name), "w", encoding="utf-8") as file:
            file.write(self.serialize_to_string())
        return name

    def save(self, path: Optional[str] = None) -> str:
        target = path or DEFAULT_FILE
        if os.path.isdir(target):
            target = os.path.join(target, DEFAULT_FILE)
        self.save_to_file(os.path.dirname(os.path.abspath(target)), os.path.basename(target))
        return target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CondaDependencies) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]  # it is edited in place

    def __repr__(self) -> str:
        return f"CondaDependencies({self.as_dict()!r})"


def from_dict(data: Dict[str, Any]) -> CondaDependencies:
    """What `as_dict` wrote."""
    made = CondaDependencies()
    made.__dict__.update(_channels=[str(c) for c in data.get("channels") or ()], _conda=[])
    made.set_pip_requirements([])
    for dependency in data.get("dependencies") or ():
        if isinstance(dependency, dict):
            made.set_pip_requirements([str(line) for line in dependency.get("pip") or ()])  # pyright: ignore
        else:
            made.add_conda_package(str(dependency))
    return made


def _list_of_strings(what: str, values: Sequence[str]) -> Sequence[str]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):  # pyright: ignore
        raise UserErrorException(f"{what} is {values!r}", hint="give a list of strings")
    return values


def _put(packages: List[str], package: str) -> None:
    name = package_name(package)
    for index, known in enumerate(packages):
        if package_name(known) == name:
            packages[index] = package
            return
    packages.append(package)


def _yaml(text: str) -> str:
    return text if _PLAIN_YAML.fullmatch(text) else json.dumps(text)
