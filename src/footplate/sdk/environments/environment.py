"""Azure's `Environment`: the class that users edit, create from files, and register."""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, List, Mapping, Optional, Union

from footplate.domain.records import CuratedView, EnvironmentView
from footplate.sdk.display import notebooks
from footplate.sdk.environments import build, curated, files
from footplate.sdk.environments.build import DockerImageDetails, ImageBuildDetails
from footplate.sdk.environments.conda_dependencies import DEFAULT_NAME as DEFAULT_CONDA_NAME
from footplate.sdk.environments.conda_dependencies import DEFAULT_PYTHON, CondaDependencies, package_name
from footplate.sdk.environments.definition import EnvironmentFields, definition, fill
from footplate.sdk.environments.requirement_files import requirement_lines
from footplate.sdk.environments.sections import ContainerRegistry, DockerBuildContext, registry_from
from footplate.sdk.environments.spec import DEFAULT_NAME, to_spec
from footplate.sdk.environments.unused import unused_settings
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.warn import warn_without_effect
from footplate.sdk.values.wrong_types import explained

_KINDS: Kinds = {"not_found": UserErrorException}


@explained
class Environment(EnvironmentFields):
    """A named definition of the packages, variables and container of a script.

    `version` is None until it is registered. An attribute that does not exist cannot be set.

    Args:
        name: The name.
        **kwargs: Values of attributes, such as `python` or `environment_variables`.

    Raises:
        TypeError: `name` is not a string.

    Example:
        environment = Environment("training")
        environment.python.conda_dependencies = CondaDependencies.create(pip_packages=["numpy"])
        environment.environment_variables["LOG_LEVEL"] = "debug"
        environment.save_to_directory("training-environment", overwrite=True)
        same = Environment.load_from_directory("training-environment")
        registered = same.clone("training-2").register(ws)
        Environment.label(ws, "training-2", str(registered.version), labels=["stable"])
        print(Environment.get(ws, "training-2", label="stable").version, len(Environment.list(ws)))
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"an environment's name is a string, not {name!r}\nhint: Environment(name='my-environment')"
            )
        super().__init__(name)
        kwargs.pop("workspace", None)  # some scripts pass it, but only a registered environment belongs to a workspace
        for key, value in kwargs.items():
            setattr(self, key, value)

    def __repr__(self) -> str:
        return json.dumps(definition(self), indent=4, sort_keys=True)

    def _repr_html_(self) -> str:
        packages = [*self.python.conda_dependencies.conda_packages, *self.python.conda_dependencies.pip_packages]
        columns = {"Name": self.name, "Version": self.version, "Image": self.docker.base_image}
        own = "the interpreter of the machine" if self.python.user_managed_dependencies else ", ".join(packages)
        return notebooks.row({**columns, "Packages": own})

    # ── from files, images and conda ──

    @staticmethod
    def from_conda_specification(name: str, file_path: str) -> Environment:
        """Create an environment from a conda file; without a Python in the file, it gets a default version.

        Args:
            name: The name of the environment.
            file_path: The conda file.

        Returns:
            The environment.

        Raises:
            UserErrorException: The file cannot be read or is not a conda file.

        Example:
            CondaDependencies.create(pip_packages=["numpy"]).save("conda.yml")
            environment = Environment.from_conda_specification("from-conda", "conda.yml")
        """
        environment = Environment(name)
        environment.python.conda_dependencies = _with_python(CondaDependencies(file_path))
        return environment

    @staticmethod
    def from_pip_requirements(name: str, file_path: str, pip_version: Optional[str] = None) -> Environment:
        r"""Create an environment from a requirements file; files named by `-r` lines are read as well.

        Args:
            name: The name of the environment.
            file_path: The requirements file.
            pip_version: The version of pip.

        Returns:
            The environment.

        Raises:
            UserErrorException: A file cannot be read.

        Example:
            with open("requirements.txt", "w") as file:
                file.write("numpy>=2\n")
            environment = Environment.from_pip_requirements("from-pip", "requirements.txt")
        """
        environment = Environment(name)
        environment.python.conda_dependencies.set_pip_requirements(requirement_lines(file_path))
        if pip_version is not None:
            environment.python.conda_dependencies.add_conda_package(f"pip={pip_version}")
        return environment

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> Optional[Environment]:
        """Create an environment with the packages of a conda environment on this machine.

        Args:
            name: The name of the environment.
            conda_environment_name: The name of the conda environment.

        Returns:
            The environment; None if conda is missing or cannot export it.

        Example:
            environment = Environment.from_existing_conda_environment("copied", "base")
        """
        dependencies = files.export_conda_environment(conda_environment_name)
        if dependencies is None:
            return None
        environment = Environment(name)
        dependencies.name = DEFAULT_CONDA_NAME
        environment.python.conda_dependencies = _with_python(dependencies)
        return environment

    @staticmethod
    def from_docker_image(
        name: str,
        image: str,
        container_registry: Union[ContainerRegistry, Mapping[str, Any], None] = None,
        conda_specification: Optional[str] = None,
        pip_requirements: Optional[str] = None,
    ) -> Environment:
        """Create an environment in a container. Without packages, the image's Python is used as it is.

        Args:
            name: The name of the environment.
            image: The image.
            container_registry: Its registry, as a ContainerRegistry or a dict of its attributes.
            conda_specification: A conda file with packages to add.
            pip_requirements: A requirements file with packages to add.

        Returns:
            The environment.

        Raises:
            UserErrorException: Both files were given, or one cannot be read.

        Example:
            environment = Environment.from_docker_image("in-a-container", "docker.io/library/python:3.11")
        """
        environment = _with_packages(name, conda_specification, pip_requirements)
        environment.docker.base_image = image
        if container_registry is not None:
            environment.docker.base_image_registry = registry_from(container_registry)
        return environment

    @staticmethod
    def from_dockerfile(
        name: str, dockerfile: Any, conda_specification: Optional[str] = None, pip_requirements: Optional[str] = None
    ) -> Environment:
        r"""Create an environment from a Dockerfile. Without packages, its Python is used as it is.

        Args:
            name: The name of the environment.
            dockerfile: Its text, its path or an open file.
            conda_specification: A conda file with packages to add.
            pip_requirements: A requirements file with packages to add.

        Returns:
            The environment.

        Raises:
            UserErrorException: Both files were given, or one cannot be read.

        Example:
            text = "FROM docker.io/library/python:3.11\nRUN pip install numpy"
            environment = Environment.from_dockerfile("built", text)
        """
        environment = _with_packages(name, conda_specification, pip_requirements)
        environment.docker.base_dockerfile = dockerfile
        return environment

    @staticmethod
    def from_docker_build_context(name: str, docker_build_context: DockerBuildContext) -> Environment:
        """Create an environment from a directory with a Dockerfile.

        Args:
            name: The name of the environment.
            docker_build_context: The directory, or a git repository.

        Returns:
            The environment.

        Raises:
            TypeError: `name` is not a string.

        Example:
            context = DockerBuildContext.from_git("https://github.com/example/images.git#main")
            environment = Environment.from_docker_build_context("from-git", context)
        """
        environment = _with_packages(name, None, None)
        environment.docker.build_context = docker_build_context
        return environment

    # ── on disk ──

    def save_to_directory(self, path: str, overwrite: bool = False) -> None:
        """Write azureml_environment.json, conda_dependencies.yml and, if there is one, BaseDockerfile.

        Args:
            path: The directory; it is created if needed.
            overwrite: Whether to replace files that exist.

        Raises:
            UserErrorException: The directory exists, and `overwrite` is False.
        """
        files.save_to_directory(self, path, overwrite)

    @staticmethod
    def load_from_directory(path: str) -> Environment:
        """Read the files that `save_to_directory` wrote.

        Args:
            path: The directory.

        Returns:
            The environment.

        Raises:
            UserErrorException: The files do not exist or are not valid.
        """
        environment = Environment(DEFAULT_NAME)
        files.load_from_directory(environment, path)
        return environment

    @staticmethod
    def add_private_pip_wheel(workspace: Workspace, file_path: str, exist_ok: bool = False) -> str:
        """Store a wheel with the workspace.

        Args:
            workspace: The workspace.
            file_path: The wheel.
            exist_ok: Whether a wheel of the same name may exist already.

        Returns:
            The address of the wheel, to be added as a pip package.

        Raises:
            UserErrorException: The file is not a wheel, or one of this name exists.

        Example:
            address = Environment.add_private_pip_wheel(ws, "dist/mine-1.0-py3-none-any.whl", exist_ok=True)
            packages = CondaDependencies.create(pip_packages=[address])
        """
        return files.keep_wheel(workspace, file_path, exist_ok)

    # ── building ──

    def build(self, workspace: Workspace, image_build_compute: Any = None) -> ImageBuildDetails:
        """Resolve and start to build the environment, so that the first run need not.

        Args:
            workspace: The workspace.
            image_build_compute: Accepted and ignored: the server's machine builds.

        Returns:
            The build, which goes on in the background.

        Raises:
            UserErrorException: The packages contradict each other.

        Example:
            environment = Environment("existing")
            environment.python.user_managed_dependencies = True
            environment.build(ws).wait_for_completion(show_output=True)
        """
        warn_without_effect(unused_settings(self))
        return build.build(workspace.session, self, to_spec(self))

    def build_local(self, workspace: Workspace, platform: Any = None, **kwargs: Any) -> ImageBuildDetails:
        """Build the environment and wait, printing the log.

        Args:
            workspace: The workspace.
            platform: Accepted and ignored.
            **kwargs: Azure's options for Docker, accepted and ignored.

        Returns:
            The finished build.

        Raises:
            UserErrorException: The build failed.

        Example:
            environment = Environment("existing")
            environment.python.user_managed_dependencies = True
            environment.build_local(ws)
        """
        return self.build(workspace).wait_for_completion(show_output=True)

    def get_image_details(self, workspace: Workspace) -> DockerImageDetails:
        """Return the result of building this environment on the server's machine, and where it is.

        Args:
            workspace: The workspace.

        Returns:
            A dict with attributes.

        Example:
            environment = Environment("existing")
            environment.python.user_managed_dependencies = True
            details = environment.get_image_details(ws)
            print(details.image_exist, details.interpreter_path)
        """
        return build.image_details(workspace.session, self, to_spec(self))

    # ── the registry ──

    def clone(self, new_name: str) -> Environment:
        """Copy the environment. The copy is not registered.

        Args:
            new_name: The name of the copy.

        Returns:
            The copy.
        """
        copied = copy.deepcopy(self)
        copied.name = new_name
        copied.version = None
        copied.asset_id = None
        return copied

    def register(self, workspace: Workspace) -> Environment:
        """Store the definition in the workspace. The same definition keeps its version, another one gets the next.

        Args:
            workspace: The workspace.

        Returns:
            The environment with its version.

        Raises:
            UserErrorException: The name is not valid.
        """
        _check_name(self.name)  # a name that no request could contain is refused now
        content = definition(self)
        # The registry assigns versions; if one were part of the content, no two contents would ever be equal.
        del content["version"]
        return _of_view(workspace.session.api_for(_KINDS).environments.register(workspace.id, self.name, content))

    @staticmethod
    def get(workspace: Workspace, name: str, version: Optional[str] = None, label: Optional[str] = None) -> Environment:
        """Return a registered or curated environment.

        Args:
            workspace: The workspace.
            name: The name. Names that begin with `AzureML-` are curated environments.
            version: The version; the latest by default.
            label: A label instead of a version.

        Returns:
            The environment.

        Raises:
            UserErrorException: There is no such environment, or both version and label were given.
        """
        if version is not None and label is not None:
            raise UserErrorException("both version and label were given", hint="give one of the two")
        if curated.is_reserved(name):
            return _of_curated(curated.get(workspace, name, version))
        label = None if label is None or label.lower() == "latest" else label
        environments = workspace.session.api_for(_KINDS).environments
        return _of_view(environments.get(workspace.id, _check_name(name), version or "latest", label=label))

    @staticmethod
    def list(workspace: Workspace) -> Dict[str, Environment]:
        """Return the newest version of each registered environment, and the curated ones.

        Args:
            workspace: The workspace.

        Returns:
            Environments by name.
        """
        views = workspace.session.api_for(_KINDS).environments.list(workspace.id)
        registered = {environment.name: environment for environment in map(_of_view, views)}
        return {**registered, **{view.name: _of_curated(view) for view in curated.every(workspace)}}

    @staticmethod
    def label(workspace: Workspace, name: str, version: str, labels: List[str]) -> None:
        """Give a version labels; a label that another version had moves here.

        Args:
            workspace: The workspace.
            name: The name of the environment.
            version: The version.
            labels: The labels.

        Raises:
            UserErrorException: There is no such version, or `labels` is a string.
        """
        if isinstance(labels, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"labels is the string {labels!r}", hint=f"give a list: labels=[{labels!r}]")
        workspace.session.api_for(_KINDS).environments.label(workspace.id, _check_name(name), version, labels)


@explained
class EnvironmentDefinition(Environment):
    """The name of `Environment` in the first versions of the SDK, where the name of an environment was optional.

    Args:
        name: The name.
        **kwargs: Values of attributes, such as `python` or `environment_variables`.

    Example:
        environment = EnvironmentDefinition()
        print(environment.name)
    """

    def __init__(self, name: str = DEFAULT_NAME, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


def from_definition(data: Mapping[str, Any], where: str = "the environment") -> Environment:
    """Return the environment that `definition` wrote."""
    environment = Environment(str(data.get("name") or DEFAULT_NAME))
    version = data.get("version")
    environment.version = None if version is None else str(version)
    fill(environment, data, where)
    return environment


def _check_name(name: str) -> str:
    if not name or "/" in name:
        raise UserErrorException(f"{name!r} cannot be an environment's name", hint="use letters, digits, '-', '_', '.'")
    return name


def _of_view(view: EnvironmentView) -> Environment:
    environment = from_definition(dict(view.definition, name=view.name), f"environment {view.name!r}")
    environment.version = view.version
    environment.asset_id = f"azureml:{view.name}:{view.version}"
    return environment


def _of_curated(view: CuratedView) -> Environment:
    environment = Environment(view.name)
    curated.fill(environment, view)
    return environment


def _with_python(dependencies: CondaDependencies) -> CondaDependencies:
    if not any(package_name(package) == "python" for package in dependencies.conda_packages):
        dependencies.set_python_version(DEFAULT_PYTHON)
    return dependencies


def _with_packages(name: str, conda_specification: Optional[str], pip_requirements: Optional[str]) -> Environment:
    if conda_specification is not None and pip_requirements is not None:
        raise UserErrorException(
            "both conda_specification and pip_requirements were given", hint="give one of the two, or none"
        )
    if conda_specification is not None:
        return Environment.from_conda_specification(name, conda_specification)
    if pip_requirements is not None:
        return Environment.from_pip_requirements(name, pip_requirements)
    environment = Environment(name)
    environment.python.user_managed_dependencies = True
    return environment
