"""The seam between a group and its controller: a pure function that decides what the children of the group do.

`decide(group, children, event, now)` gets the state as it is stored and returns the next decision. The server stores
the decision with the run before it performs any of it, and performs a stored decision again after a crash. Each order
is idempotent: a child has a key, and is submitted once under it. An event is a hint and may repeat or be lost in a
crash; the children and the state are always complete, so a controller decides by those.

A controller that has to remember much keeps `notes`: each decision may add some, the run's story stores them, and every
later decision sees all of them. The cost of a decision then does not grow with the past, as a large state would.

A controller is one class in a package of its own and one row in `services.orchestration.controller_table`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Protocol, Sequence, Tuple, Union

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome
from footplate.domain.specs import ControllerSpec, RunSpec

# ── What a controller sees ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Group:
    """A run of the kind group. `closed`: the client adds no more children. `outcome` is set once it is to end.

    `replicas`: how many children that do the same the server wants; None: as many as the spec says.
    """

    id: str
    controller: ControllerSpec
    state: Dict[str, Any]
    attempt: int = 1
    closed: bool = False
    outcome: Optional[Outcome] = None
    notes: Sequence[Any] = ()
    replicas: Optional[int] = None


@dataclass(frozen=True)
class ChildMetric:
    """A summary of one of the metrics that the controller's spec names."""

    count: int
    last: Optional[float] = None
    min: Optional[float] = None
    max: Optional[float] = None


@dataclass(frozen=True)
class Child:
    """A child of a group. A child that a client added has its run id as key.

    `series` holds the values of the spec's first metric, if the spec has an interval.
    """

    key: str
    id: str
    status: str
    attempt: int = 1
    created: float = 0.0
    started: Optional[float] = None
    ended: Optional[float] = None
    outcome: Optional[Outcome] = None
    metrics: Dict[str, ChildMetric] = field(default_factory=lambda: {})
    series: Tuple[float, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.ended is not None


@dataclass(frozen=True)
class GroupResumed:
    """The group was submitted or restarted, or the server was."""


@dataclass(frozen=True)
class ChildEnded:
    """A child has ended. `logged` names the metrics that it logged."""

    run: str
    logged: Tuple[str, ...] = ()


@dataclass(frozen=True)
class ChildRefused:
    """The server refused to submit this child."""

    key: str
    cause: Cause


@dataclass(frozen=True)
class ChildMetricReported:
    """The first metric of the spec has passed one more interval; `values` are all that the child has logged of it."""

    run: str
    values: Tuple[float, ...]


@dataclass(frozen=True)
class TimeReached:
    """The time has come that the last decision named in `wake_at`."""


@dataclass(frozen=True)
class ScaleRequested:
    """The group's `replicas` has changed."""


@dataclass(frozen=True)
class GroupClosed:
    """The client adds no more children."""


@dataclass(frozen=True)
class GroupCancelRequested:
    """The group is to end. Its children are canceled, whatever the controller decides."""


ControllerEvent = Union[
    GroupResumed, ChildEnded, ChildRefused, ChildMetricReported, TimeReached, ScaleRequested, GroupClosed,
    GroupCancelRequested,
]  # fmt: skip


# ── What a controller decides ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SubmitChild:
    """Submit a child under a key. The server sets its parent; its id is `<group>_<key>`."""

    key: str
    spec: RunSpec


@dataclass(frozen=True)
class CancelChild:
    key: str
    reason: str


@dataclass(frozen=True)
class RestartChild:
    """Begin another attempt of a child that has ended; `attempt` is the number of the new attempt."""

    key: str
    attempt: int


@dataclass(frozen=True)
class GroupDecision:
    """The new state and the orders. With `end`, children that still run are canceled, and the group ends after them.

    `notes` are added to those of the group. `log` holds lines for people: they go to the story and to the group's log.
    """

    state: Dict[str, Any] = field(default_factory=lambda: {})
    submit: Tuple[SubmitChild, ...] = ()
    cancel: Tuple[CancelChild, ...] = ()
    restart: Tuple[RestartChild, ...] = ()
    end: Optional[Outcome] = None
    wake_at: Optional[float] = None
    notes: Tuple[Any, ...] = ()
    log: Tuple[str, ...] = ()

    @property
    def has_orders(self) -> bool:
        return bool(self.submit or self.cancel or self.restart)


@dataclass(frozen=True)
class GroupState:
    """The part of a group's record that belongs to its controller: `RunRecord.group`, decoded."""

    decision: GroupDecision = GroupDecision()
    closed: bool = False
    replicas: Optional[int] = None


class Controller(Protocol):
    def check(self, spec: ControllerSpec) -> None:
        """Raise InvalidInput, naming the option, for a spec that this controller cannot work with."""
        ...

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        """Return the next decision. Pure: no clock, no files, no network. It may be slow."""
        ...


def child_id(group: str, key: str) -> str:
    return f"{group}_{key}"


def child_key(group: str, run: str) -> str:
    prefix = child_id(group, "")
    return run[len(prefix) :] if run.startswith(prefix) else run
