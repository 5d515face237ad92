"""The kind of a node: everything about a machine that decides which packages can be installed there.

An environment is resolved for the kind of node that will run it. The server looks at its own machine itself; of nodes
on other machines it keeps, for each compute target and request, the kind that an agent there described last.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping, Optional, Tuple

from footplate.domain.values import Value, field
from footplate.errors import InvalidInput

KIND = "kind"
"""The key in a node's info under which its agent describes it at length."""

NODE = "node"
"""The key of a lock's content that holds the kind of node that the lock was made for, as `summarize` returns it."""

_WORD = re.compile(r"[A-Za-z0-9_]{1,32}")
_NUMBERS = re.compile(r"\d{1,4}(\.\d{1,4}){1,2}")


class NodeKind(Value):
    """The kind of one node. `gpu` counts only GPUs that the run may use there.

    `libc` is the version of the GNU C library, empty for another library. `cuda` is the newest version of CUDA that the
    driver supports. `containers` is the engine that answers: podman, docker or empty. `pythons` are its interpreters,
    path → version; `fetches_pythons` tells whether uv can download others there.
    """

    machine: str
    libc: str = ""
    gpu: bool = False
    cuda: str = ""
    mpi: bool = False
    containers: str = ""
    pythons: Dict[str, str] = field(default_factory=lambda: {})
    fetches_pythons: bool = False

    def check(self) -> NodeKind:
        """Return this kind. Raises InvalidInput for a value that no machine has: it comes from another machine."""
        versions = [version for version in (self.libc, self.cuda, *self.pythons.values()) if version]
        wrong = [each for each in versions if not _NUMBERS.fullmatch(each)]
        wrong += [each for each in (self.machine, self.containers or "none") if not _WORD.fullmatch(each)]
        if wrong:
            raise InvalidInput(f"a node describes itself with {wrong[0]!r}", "send versions such as 2.36 and 3.11.4")
        return self


class KnownKind(Value):
    """The kind of the nodes that a target has given for one kind of request. `run` saw them, at `seen`."""

    request: str
    kind: NodeKind
    run: str
    seen: float


def request_of(has_gpus: bool, options: Mapping[str, Any]) -> str:
    """Return what a run requests of its target, as a key: GPUs or none, and options that override the target's."""
    overrides = [f"{name}={json.dumps(value, sort_keys=True)}" for name, value in sorted(options.items())]
    return " ".join([*(["GPUs"] if has_gpus else []), *overrides])


def with_kind(kinds: Tuple[KnownKind, ...], new: KnownKind, most: int = 20) -> Tuple[KnownKind, ...]:
    """Return the kinds with a new one, which replaces an older one of the same request; the latest comes last."""
    return (*without_request(kinds, new.request), new)[-most:]


def without_request(kinds: Tuple[KnownKind, ...], request: str) -> Tuple[KnownKind, ...]:
    return tuple(each for each in kinds if each.request != request)


def kind_for(kinds: Tuple[KnownKind, ...], request: str) -> Optional[NodeKind]:
    return next((each.kind for each in kinds if each.request == request), None)


def summarize(kind: NodeKind) -> Dict[str, Any]:
    """Return the part of a kind that tells on which nodes a built environment works."""
    return {"machine": kind.machine, "libc": kind.libc, "gpu": kind.gpu}


def describe(summary: Mapping[str, Any]) -> str:
    """Return a summary in words, such as `x86_64, glibc 2.36, with GPUs`."""
    libc = f"glibc {summary['libc']}" if summary.get("libc") else "another C library than glibc"
    return f"{summary.get('machine')}, {libc}, {'with' if summary.get('gpu') else 'without'} GPUs"
