"""The result of building an environment: `environment.get_image_details(workspace)`."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from footplate.domain.locks import image_name
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.fields import EnvironmentFields as Environment
from footplate.sdk.session import Session


class DockerImageDetails(Dict[str, Any]):
    """The result of building an environment: a dict with attributes.

    Without containers there is no image; the paths then name the directory.

    Example:
        environment = Environment("existing")
        environment.python.user_managed_dependencies = True
        details = environment.get_image_details(ws)
        print(details.image_exist, details.image, details["ingredients"])
    """

    @property
    def image_exist(self) -> bool:
        """Whether the environment is built."""
        return bool(self["imageExistsInRegistry"])

    @property
    def image(self) -> Optional[str]:
        """The name of the image; None for an environment without one."""
        return self["image"]

    @property
    def registry(self) -> Optional[str]:
        """The address of the registry of the base image."""
        return self["registry"]

    @property
    def repository(self) -> Optional[str]:
        """The repository of the image; None for an environment without one."""
        return self["repository"]

    @property
    def dockerfile(self) -> Optional[str]:
        """The text of the Dockerfile."""
        return self["ingredients"]["dockerfile"]

    @property
    def environment_path(self) -> Optional[str]:
        """The directory of the environment, once it is built."""
        return self["pythonEnvironment"]["condaEnvironmentPath"]

    @property
    def interpreter_path(self) -> Optional[str]:
        """The path of its Python, once it is built."""
        return self["pythonEnvironment"]["interpreterPath"]


def image_details(session: Session, environment: Environment, spec: EnvironmentSpec) -> DockerImageDetails:
    """Resolve the environment (once per content) and look whether it is built."""
    lock = session.api.locks.resolve(spec)
    built = next((view for view in session.api.locks.list_built() if view.digest == lock.digest), None)
    in_container = lock.builder == "container"
    folder = None if built is None or in_container else built.path
    existing = lock.content.get("interpreter") if lock.builder == "existing" else None
    docker = environment.docker
    dockerfile = docker.base_dockerfile or (f"FROM {docker.base_image}\n" if docker.base_image else None)
    return DockerImageDetails(
        imageExistsInRegistry=built is not None or existing is not None,
        image=image_name(lock) if in_container else None,
        registry=docker.base_image_registry.address,
        repository="localhost/footplate" if in_container else None,
        ingredients={"dockerfile": dockerfile, "lock": lock.digest},
        pythonEnvironment={
            "condaEnvironmentPath": folder,
            "interpreterPath": existing or (os.path.join(folder, "bin", "python") if folder else None),
        },
    )
