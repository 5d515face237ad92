"""Conda packages for a container: solved for its C library, built on this machine, mounted under the same path.

Containers thus share files with other conda environments, the image stays the one that was named, and it needs no
Python. The prefix is an environment like any other, with its own lock.
"""

from __future__ import annotations

import os
from pathlib import Path

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import conda
from footplate.environments.base import Interpreter, ResolverSettings, Say, make_lock
from footplate.environments.containers.container_engine import ContainerEngine, Image
from footplate.environments.url_credentials import Logins
from footplate.errors import InvalidInput

CONTAINER_KEYS = ("base", "start")
"""The parts of a container's lock besides the lock of its conda packages."""

# Works in any image that has a Python, or one of the programs of the GNU C library.
_ASK_LIBC = """
getconf GNU_LIBC_VERSION 2>/dev/null ||
{ python3 || python; } 2>/dev/null <<'.'
import os
print(os.confstr("CS_GNU_LIBC_VERSION"))
.
"""


def lock(
    spec: EnvironmentSpec, engine: ContainerEngine, image: Image, settings: ResolverSettings, say: Say
) -> tuple[Lock | None, str | None]:
    """Lock the packages from their channels; or return None, and why they are mapped to PyPI instead."""
    reason = conda.why_mapped(spec, settings)
    if reason is not None:
        return None, reason
    return conda.solve(spec, settings, say, _older_libc(engine, image)), None


def build(lock: Lock, root: Path, say: Say, logins: Logins) -> Interpreter | None:
    """Return the prefix that containers of this lock mount; None if the image contains the packages."""
    if "packages" not in lock.content:
        return None
    content = {name: value for name, value in lock.content.items() if name not in CONTAINER_KEYS}
    return conda.CondaBuilder().build(make_lock(conda.CondaBuilder.name, content), root, say, logins)


def options(prefix: str) -> list[str]:
    """Return the engine's arguments that mount the prefix read-only."""
    return ["--volume", f"{prefix}:{prefix}:ro"]


def check(engine: ContainerEngine, image: Image, python: str) -> None:
    """Raise InvalidInput if the prefix's Python does not run in the image, as with another kind of C library."""
    lending = options(os.path.dirname(os.path.dirname(python)))
    answer = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", *lending, image.id, python, "-c", "")
    if answer is None:
        raise InvalidInput(
            f"the Python of the conda packages does not run in the image {image.id[:19]}",
            "choose an image with the GNU C library (Debian, Ubuntu, Fedora), or one that has the packages already",
        )


def path_inside(image: Image, prefix: str) -> str:
    """Return the image's search path with the prefix in front."""
    return os.pathsep.join([os.path.join(prefix, "bin"), image.variable("PATH") or os.defpath])


def _older_libc(engine: ContainerEngine, image: Image) -> str | None:
    """Return the version of the image's C library if it is older than this machine's."""
    answer = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", image.id, "/bin/sh", "-c", _ASK_LIBC)
    inside = _version(answer or "")
    own = _version(os.confstr("CS_GNU_LIBC_VERSION") or "")
    return ".".join(map(str, inside)) if inside and own and inside < own else None


def _version(answer: str) -> tuple[int, ...]:
    words = answer.split()
    parts = words[-1].split(".") if words[:1] == ["glibc"] else []
    return tuple(int(part) for part in parts if part.isdigit())
