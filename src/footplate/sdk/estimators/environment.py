"""The environment that an estimator's parameters describe.

The packages of a framework come from its curated environment on the server. They are merged with the estimator's own
when it is submitted.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

from footplate.sdk.environments.conda_dependencies import DEFAULT_PIP_PACKAGES, CondaDependencies, package_name
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.requirement_files import requirement_lines
from footplate.sdk.environments.sections import DockerSection, registry_from
from footplate.sdk.exceptions import TrainingException, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.warn import warn_without_effect


@dataclass(frozen=True)
class Packages:
    conda: List[str]
    pip: List[str]
    conda_file: Optional[str]
    pip_file: Optional[str]

    def by_name(self) -> Dict[str, Any]:
        """Return the parameters that were given, by name."""
        names = {
            "conda_packages": self.conda,
            "pip_packages": self.pip,
            "conda_dependencies_file": self.conda_file,
            "pip_requirements_file": self.pip_file,
        }
        return {name: value for name, value in names.items() if value}


def make(
    folder: str,
    name: str,
    packages: Packages,
    *,
    use_gpu: bool = False,
    definition: Optional[Environment] = None,
    user_managed: bool = False,
    image: Optional[str] = None,
    registry: Any = None,
    use_docker: bool = True,
    shm_size: Optional[str] = None,
    variables: Optional[Mapping[str, Any]] = None,
) -> Environment:
    """Return the environment; `folder` is the source folder, to which paths of conda and pip files are relative."""
    _check_types(definition, variables)
    if definition is not None:
        options = {
            "custom_docker_image": image, "image_registry_details": registry, "use_gpu": use_gpu,
            "user_managed": user_managed, "shm_size": shm_size,
        }  # fmt: skip
        clash = sorted({*packages.by_name(), *(name for name, value in options.items() if value)})
        if clash:
            raise TrainingException(
                f"environment_definition was given together with {', '.join(clash)}",
                hint="set everything on the environment, or leave environment_definition out",
            )
        environment = copy.deepcopy(definition)
    else:
        environment = Environment(name)
        if user_managed:
            if packages.by_name():
                raise UserErrorException(
                    f"user_managed is True, but {', '.join(packages.by_name())} is set",
                    hint="install the packages into your own environment, or leave user_managed out",
                )
            environment.python.user_managed_dependencies = True
        else:
            environment.python.conda_dependencies = _dependencies(folder, packages)
    if image is not None and use_docker:
        # Azure ran everything in a container; here one is used only if an image is named.
        environment.docker.enabled = True
        environment.docker.base_image = image
    elif image is not None:
        warn_without_effect({"custom_docker_image": "use_docker is False"})
    if registry is not None:
        environment.docker.base_image_registry = registry_from(registry)
    if shm_size is not None:
        environment.docker.shm_size = shm_size
    environment.environment_variables.update({str(key): str(value) for key, value in (variables or {}).items()})
    return environment


def on_top_of(workspace: Workspace, curated: str, own: Environment) -> Environment:
    """Return the curated environment with the additions of `own`, which wins for packages in both."""
    merged = Environment.get(workspace, curated).clone(own.name)
    ours, theirs = own.python.conda_dependencies, merged.python.conda_dependencies
    for package in ours.conda_packages:
        if package_name(package) != "python":
            theirs.add_conda_package(package)
    for package in ours.pip_packages:
        if package not in DEFAULT_PIP_PACKAGES:
            theirs.add_pip_package(package)
    for option in ours.pip_options:
        theirs.set_pip_option(option)
    for channel in ours.conda_channels:
        theirs.add_channel(channel)
    untouched = Environment(own.name).environment_variables  # every new environment contains the example
    added = {name: value for name, value in own.environment_variables.items() if untouched.get(name) != value}
    merged.environment_variables.update(added)
    if repr(own.docker) != repr(DockerSection()):
        merged.docker = own.docker
    return merged


def _check_types(definition: Any, variables: Any) -> None:
    if definition is not None and not isinstance(definition, Environment):
        name = definition if isinstance(definition, str) else "NAME"
        raise TrainingException(
            f"environment_definition is {definition!r}", hint=f"pass the object: Environment.get(workspace, {name!r})"
        )
    if variables is not None and not isinstance(variables, Mapping):
        raise TrainingException(f"environment_variables is {variables!r}", hint="pass a dictionary: {'NAME': 'value'}")


def _dependencies(folder: str, packages: Packages) -> CondaDependencies:
    if packages.conda_file is not None:
        others = sorted(set(packages.by_name()) - {"conda_dependencies_file"})
        if others:
            raise TrainingException(
                f"conda_dependencies_file was given together with {', '.join(others)}",
                hint="list all packages in the file",
            )
        return CondaDependencies(inside(folder, packages.conda_file))
    dependencies = CondaDependencies()
    for package in packages.conda:
        dependencies.add_conda_package(package)
    lines = requirement_lines(inside(folder, packages.pip_file)) if packages.pip_file is not None else []
    if lines:
        dependencies.set_pip_requirements([*DEFAULT_PIP_PACKAGES, *lines])
    for package in packages.pip:
        dependencies.add_pip_package(package)
    return dependencies


def inside(folder: str, path: str) -> str:
    """Return the path of a file, given relative to the source folder or absolute."""
    return path if os.path.isabs(path) else os.path.join(folder, path)
