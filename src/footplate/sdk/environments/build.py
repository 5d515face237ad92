"""Build an environment without a run: `environment.build(workspace)`, and its result."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from footplate.api import LONG_POLL
from footplate.domain.locks import image_name
from footplate.domain.records import BuildView
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.definition import EnvironmentFields as Environment
from footplate.sdk.exceptions import AzureMLException, Kinds, UserErrorException
from footplate.sdk.session import Session
from footplate.sdk.values.wrong_types import explained


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


_STATUS = {"building": "Running", "built": "Succeeded", "failed": "Failed"}


class _Forgotten(AzureMLException):
    """The server was replaced during the build: it keeps finished environments, not requests."""


_KINDS: Kinds = {"not_found": _Forgotten}


@explained
class ImageBuildDetails:
    """A build of an environment on the server's machine, as `environment.build(workspace)` returns it.

    The name is Azure's; without containers there is no image.

    Args:
        session: The connection to the server.
        environment: The environment that is built.
        digest: The digest of its lock.

    Example:
        environment = Environment("existing")
        environment.python.user_managed_dependencies = True
        build = environment.build(ws)
        build.wait_for_completion(show_output=False)
        print(build.status, build.get_log())
    """

    def __init__(self, session: Session, environment: Environment, digest: str) -> None:
        self._session = session
        self._name = environment.name
        self._digest = digest

    @property
    def status(self) -> str:
        """`Running`, `Succeeded` or `Failed`."""
        return _STATUS[self._look(0, 0.0).state]

    def get_log(self) -> str:
        """Return the log of the build so far.

        Returns:
            The text.
        """
        return self._look(0, 0.0).text

    def wait_for_completion(self, show_output: bool = True) -> ImageBuildDetails:
        """Wait for the end of the build.

        Args:
            show_output: Whether to print the log as it grows.

        Returns:
            This object.

        Raises:
            UserErrorException: The build failed; the message has the reason.
        """
        seen = 0
        while True:
            view = self._look(seen, LONG_POLL)
            if show_output and view.text:
                print(view.text, end="", flush=True)
            seen = view.offset
            if view.state == "building":
                continue
            if view.cause is not None:
                raise UserErrorException(
                    f"environment {self._name!r} could not be built: {view.cause.message}", hint=view.cause.hint
                )
            return self

    def _look(self, offset: int, wait: float) -> BuildView:
        locks = self._session.api_for(_KINDS).locks
        try:
            return locks.follow_build(self._digest, offset, wait)
        except _Forgotten:
            # A finished environment is found at once; an unfinished one is built now.
            self._session.api.locks.build(self._digest)
            return locks.follow_build(self._digest, wait=wait)

    def __repr__(self) -> str:
        return f"ImageBuildDetails(environment={self._name!r}, lock={self._digest[:12]!r})"


def build(session: Session, environment: Environment, spec: EnvironmentSpec) -> ImageBuildDetails:
    """Resolve the environment (once per content) and start to build it."""
    lock = session.api.locks.resolve(spec)
    session.api.locks.build(lock.digest)
    return ImageBuildDetails(session, environment, lock.digest)
