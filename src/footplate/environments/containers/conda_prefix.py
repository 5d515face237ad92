"""Conda packages for a container: solved for the C library inside, built on this machine, lent under the same path.

So containers share what conda environments share, hard links to one cache included, the image stays the one that was
named, and it needs no Python of its own. What is built is an environment like any other, with a lock of its own.
"""

from __future__ import annotations

import os
from pathlib import Path

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import conda
from footplate.environments.base import Interpreter, ResolverSettings, Say, make_lock
from footplate.environments.containers.container_engine import ContainerEngine, Image
from footplate.environments.url_credentials import Logins
from footplate.errors import InvalidInput

CONTAINER_KEYS = ("base", "start")
"""What a container's lock holds beside the lock of its conda packages."""

# In any image that has a Python, or one of the programs that come with the GNU C library.
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
    """The lock of the packages from their channels; or None, and why they are mapped to PyPI instead."""
    reason = conda.why_mapped(spec, settings)
    if reason is not None:
        return None, reason
    return conda.solve(spec, settings, say, _older_libc(engine, image)), None


def build(lock: Lock, root: Path, say: Say, logins: Logins) -> Interpreter | None:
    """What is lent to containers of this lock; None when the packages, if any, are in their image."""
    if "packages" not in lock.content:
        return None
    content = {name: value for name, value in lock.content.items() if name not in CONTAINER_KEYS}
    return conda.CondaBuilder().build(make_lock(conda.CondaBuilder.name, content), root, say, logins)


def options(prefix: str) -> list[str]:
    """For the engine's `run`: the prefix, to read."""
    return ["--volume", f"{prefix}:{prefix}:ro"]


def check(engine: ContainerEngine, image: Image, python: str) -> None:
    """Whether the Python that is lent runs inside, which a C library of another kind prevents."""
    lending = options(os.path.dirname(os.path.dirname(python)))
    told = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", *lending, image.id, python, "-c", "")
    if told is None:
        raise InvalidInput(
            f"the Python of the conda packages does not run in the image {image.id[:19]}",
            "choose an image with the GNU C library (Debian, Ubuntu, Fedora), or one that has the packages already",
        )


def path_inside(image: Image, prefix: str) -> str:
    """The image's own search path with the prefix before it."""
    return os.pathsep.join([os.path.join(prefix, "bin"), image.variable("PATH") or os.defpath])


def _older_libc(engine: ContainerEngine, image: Image) -> str | None:
    """The version of the C library inside when it is older than this machine's, for which all else is chosen."""
    told = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", image.id, "/bin/sh", "-c", _ASK_LIBC)
    inside, own = _version(told or ""), _version(os.confstr("CS_GNU_LIBC_VERSION") or "")
    return ".".join(map(str, inside)) if inside and own and inside < own else None


def _version(told: str) -> tuple[int, ...]:
    words = told.split()
    parts = words[-1].split(".") if words[:1] == ["glibc"] else []
    return tuple(int(part) for part in parts if part.isdigit())
