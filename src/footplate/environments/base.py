"""The environment builder protocol. The server locks (resolves once); the node builds from the lock (once)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.url_credentials import NONE, Logins

Say = Callable[[str], None]
"""Takes one line of a log, as it comes."""


@dataclass(frozen=True)
class Workshop:
    """Where environments are made, and by which rules.

    `interpreters`: `nearest` takes the nearest Python that the requirements admit, with a warning, when the one asked
    for is not to be had; `exact` refuses instead. `conda`: `solve` takes the packages of a conda file from its
    channels, `map` takes them from PyPI, `auto` solves where that is possible.
    `containers`: `use` them where there is an engine, and say so where there is none; `require` one; `ignore` them.
    `image` is the one for who asks for a container and names none; `{python}` in it is the version asked for.
    `logins` open the channels and indexes that specs name by their bare addresses.
    """

    root: Path
    interpreters: str = "nearest"
    conda: str = "auto"
    containers: str = "use"
    image: str = "docker.io/library/python:{python}-slim"
    logins: Logins = NONE


@dataclass(frozen=True)
class Container:
    """What each rank is enclosed in. `python` is a path inside of it; `options` are for the engine's `run`; `lent` are
    folders of this machine that it sees under the same path, to read."""

    engine: str  # podman or docker
    program: str  # its path
    image: str  # by id: never another one of the same name
    python: str
    shm_size: str
    options: tuple[str, ...] = ()
    lent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Interpreter:
    """What a rank is started with: argv of the interpreter, and variables that the environment brings.

    With a `container`, ranks are started in one of their own each; `argv` is then a program that does so for anybody.
    """

    argv: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict[str, str])
    container: Container | None = None


class Builder(Protocol):
    name: str

    def lock(self, spec: EnvironmentSpec, workshop: Workshop, say: Say) -> Lock:
        """Resolve. Same content gives the same digest. Raises InvalidInput with the resolver's own words.

        This one always resolves; `environments.resolve` does so once per content.
        """
        ...

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NONE) -> Interpreter:
        """The interpreter for this lock, built under `root` if it is not there yet.

        Atomic and built once however many processes ask at the same time; `say` gets each line of the build log.
        `logins` open the channels and indexes that the lock names; they are neither in what is built nor in the log.
        """
        ...


def make_lock(builder: str, content: dict[str, Any], warnings: tuple[str, ...] = ()) -> Lock:
    """The lock of this content. Warnings are about how it was found, not about what it is: not part of the digest."""
    digest = hashlib.sha256(json.dumps([builder, content], sort_keys=True).encode()).hexdigest()
    return Lock(digest, builder, content, warnings)
