"""Stack traces of a run's processes, thread by thread, as an agent collects them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

SIGNAL = 50
"""The signal that requests stacks from a process which the bootstrap started: a real-time signal that few programs use.
"""


@dataclass(frozen=True)
class StackFrame:
    function: str
    file: str
    line: int


@dataclass(frozen=True)
class ThreadStack:
    """The stack of a thread. `frames`: the innermost, where the thread is now, comes last."""

    id: str
    name: Optional[str] = None
    frames: Tuple[StackFrame, ...] = ()


@dataclass(frozen=True)
class ProcessStacks:
    """One process of a run. `source`: py-spy or faulthandler; without one, `note` says why there are no stacks."""

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
    """The answers of the nodes so far; `missing` lists nodes that have not answered."""

    run: str
    missing: Tuple[int, ...] = ()
    processes: Tuple[ProcessStacks, ...] = ()
