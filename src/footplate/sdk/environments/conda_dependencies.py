"""The packages of an environment, structured like a conda environment file."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, cast

from footplate.sdk.environments.requirement_files import absolute_lines, items_of, text_of, texts_of, top_level
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values import yaml
from footplate.sdk.values.wrong_types import explained

DEFAULT_NAME = "project_environment"
DEFAULT_CHANNELS = ("anaconda", "conda-forge")
DEFAULT_PIP_PACKAGES = ("azureml-defaults",)
DEFAULT_PYTHON, CREATED_PYTHON = "3.8.13", "3.10.18"
"""Azure's default versions: of the template, and of `create`. The server takes another one if the packages need it."""

DEFAULT_FILE = "conda_dependencies.yml"
_NAME = re.compile(r"\s*(?:[^\s:]+::)?([A-Za-z0-9_][A-Za-z0-9._\-]*)")
_PLACE = re.compile(r"[^\s;@]*/")
_NAMED_PLACE = re.compile(r"[#&]egg=([A-Za-z0-9._\-]+)|([A-Za-z0-9_.]+)-[^/\s-]+(?:-\d[^/\s-]*)?(?:-[^/\s-]+){3}\.whl")
_VERSION = re.compile(r"\s*=?=?\s*(\d+(?:\.\d+)*)(?:\.?\*)?(?:=.*)?\s*")


def own_python_version() -> str:
    """Return the submitting interpreter's own version, which satisfies most ranges."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def package_name(requirement: str) -> str:
    """Return the normalized name: `conda-forge::Scikit_Learn[extra]>=1.0` → `scikit-learn`.

    A path or an address from which the package's name cannot be read is its own name.
    """
    place = _PLACE.match(requirement) is not None and "::" not in requirement
    match = _NAMED_PLACE.search(requirement) if place else _NAME.match(requirement)
    name = next((group for group in match.groups() if group), None) if match else None
    return re.sub(r"[-_.]+", "-", name).lower() if name else requirement.strip()


@explained
class CondaDependencies:
    """Channels, conda packages (including python), pip packages and pip options.

    It holds the content of a conda file, or a default template. An added package replaces the one of the
    same name.

    Args:
        conda_dependencies_file_path: A conda environment file.

    Raises:
        UserErrorException: The file cannot be read or is not a conda file.

    Example:
        packages = CondaDependencies.create(pip_packages=["numpy"], python_version="3.11")
        packages.add_channel("pytorch")
        packages.remove_channel("anaconda")
        packages.add_conda_package("scikit-learn=1.5")
        packages.remove_conda_package("scikit-learn")
        packages.add_pip_package("pandas>=2")
        packages.remove_pip_package("numpy")
        packages.set_pip_option("--pre")
        packages.remove_pip_option("--pre")
        packages.set_pip_index_url("https://pypi.org/simple")
        packages.set_python_version("3.12")
        print(packages.get_python_version(), packages.as_dict(), packages.serialize_to_string())
        packages.save_to_file("conda")
        packages.save("conda/other.yml")
    """

    def __init__(
        self, conda_dependencies_file_path: Optional[str] = None, _underlying_structure: Optional[Any] = None
    ) -> None:
        self.name = DEFAULT_NAME
        self._channels: List[str] = list(DEFAULT_CHANNELS)
        self._conda: List[str] = [f"python={DEFAULT_PYTHON}"]
        self._pip: List[str] = list(DEFAULT_PIP_PACKAGES)
        self._options: List[str] = []
        if conda_dependencies_file_path is not None:
            path = os.fspath(conda_dependencies_file_path)
            self._set(yaml.load_file(path), path, os.path.dirname(os.path.abspath(path)))
        elif _underlying_structure is not None:
            self._set(_underlying_structure, "the conda specification")

    @staticmethod
    def create(
        pip_indexurl: Optional[str] = None,
        pip_packages: Optional[Sequence[str]] = None,
        conda_packages: Optional[Sequence[str]] = None,
        python_version: Optional[str] = None,
        pin_sdk_version: bool = True,
    ) -> CondaDependencies:
        """Create dependencies from lists.

        Args:
            pip_indexurl: The package index of pip.
            pip_packages: Packages for pip; they replace the default ones.
            conda_packages: Packages for conda.
            python_version: The version of Python, `3.10.18` by default.
            pin_sdk_version: Accepted and ignored: Footplate provides its own SDK.

        Returns:
            The dependencies.

        Raises:
            UserErrorException: A list is a string, or an element is not one.
        """
        dependencies = CondaDependencies()
        dependencies.set_python_version(python_version or CREATED_PYTHON)
        if pip_packages is not None:
            dependencies._pip = []
            for package in list_of_strings("pip_packages", pip_packages):
                dependencies.add_pip_package(package)
        for package in list_of_strings("conda_packages", conda_packages or ()):
            dependencies.add_conda_package(package)
        if pip_indexurl is not None:
            dependencies.set_pip_index_url(pip_indexurl)
        return dependencies

    # ── reading: iterators, as in the original ──

    @property
    def conda_channels(self) -> Iterator[str]:
        """An iterator over the channels."""
        return iter(tuple(self._channels))

    @property
    def conda_packages(self) -> Iterator[str]:
        """An iterator over the conda packages, including python."""
        return iter(tuple(self._conda))

    @property
    def pip_packages(self) -> Iterator[str]:
        """An iterator over the pip packages."""
        return iter(tuple(self._pip))

    @property
    def pip_options(self) -> Iterator[str]:
        """An iterator over the options of pip."""
        return iter(tuple(self._options))

    def get_python_version(self) -> Optional[str]:
        """Return the version of Python.

        Returns:
            `3.9` for `python=3.9`, `python==3.9` and `python=3.9.*`; `>=3.8` for `python>=3.8`; None without
            one.
        """
        for package in self._conda:
            if package_name(package) == "python":
                match = _NAME.match(package)
                rest = package[match.end() if match else 0 :]
                exact = _VERSION.fullmatch(rest)
                return exact.group(1) if exact else rest.strip() or None
        return None

    # ── changing ──

    def set_python_version(self, version: str) -> None:
        """Set the version of Python.

        Args:
            version: The version, such as `3.11`.
        """
        self.add_conda_package(f"python={version}")

    def add_channel(self, channel: str) -> None:
        """Add a conda channel, unless it is there.

        Args:
            channel: The name or the address of the channel.

        Raises:
            UserErrorException: `channel` is not a string.
        """
        if text_of("channel", channel) not in self._channels:
            self._channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        """Remove a conda channel.

        Args:
            channel: The name or the address of the channel.
        """
        self._channels = [other for other in self._channels if other != channel]

    def add_conda_package(self, conda_package: str) -> None:
        """Add a conda package, or replace the one of the same name.

        Args:
            conda_package: The package, such as `scikit-learn=1.5`.

        Raises:
            UserErrorException: `conda_package` is not a string.
        """
        _put(self._conda, text_of("conda_package", conda_package))

    def remove_conda_package(self, conda_package: str) -> None:
        """Remove a conda package.

        Args:
            conda_package: Its name, with or without a version.
        """
        self._conda = [p for p in self._conda if package_name(p) != package_name(conda_package)]

    def add_pip_package(self, pip_package: str) -> None:
        """Add a pip package, or replace the one of the same name.

        Args:
            pip_package: The package, such as `torch==2.4` or the address of a wheel.

        Raises:
            UserErrorException: `pip_package` is not a string.
        """
        _put(self._pip, text_of("pip_package", pip_package))

    def remove_pip_package(self, pip_package: str) -> None:
        """Remove a pip package.

        Args:
            pip_package: Its name, with or without a version.
        """
        self._pip = [p for p in self._pip if package_name(p) != package_name(pip_package)]

    def set_pip_requirements(self, pip_requirements: Sequence[str]) -> None:
        """Replace all pip packages and options by the lines of a requirements file.

        Args:
            pip_requirements: The lines.

        Raises:
            UserErrorException: It is not a list of strings.

        Example:
            packages = CondaDependencies()
            packages.set_pip_requirements(["--pre", "numpy", "# a comment"])
        """
        lines = [line.strip() for line in list_of_strings("pip_requirements", pip_requirements)]
        lines = [line for line in lines if line and not line.startswith("#")]
        # An editable install is a package that is written as an option.
        self._options = [line for line in lines if line.startswith("-") and not _is_editable(line)]
        self._pip = [line for line in lines if not line.startswith("-") or _is_editable(line)]

    def set_pip_option(self, pip_option: str) -> None:
        """Set an option of pip. It replaces one of the same name, unless pip accepts several.

        Args:
            pip_option: The option with its value, such as `--extra-index-url https://…`.

        Raises:
            UserErrorException: The option does not begin with a dash.
        """
        option = text_of("pip_option", pip_option).strip()
        if not option.startswith("-"):
            raise UserErrorException(f"pip option {pip_option!r} has no dash", hint="write it as pip expects it: --pre")
        if _option_name(option) not in _REPEATED:
            self.remove_pip_option(option)
        if option not in self._options:
            self._options.append(option)

    def remove_pip_option(self, pip_option: str) -> None:
        """Remove an option of pip.

        Args:
            pip_option: The option; its value makes no difference.
        """
        self._options = [option for option in self._options if _option_name(option) != _option_name(pip_option)]

    def set_pip_index_url(self, index_url: str) -> None:
        """Set the package index of pip.

        Args:
            index_url: The address.
        """
        self.set_pip_option(index_url if index_url.startswith("-") else f"--index-url {index_url}")

    def add_tensorflow_conda_package(self, core_type: str = "cpu", version: Optional[str] = None) -> None:
        """Add TensorFlow as a conda package, in place of one that is there.

        Args:
            core_type: `cpu` or `gpu`.
            version: The version; the newest by default.

        Raises:
            UserErrorException: `core_type` is something else.

        Example:
            packages = CondaDependencies()
            packages.add_tensorflow_conda_package(version="2.15")
            packages.remove_tensorflow_conda_package()
        """
        self.remove_tensorflow_conda_package()
        self.add_conda_package(_with_version(_for_core("tensorflow", core_type), "=", version))

    def remove_tensorflow_conda_package(self) -> None:
        """Remove TensorFlow from the conda packages.

        Example:
            packages = CondaDependencies()
            packages.remove_tensorflow_conda_package()
        """
        for name in ("tensorflow", "tensorflow-gpu"):
            self.remove_conda_package(name)

    def add_tensorflow_pip_package(self, core_type: str = "cpu", version: Optional[str] = None) -> None:
        """Add TensorFlow as a pip package, in place of one that is there.

        Args:
            core_type: `cpu` or `gpu`.
            version: The version; the newest by default.

        Raises:
            UserErrorException: `core_type` is something else.

        Example:
            packages = CondaDependencies()
            packages.add_tensorflow_pip_package(version="2.15.0")
        """
        self.remove_tensorflow_pip_package()
        self.add_pip_package(_with_version(_for_core("tensorflow", core_type), "==", version))

    def remove_tensorflow_pip_package(self) -> None:
        """Remove TensorFlow from the pip packages.

        Example:
            packages = CondaDependencies()
            packages.remove_tensorflow_pip_package()
        """
        for name in ("tensorflow", "tensorflow-gpu"):
            self.remove_pip_package(name)

    def add_cntk_package(self, core_type: str = "cpu") -> None:
        """Add CNTK as a pip package. It has not been released since 2019.

        Args:
            core_type: `cpu` or `gpu`.

        Raises:
            UserErrorException: `core_type` is something else.

        Example:
            packages = CondaDependencies()
            packages.add_cntk_package("cpu")
        """
        for name in ("cntk", "cntk-gpu"):
            self.remove_pip_package(name)
        self.add_pip_package(_for_core("cntk", core_type))

    # ── as data and as a file ──

    def as_dict(self) -> Dict[str, Any]:
        """Return the dependencies as the data of a conda file.

        Returns:
            A dict with `name`, `channels` and `dependencies`.
        """
        dependencies: List[Any] = list(self._conda)
        if self._pip or self._options:
            dependencies.append({"pip": [*self._options, *self._pip]})
        return {"name": self.name, "dependencies": dependencies, "channels": list(self._channels)}

    def serialize_to_string(self) -> str:
        """Return the text of a conda environment file.

        Returns:
            YAML.
        """
        return yaml.dumps(self.as_dict())

    def save_to_file(self, base_directory: str, conda_file_path: Optional[str] = None) -> str:
        """Write the conda file into a directory.

        Args:
            base_directory: The directory; it is created if needed.
            conda_file_path: The name of the file there, `conda_dependencies.yml` by default.

        Returns:
            The name of the file in the directory.
        """
        name = conda_file_path or DEFAULT_FILE
        target = os.path.join(base_directory, name)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(self.serialize_to_string())
        return name

    def save(self, path: Optional[str] = None) -> str:
        """Write the conda file.

        Args:
            path: The file, or a directory for `conda_dependencies.yml`; the current directory by default.

        Returns:
            The path of the file.
        """
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

    def _set(self, data: Any, where: str, folder: Optional[str] = None) -> None:
        """Take over the data of a conda file, except `prefix`, a directory of the machine that wrote it.

        Relative paths of pip lines start at `folder`, as in conda.
        """
        content = top_level(data, where)
        self.name = str(content.get("name") or DEFAULT_NAME)
        self._channels = texts_of(content.get("channels"), "channels", where)
        self._conda = []
        pip: List[str] = []
        for dependency in items_of(content.get("dependencies"), "dependencies", where):
            if isinstance(dependency, str):
                _put(self._conda, dependency)
            elif isinstance(dependency, Mapping) and list(cast("Mapping[Any, Any]", dependency)) == ["pip"]:
                pip += texts_of(cast("Mapping[str, Any]", dependency)["pip"], "pip", where)
            else:
                raise UserErrorException(
                    f"{where} has {dependency!r} among its dependencies",
                    hint="each is a string such as numpy=1.26, or one mapping `pip:` with a list",
                )
        self.set_pip_requirements(pip if folder is None else absolute_lines(pip, folder, where))


_REPEATED = ("--extra-index-url", "-f", "--find-links", "--trusted-host")


def list_of_strings(what: str, values: Sequence[str]) -> List[str]:
    if isinstance(values, str):
        raise UserErrorException(f"{what} is {values!r}", hint=f"give a list of strings: {what}=[{values!r}]")
    if not all(isinstance(value, str) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"{what} is {values!r}", hint="give a list of strings")
    return [*values]


def _put(packages: List[str], package: str) -> None:
    name = package_name(package)
    for index, existing in enumerate(packages):
        if package_name(existing) == name:
            packages[index] = package
            return
    packages.append(package)


def _is_editable(line: str) -> bool:
    return line.split(None, 1)[0].split("=")[0] in ("-e", "--editable")


def _option_name(option: str) -> str:
    name = option.split()[0].split("=")[0]
    return {"-i": "--index-url", "-f": "--find-links"}.get(name, name)


def _for_core(package: str, core_type: str) -> str:
    if core_type not in ("cpu", "gpu"):
        raise UserErrorException(f"core_type is {core_type!r}", hint="use 'cpu' or 'gpu'")
    return package if core_type == "cpu" else f"{package}-gpu"


def _with_version(package: str, sign: str, version: Optional[str]) -> str:
    return package if version is None else f"{package}{sign}{version}"
