"""The parts of an environment that users edit. An attribute that does not exist cannot be set."""

from __future__ import annotations

import logging
import os
import re
from typing import Any, Dict, List, Optional, Union, cast

from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.runs import snapshots
from footplate.sdk.values.checked_attributes import Checked
from footplate.sdk.values.wrong_types import explained

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04"
DEFAULT_SHM_SIZE = "2g"
_SOURCES = ("base_image", "base_dockerfile", "build_context")
_log = logging.getLogger(__name__)


class PythonSection(Checked):
    """The interpreter of an environment: an existing one, or one built with `conda_dependencies`.

    `user_managed_dependencies` chooses the existing one at `interpreter_path`. Setting
    `conda_dependencies_file` reads that file.

    Example:
        environment = Environment("existing")
        environment.python.user_managed_dependencies = True
        environment.python.interpreter_path = "/usr/bin/python3"
    """

    def __init__(self) -> None:
        self.interpreter_path = "python"
        self.user_managed_dependencies = False
        self.conda_dependencies: CondaDependencies = CondaDependencies()
        self.conda_dependencies_file: Optional[str] = None
        self.base_conda_environment: Optional[str] = None
        self._seal()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "conda_dependencies_file" and value is not None:
            self.conda_dependencies = CondaDependencies(str(value))
        super().__setattr__(name, value)


class ContainerRegistry(Checked):
    """The registry of an image: `address`, `username` and `password`.

    The server encrypts the password; no definition, run, lock or log contains it.

    Example:
        environment = Environment.from_docker_image("private", "training:1")
        environment.docker.base_image_registry.address = "registry.example.com"
        environment.docker.base_image_registry.username = "ada"
        environment.docker.base_image_registry.password = "s3cr3t"
    """

    def __init__(self) -> None:
        self.address: Optional[str] = None
        self.username: Optional[str] = None
        self.password: Optional[str] = None
        self.registry_identity: Any = None
        self._seal()

    def __repr__(self) -> str:
        password = "'***'" if self.password else None
        return f"ContainerRegistry(address={self.address!r}, username={self.username!r}, password={password})"


@explained
class DockerImagePlatform(Checked):
    """The operating system and processor of an image, stored with the environment.

    Args:
        os: The operating system.
        architecture: The processor.

    Example:
        environment = Environment("training")
        environment.docker.platform = DockerImagePlatform(architecture="arm64")
    """

    def __init__(self, os: str = "Linux", architecture: str = "amd64") -> None:
        self.os = os
        self.architecture = architecture
        self._seal()


@explained
class DockerBuildContext(Checked):
    r"""A directory with a Dockerfile: in the workspace's store, or in a git repository.

    Args:
        location_type: `snapshot` or `git`.
        location: The id of the snapshot, or the address of the repository.
        dockerfile_path: The Dockerfile, relative to the directory.

    Raises:
        UserErrorException: `location_type` is unknown.

    Example:
        with open("src/Dockerfile", "w") as file:
            file.write("FROM docker.io/library/python:3.11\n")
        local = DockerBuildContext.from_local_directory(ws, "src")
        remote = DockerBuildContext.from_git("https://github.com/example/images.git#main")
    """

    def __init__(self, location_type: str, location: str, dockerfile_path: str = "Dockerfile") -> None:
        if location_type not in ("snapshot", "git"):
            raise UserErrorException(
                f"location_type is {location_type!r}",
                hint="use DockerBuildContext.from_local_directory or DockerBuildContext.from_git",
            )
        self.location_type = location_type
        self.location = location
        self.dockerfile_path = dockerfile_path
        self._seal()

    @staticmethod
    def from_local_directory(
        workspace: Workspace, path: str, dockerfile_path: str = "Dockerfile"
    ) -> DockerBuildContext:
        """Upload a directory as it is now to the workspace's store.

        Args:
            workspace: The workspace.
            path: The local directory.
            dockerfile_path: The Dockerfile, relative to the directory.

        Returns:
            The build context.

        Raises:
            UserErrorException: There is no such Dockerfile.
            SnapshotException: The directory cannot be read.
        """
        folder = os.fspath(path)
        if not os.path.isfile(os.path.join(folder, dockerfile_path)):
            raise UserErrorException(
                f"there is no {dockerfile_path!r} in the folder {folder!r}",
                hint="dockerfile_path is relative to the folder",
            )
        return DockerBuildContext("snapshot", snapshots.take(workspace.session, folder).id, dockerfile_path)

    @staticmethod
    def from_git(url: str, dockerfile_path: str = "Dockerfile") -> DockerBuildContext:
        """Use a git repository.

        Args:
            url: Its address, with `#branch` unless it is the default branch.
            dockerfile_path: The Dockerfile, relative to the repository.

        Returns:
            The build context.
        """
        return DockerBuildContext("git", url, dockerfile_path)


class DockerSection(Checked):
    """The container of a run: its source, and how it is started.

    `base_image`, `base_dockerfile` and `build_context` exclude each other: setting one clears the others.
    If `base_image` is left unchanged, Footplate chooses an image.

    Args:
        **kwargs: Values of attributes.

    Raises:
        UserErrorException: A Dockerfile cannot be read.

    Example:
        environment = Environment("training")
        environment.docker.base_image = "docker.io/library/python:3.11"
        environment.docker.shm_size = "8g"
    """

    def __init__(self, **kwargs: Any) -> None:
        self.enabled = False
        self.base_image: Optional[str] = DEFAULT_CPU_IMAGE
        self.base_image_registry = ContainerRegistry()
        self.base_dockerfile: Any = None
        self.build_context: Optional[DockerBuildContext] = None
        self.platform = DockerImagePlatform()
        self.shm_size: Optional[str] = DEFAULT_SHM_SIZE
        self.shared_volumes = True
        self.arguments: List[str] = []
        self.gpu_support = False
        self._seal()
        for key, value in kwargs.items():
            setattr(self, key, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "base_dockerfile" and value is not None:
            value = _dockerfile_text(value)
        super().__setattr__(name, value)
        if self._sealed and name in _SOURCES and value is not None:
            self._clear_others(name)

    def _clear_others(self, chosen: str) -> None:
        for other in _SOURCES:
            current = getattr(self, other)
            if other == chosen or current is None:
                continue
            if current != DEFAULT_CPU_IMAGE:
                _log.warning("docker.%s is set, so docker.%s is cleared: only one of them can be used", chosen, other)
            super().__setattr__(other, None)


_DOCKERFILE = re.compile(r"\s*(from|arg|#)", re.IGNORECASE)
"""How a Dockerfile begins; any other single line is a path."""


def _dockerfile_text(source: Any) -> str:
    """Return the text of a Dockerfile that is given as its text, as the path of a file, or as an open file."""
    if hasattr(source, "read"):
        content: Union[str, bytes] = source.read()
        return content.decode("utf-8") if isinstance(content, bytes) else content
    if not isinstance(source, (str, os.PathLike)):
        raise UserErrorException(f"base_dockerfile is {source!r}", hint="give its text, its path or an open file")
    text = os.fspath(cast("Union[str, os.PathLike[str]]", source))
    if "\n" in text or _DOCKERFILE.match(text):
        return text
    try:
        with open(text, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        hint = f"give its text, or its path; relative paths start at {os.getcwd()}"
        raise UserErrorException(f"Dockerfile {text!r} cannot be read: {error}", error, hint=hint) from error


@explained
class SparkPackage(Checked):
    """A Maven package of Spark, stored with the environment.

    Args:
        group, artifact, version: The coordinates of the package.

    Example:
        environment = Environment("spark")
        environment.spark.packages.append(SparkPackage("com.example", "reader", "1.0"))
    """

    def __init__(
        self, group: Optional[str] = None, artifact: Optional[str] = None, version: Optional[str] = None
    ) -> None:
        self.group = group
        self.artifact = artifact
        self.version = version
        self._seal()


class SparkSection(Checked):
    """Stored with the environment. Footplate does not run Spark.

    Example:
        environment = Environment("spark")
        environment.spark.repositories.append("https://repo.example.com")
    """

    def __init__(self) -> None:
        self.repositories: List[str] = []
        self.packages: List[Any] = []
        self.precache_packages = True
        self._seal()


class DatabricksSection(Checked):
    """Stored with the environment. Footplate does not run anything on Databricks.

    Example:
        environment = Environment("databricks")
        environment.databricks.pypi_libraries.append("numpy")
    """

    def __init__(self) -> None:
        self.maven_libraries: List[Any] = []
        self.pypi_libraries: List[Any] = []
        self.rcran_libraries: List[Any] = []
        self.jar_libraries: List[Any] = []
        self.egg_libraries: List[Any] = []
        self._seal()


class RSection(Checked):
    """Stored with the environment. Footplate does not install R packages.

    Example:
        environment = Environment("r")
        environment.r = RSection()
        environment.r.r_version = "4.3"
    """

    def __init__(self) -> None:
        self.r_version: Optional[str] = None
        self.user_managed = False
        self.rscript_path: Optional[str] = None
        self.snapshot_date: Optional[str] = None
        self.cran_packages: List[Any] = []
        self.github_packages: List[Any] = []
        self.custom_url_packages: List[Any] = []
        self.bioconductor_packages: List[Any] = []
        self._seal()


def registry_from(given: Any) -> ContainerRegistry:
    """Return a registry given as an object or as a dictionary of its attributes."""
    if isinstance(given, ContainerRegistry):
        return given
    if not isinstance(given, dict):
        raise UserErrorException(f"container_registry is {given!r}", hint="give a ContainerRegistry")
    registry = ContainerRegistry()
    for key, value in cast("Dict[str, Any]", given).items():
        setattr(registry, key, value)
    return registry
