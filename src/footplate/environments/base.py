"""The environment builder protocol: the server locks (resolves once), the node builds from the lock (once)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Protocol

from footplate.domain.orders import Lock
from footplate.domain.values import Value, field
from footplate.environments.url_credentials import NO_LOGINS, Logins

if TYPE_CHECKING:  # an agent starts sooner without it
    from footplate.domain.node_kinds import NodeKind
    from footplate.domain.specs import EnvironmentSpec

Say = Callable[[str], None]
"""Takes one line of a log as soon as it is known."""

OLDEST = (3, 8)
"""The oldest Python that jobs may have."""


class ResolverSettings(Value):
    """Where environments are kept, and the rules for resolving them.

    `interpreters`: `nearest` replaces a missing Python by the nearest one that the requirements admit, with a warning;
    `exact` refuses instead. `conda`: `solve` takes the packages of a conda file from its channels, `map` takes them
    from PyPI, `auto` solves where that is possible. `containers`: `use` them where an engine works, and warn where
    none does; `require` one; `ignore` them. `image` serves runs that want a container and name no image; `{python}` in
    it becomes the requested version. `cpu_builds` replaces packages for GPUs by those for CPUs. `logins` open the
    channels and indexes that specs name by their bare addresses. `indexes`: addresses that specs may name
    (`index_policy`). `torch_cpu_index`: the index of torch's CPU builds, for `cpu_builds`; empty for none. `node`: the
    kind of node that will run the environment (`machine`); None for this machine.
    """

    root: Path
    interpreters: str = "nearest"
    conda: str = "auto"
    containers: str = "use"
    image: str = "docker.io/library/python:{python}-slim"
    logins: Logins = NO_LOGINS
    cpu_builds: bool = False
    indexes: tuple[str, ...] = ("any",)
    torch_cpu_index: str = ""
    node: Optional[NodeKind] = None


class BuildContext(Value):
    """One build: where environments are kept, its log, its logins, and the file lock that its programs inherit.

    A program that inherits the lock holds it until it ends, so nobody builds in the same place after we were killed.
    """

    root: Path
    say: Say
    lock_fd: int
    logins: Logins = NO_LOGINS


class Container(Value):
    """The container that each rank runs in.

    `python` is a path inside it, `options` are arguments for the engine's `run`, and `mounts` are directories of this
    machine that the container sees read-only under the same path.
    """

    engine: str  # podman or docker
    program: str  # its path
    image: str  # an id, which never names another image later
    python: str
    shm_size: str
    options: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()


class Interpreter(Value):
    """The command that starts a rank's Python, and the variables that the environment sets.

    With a `container`, each rank starts in a container of its own; `argv` is then a wrapper that starts one. `programs`
    are directories of programs that are used where nothing else on the search path provides them.
    """

    argv: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=lambda: {})
    container: Container | None = None
    programs: tuple[str, ...] = ()


class Builder(Protocol):
    name: str

    def lock(self, spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
        """Resolve the spec. The same content gives the same digest. Raises InvalidInput with the resolver's message.

        This method always resolves; `environments.resolve` does so once per content.
        """
        ...

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        """Return the interpreter of this lock, built under `root` if it is not there yet.

        The build is atomic and happens once, however many processes call this at the same time; `say` receives the
        build log. `logins` open the channels and indexes that the lock names; neither the environment nor the log
        contains them.
        """
        ...


def without_prefix(text: str, prefix: str) -> str:
    """Do what `str.removeprefix` does since Python 3.9."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def make_lock(builder: str, content: dict[str, Any], warnings: tuple[str, ...] = ()) -> Lock:
    """Return the lock of this content. Warnings tell how it was found, so they are not part of the digest."""
    digest = hashlib.sha256(json.dumps([builder, content], sort_keys=True).encode()).hexdigest()
    return Lock(digest, builder, content, warnings)
