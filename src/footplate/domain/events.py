"""What happens to a run and what is to be done about it: the events and effects of its life, and the story in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple, Union

from footplate.domain.records import Cause

# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Submitted:
    by: str = ""


@dataclass(frozen=True)
class Locked:
    lock: str
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Waits:
    reason: str
    position: int


@dataclass(frozen=True)
class Admitted:
    """The queue gave the run its nodes."""


@dataclass(frozen=True)
class Launched:
    """The engine has taken the run; `handle` is its own word for the whole group of agents."""

    handle: str


@dataclass(frozen=True)
class Joined:
    node: int
    host: str
    address: str
    info: Dict[str, Any]


@dataclass(frozen=True)
class Prepares:
    node: int
    message: str


@dataclass(frozen=True)
class Equipped:
    """It is decided which GPUs the nodes have for themselves: the UUIDs of each node, in the order of the nodes."""

    gpus: Tuple[Tuple[str, ...], ...]


@dataclass(frozen=True)
class Prepared:
    """A node could start its ranks now, and holds these ports for them."""

    node: int
    ports: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Started:
    node: int


@dataclass(frozen=True)
class Attends:
    """Of a node's ranks only those are left that serve others; they are to be ended when all nodes are this far."""

    node: int


@dataclass(frozen=True)
class RankFailed:
    """A rank has failed, and the node is about to end its others: the other nodes need not wait for that."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class Exited:
    """All ranks of a node have ended; `cause` is None when every one of them ended well."""

    node: int
    cause: Optional[Cause] = None


@dataclass(frozen=True)
class Done:
    """A node has shipped everything and is going."""

    node: int


@dataclass(frozen=True)
class Lost:
    """A node is gone without having said Done."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class Vanished:
    """The agent of a node of several died while its ranks ran. The others cannot go on without it; whoever comes to
    clean up there will say Exited and Done."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class Fails:
    """Something outside the nodes makes the run fail: the lock, the launch, the time limit, the user's own word."""

    cause: Cause


@dataclass(frozen=True)
class CancelAsked:
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Completes:
    """The client ends its interactive run."""


@dataclass(frozen=True)
class Restarted:
    """The run is to be tried again. `attempt` is the number of the new attempt, so that asking twice starts one."""

    attempt: int
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Warned:
    message: str


Event = Union[
    Submitted, Locked, Waits, Admitted, Launched, Joined, Prepares, Equipped, Prepared, Started, Attends, RankFailed,
    Exited, Done, Lost, Vanished, Fails, CancelAsked, Completes, Restarted, Warned,
]  # fmt: skip

# ── Effects ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ResolveLock:
    """Resolve the environment, then answer with Locked or Fails."""


@dataclass(frozen=True)
class Schedule:
    """Look at the queue of the run's target again: a run came, went, or freed its nodes."""


@dataclass(frozen=True)
class Launch:
    """Have the engine start the run's agents, then answer with Launched or Fails."""


@dataclass(frozen=True)
class StopNodes:
    """Have these nodes end their ranks, by force after the grace period. A node that only ships goes on shipping."""

    nodes: Tuple[int, ...]


@dataclass(frozen=True)
class Conclude:
    """The run is over: nothing more will happen to it."""


@dataclass(frozen=True)
class NextAttempt:
    """An attempt is over and another one begins. The engine's word for the old one's agents is kept until the end."""

    handle: Optional[str]


@dataclass(frozen=True)
class FreeGpus:
    """GPUs are free again: whoever waits for some is to look."""


Effect = Union[ResolveLock, Schedule, Launch, StopNodes, Conclude, NextAttempt, FreeGpus]

# ── The story, in words ───────────────────────────────────────────────────────────────────────────────────────────────


def tell(event: Event) -> str:
    """One sentence for the run's story."""
    node = f"node {getattr(event, 'node', 0)}"
    sentences: Dict[type, Callable[[Any], str]] = {
        Submitted: lambda e: "submitted" + (f" by {e.by}" if e.by else ""),
        Locked: lambda e: f"environment resolved ({e.lock[:12]})",
        Waits: lambda e: f"waits in position {e.position}: {e.reason}",
        Admitted: lambda e: "got its nodes",
        Launched: lambda e: "the engine started its agents",
        Joined: lambda e: f"{node}: agent on {e.host} reported",
        Prepares: lambda e: f"{node}: {e.message}",
        Equipped: lambda e: "GPUs: " + (", ".join(uuid for gpus in e.gpus for uuid in gpus) or "none"),
        Prepared: lambda e: f"{node}: ready to start",
        Started: lambda e: f"{node}: the script runs",
        Attends: lambda e: f"{node}: its workers are done, what serves others stays",
        RankFailed: lambda e: f"{node}: {e.cause.message}",
        Exited: lambda e: f"{node}: " + (e.cause.message if e.cause else "all processes ended well"),
        Done: lambda e: f"{node}: everything is stored",
        Lost: lambda e: f"{node}: {e.cause.message}",
        Vanished: lambda e: f"{node}: {e.cause.message}",
        Fails: lambda e: e.cause.message,
        CancelAsked: lambda e: f"cancel asked by {e.by or 'the user'}" + (f": {e.reason}" if e.reason else ""),
        Completes: lambda e: "completed by its client",
        Restarted: lambda e: f"restart asked by {e.by or 'the user'}" + (f": {e.reason}" if e.reason else ""),
        Warned: lambda e: f"warning: {e.message}",
    }
    return sentences[type(event)](event)
