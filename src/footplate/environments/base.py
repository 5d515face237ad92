"""The environment builder protocol. The server locks (resolves once); the node builds from the lock (once)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec


@dataclass(frozen=True)
class Interpreter:
    """What a rank is started with: argv of the interpreter, and variables that the environment brings."""

    argv: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict[str, str])


class Builder(Protocol):
    name: str

    def lock(self, spec: EnvironmentSpec, say: Callable[[str], None]) -> Lock:
        """Resolve. Same content gives the same digest. Raises InvalidInput with the resolver's own words."""
        ...

    def build(self, lock: Lock, root: Path, say: Callable[[str], None]) -> Interpreter:
        """The interpreter for this lock, built under `root` if it is not there yet.

        Atomic and built once however many processes ask at the same time; `say` gets each line of the build log.
        """
        ...
