"""podman or docker, whichever works here: how it is found and called. The two understand the same words.

An engine that is installed and does not answer (a docker client without its daemon) counts as none.
"""

from __future__ import annotations

import base64
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

from footplate.environments.base import Say
from footplate.environments.subprocesses import stream
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.errors import Broken, InvalidInput, OutOfSpace

NAMES = ("podman", "docker")
_ASK = {"podman": ("info", "--format", "{{.Host.Arch}}"), "docker": ("version", "--format", "{{.Server.Version}}")}
_PATIENCE = 30.0
_CALLED_BY_DOCKER = {"docker.io": ("https://index.docker.io/v1/",)}
_AGAIN_SECONDS = 10.0

_guard = threading.Lock()
_working: set[str] = set()  # programs that were seen to answer
_asked: dict[str, float] = {}  # when one was last seen not to


class RegistryAway(InvalidInput):
    """Nobody answers where an image is to be fetched from."""


@dataclass(frozen=True)
class Image:
    """An image that is on this machine. `pulled` is the address under which any machine gets exactly this one."""

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
        """What the engine writes to its output. What it says goes to `say` as it comes; `whole`: its output, too.

        Ends with us: when the caller is interrupted, the engine's program is killed. Raises Broken in its own words.
        """
        done = stream([self.program, *arguments], say, {**os.environ, **variables}, text, show_output=whole)
        if done.code == 0:
            return done.output
        if "no space left on device" in done.messages.lower():
            raise OutOfSpace(f"{self.name} {arguments[0]}: the disk is full", "free some space and submit again")
        words = "\n".join(done.messages.splitlines()[-20:]) or f"it ended with {done.code}"
        raise Broken(f"{self.name} {arguments[0]} failed: {words}", "see the build log of the run")

    def ask(self, *arguments: str) -> str | None:
        """A short question; None when the engine has no answer."""
        try:
            done = subprocess.run(
                [self.program, *arguments], capture_output=True, text=True, errors="replace", timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def image(self, name: str) -> Image | None:
        """The image of this name or id; None when it is not on this machine."""
        import json  # not on the way of runs that have no container

        told = self.ask("image", "inspect", name)
        if told is None:
            return None
        about = cast("dict[str, Any]", json.loads(told)[0])
        config = cast("dict[str, Any]", about.get("Config") or {})
        digests = [one for one in about.get("RepoDigests") or () if not str(one).startswith("localhost/")]
        known = str(about["Id"])
        return Image(
            id=known if known.startswith("sha256:") else f"sha256:{known}",
            size=int(about.get("Size") or 0),
            pulled=str(digests[0]) if digests else None,
            user=str(config.get("User") or ""),
            variables=tuple(str(one) for one in config.get("Env") or ()),
        )

    def pull(self, name: str, say: Say, logins: Logins = NO_LOGINS) -> Image:
        """The image, fetched if it is not here: with the login for its registry, else with the engine's own."""
        found = self.image(name)
        if found is not None:
            return found
        say(f"pulling {name}")
        try:
            self._pull(name, say, logins)
        except Broken as error:
            registry = _registry(name)
            if not _answers_calls(registry):
                raise RegistryAway(
                    f"the image {name!r} cannot be had: {registry} does not answer",
                    f"fetch it where there is a network ({self.name} save, {self.name} load), "
                    "or set containers = ignore in settings.ini",
                ) from None
            raise InvalidInput(
                f"the image {name!r} cannot be had: {error.message}",
                "check its name; if it needs a login, set address, username and password of docker.base_image_registry "
                f"or log in where the run is to run: {self.name} login {registry}; "
                "to do without containers set containers = ignore in settings.ini",
            ) from None
        found = self.image(name)
        if found is None:
            raise Broken(f"{self.name} pulled {name!r} and does not have it", f"see: {self.name} images")
        return found

    def _pull(self, name: str, say: Say, logins: Logins) -> None:
        """The login goes through a file that nobody else can read; podman and docker are told of it in variables."""
        host = _registry(name)
        login = logins.user_of(f"https://{host}")
        if login is None:
            self.call(["pull", name], say)
            return
        import json  # as in `image`

        shown = base64.b64encode(":".join(login).encode()).decode()
        with tempfile.TemporaryDirectory(prefix="footplate-login-") as folder:  # mode 0700
            path = os.path.join(folder, "config.json")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
                json.dump(
                    {"auths": {called: {"auth": shown} for called in (host, *_CALLED_BY_DOCKER.get(host, ()))}}, file
                )
            self.call(["pull", name], say, variables={"REGISTRY_AUTH_FILE": path, "DOCKER_CONFIG": folder})

    def remove_container(self, name: str) -> None:
        """By force, and at once; one that is not there is no error."""
        self.ask("rm", "--force", "--volumes", *(("--time", "0") if self.name == "podman" else ()), name)


def host_of(address: str) -> str:
    """A registry's address as images are named by it."""
    return address.removeprefix("https://").rstrip("/")


def _registry(image: str) -> str:
    """The host that an image is fetched from. A first part that looks like no host is a name on Docker's own."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "registry-1.docker.io"


def _answers_calls(registry: str) -> bool:
    """Whether anybody listens there. Behind a proxy we cannot tell, and take it that somebody does."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    host, _, port = registry.partition(":")
    try:
        socket.create_connection((host, int(port or 443)), timeout=5.0).close()
    except (OSError, ValueError):
        return False
    return True


def find() -> ContainerEngine | None:
    """The engine that answers on this machine. Asked once; one that did not answer is asked again a little later."""
    with _guard:
        for name in NAMES:
            program = shutil.which(name)
            if program is not None and (program in _working or _answers(name, program)):
                _working.add(program)
                return ContainerEngine(name, program)
    return None


def find_or_refuse() -> ContainerEngine:
    found = find()
    if found is None:
        raise InvalidInput(
            f"this machine ({os.uname().nodename}) has no container engine that answers",
            "install podman there, or start docker's daemon",
        )
    return found


def _answers(name: str, program: str) -> bool:
    if time.monotonic() - _asked.get(program, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
        return False
    try:
        done = subprocess.run([program, *_ASK[name]], capture_output=True, timeout=_PATIENCE, check=False)
        answers = done.returncode == 0 and bool(done.stdout.strip())
    except (OSError, subprocess.TimeoutExpired):
        answers = False
    if not answers:
        _asked[program] = time.monotonic()
    return answers
