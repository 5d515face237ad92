"""podman or docker, whichever works here. Both accept the same arguments.

An engine that is installed but does not answer (a docker client without its daemon) does not count.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from footplate.domain.inherited_variables import build_variables
from footplate.environments.base import Say, without_prefix
from footplate.environments.subprocesses import stream
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.errors import Broken, InvalidInput, OutOfSpace

NAMES = ("podman", "docker")
_ASK = {"podman": ("info", "--format", "{{.Host.Arch}}"), "docker": ("version", "--format", "{{.Server.Version}}")}
_PATIENCE = 30.0
_DOCKER_NAMES = {"docker.io": ("https://index.docker.io/v1/",)}
_AGAIN_SECONDS = 10.0

_guard = threading.Lock()
_working: set[str] = set()  # programs that have answered
_asked: dict[str, float] = {}  # when a program last failed to answer


class RegistryAway(InvalidInput):
    """The registry of an image does not answer."""


@dataclass(frozen=True)
class Image:
    """An image on this machine. `pulled` is the address from which any machine gets exactly this image."""

    id: str
    size: int
    pulled: str | None
    user: str
    variables: tuple[str, ...]  # NAME=value

    def variable(self, name: str) -> str | None:
        return next((one[len(name) + 1 :] for one in self.variables if one.startswith(f"{name}=")), None)


@dataclass(frozen=True)
class ContainerEngine:
    name: str
    program: str

    def call(
        self,
        arguments: Sequence[str],
        say: Say,
        text: str | None = None,
        whole: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Run the engine and return its output. Its messages go to `say`; with `whole`, its output does, too.

        The program is killed when the caller is interrupted. Raises Broken with the engine's own message.
        """
        done = stream(
            [self.program, *arguments], say, {**build_variables(os.environ), **variables}, text, show_output=whole
        )
        if done.code == 0:
            return done.output
        if "no space left on device" in done.messages.lower():
            raise OutOfSpace(f"{self.name} {arguments[0]}: the disk is full", "free some space and submit again")
        words = "\n".join(done.messages.splitlines()[-20:]) or f"it ended with {done.code}"
        raise Broken(f"{self.name} {arguments[0]} failed: {words}", "see the build log of the run")

    def ask(self, *arguments: str) -> str | None:
        """Return the output of a short command; None if it fails."""
        try:
            done = subprocess.run(
                [self.program, *arguments], capture_output=True, text=True, errors="replace", timeout=60, check=False,
                env=build_variables(os.environ),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def image(self, name: str) -> Image | None:
        """Return the image of this name or id; None if it is not on this machine."""
        answer = self.ask("image", "inspect", name)
        if answer is None:
            return None
        about = cast("dict[str, Any]", json.loads(answer)[0])
        config = cast("dict[str, Any]", about.get("Config") or {})
        digests = [one for one in about.get("RepoDigests") or () if not str(one).startswith("localhost/")]
        image_id = str(about["Id"])
        return Image(
            id=image_id if image_id.startswith("sha256:") else f"sha256:{image_id}",
            size=int(about.get("Size") or 0),
            pulled=str(digests[0]) if digests else None,
            user=str(config.get("User") or ""),
            variables=tuple(str(one) for one in config.get("Env") or ()),
        )

    def pull(self, name: str, say: Say, logins: Logins = NO_LOGINS) -> Image:
        """Return the image, pulled if necessary: with the login for its registry, or with the engine's own."""
        if name.startswith("-"):
            raise InvalidInput(f"{name!r} is not the name of an image", "write it as in: python:3.12-slim")
        image = self.image(name)
        if image is not None:
            return image
        say(f"pulling {name}")
        try:
            self._pull(name, say, logins)
        except Broken as error:
            registry = _registry(name)
            if not _answers_calls(registry):
                raise RegistryAway(
                    f"the image {name!r} cannot be pulled: {registry} does not answer",
                    f"transfer it from a machine with a network ({self.name} save, {self.name} load), "
                    "or set containers = ignore in settings.ini",
                ) from None
            raise InvalidInput(
                f"the image {name!r} cannot be pulled: {error.message}",
                "check its name; if it needs a login, set address, username and password of docker.base_image_registry "
                f"or log in on the machine that runs it: {self.name} login {registry}; "
                "to do without containers set containers = ignore in settings.ini",
            ) from None
        image = self.image(name)
        if image is None:
            raise Broken(f"{self.name} pulled {name!r} and does not have it", f"see: {self.name} images")
        return image

    def _pull(self, name: str, say: Say, logins: Logins) -> None:
        """Pull with a login, which the engine reads from a private file named by variables."""
        host = _registry(name)
        login = logins.user_of(f"https://{host}")
        if login is None:
            self.call(["pull", name], say)
            return
        credentials = base64.b64encode(":".join(login).encode()).decode()
        with tempfile.TemporaryDirectory(prefix="footplate-login-") as folder:  # mode 0700
            path = os.path.join(folder, "config.json")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
                json.dump(
                    {"auths": {name: {"auth": credentials} for name in (host, *_DOCKER_NAMES.get(host, ()))}}, file
                )
            self.call(["pull", name], say, variables={"REGISTRY_AUTH_FILE": path, "DOCKER_CONFIG": folder})

    def remove_container(self, name: str) -> None:
        """Remove a container by force and at once, if it exists."""
        self.ask("rm", "--force", "--volumes", *(("--time", "0") if self.name == "podman" else ()), name)


def host_of(address: str) -> str:
    """Return a registry's address as image names contain it."""
    return without_prefix(address, "https://").rstrip("/")


def _registry(image: str) -> str:
    """Return the host that an image is pulled from: Docker Hub, unless the first part of the name looks like a host."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "registry-1.docker.io"


def _answers_calls(registry: str) -> bool:
    """Whether the registry accepts connections. Behind a proxy this cannot be known, and we assume that it does."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    host, _, port = registry.partition(":")
    try:
        socket.create_connection((host, int(port or 443)), timeout=5.0).close()
    except (OSError, ValueError):
        return False
    return True


def find() -> ContainerEngine | None:
    """Return the engine that works on this machine. One that did not answer is tried again a little later."""
    with _guard:
        for name in NAMES:
            program = shutil.which(name)
            if program is not None and (program in _working or _answers(name, program)):
                _working.add(program)
                return ContainerEngine(name, program)
    return None


def find_or_refuse() -> ContainerEngine:
    engine = find()
    if engine is None:
        raise InvalidInput(
            f"this machine ({os.uname().nodename}) has no container engine that answers",
            "install podman there, or start docker's daemon",
        )
    return engine


def _answers(name: str, program: str) -> bool:
    if time.monotonic() - _asked.get(program, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
        return False
    try:
        done = subprocess.run(
            [program, *_ASK[name]],
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            env=build_variables(os.environ),
        )
        answers = done.returncode == 0 and bool(done.stdout.strip())
    except (OSError, subprocess.TimeoutExpired):
        answers = False
    if not answers:
        _asked[program] = time.monotonic()
    return answers
