"""Where the processes of a run are: the Python stacks of each of their threads, as an agent sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

SIGNAL = 50
"""Asks a process that was started by the bootstrap for its stacks: a real-time signal, which hardly anybody uses."""


@dataclass(frozen=True)
class StackFrame:
    function: str
    file: str
    line: int


@dataclass(frozen=True)
class ThreadStack:
    """`frames`: the innermost, where the thread is now, comes last."""

    id: str
    name: Optional[str] = None
    frames: Tuple[StackFrame, ...] = ()


@dataclass(frozen=True)
class ProcessStacks:
    """One process of a run. `source` tells who looked, py-spy or faulthandler; without one, `note` tells why nobody."""

    node: int
    pid: int
    parent: int
    command: str
    rank: Optional[int] = None
    source: Optional[str] = None
    note: Optional[str] = None
    threads: Tuple[ThreadStack, ...] = ()


@dataclass(frozen=True)
class RunStacks:
    """What the nodes have answered so far; `missing` are those that have not."""

    run: str
    missing: Tuple[int, ...] = ()
    processes: Tuple[ProcessStacks, ...] = ()
