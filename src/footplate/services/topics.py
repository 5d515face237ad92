"""Changes that services publish and that the server's long polls wait for. Equal values are one topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunChanged:
    """Anything about a run has changed, its files and logs included."""

    run: str


@dataclass(frozen=True)
class MetricsArrived:
    """A run has more points. Pages follow them; nothing else waits for this topic."""

    run: str


@dataclass(frozen=True)
class RunTurned:
    """A run has reached a turning point, which long waits are about (`run_status.turning_points`)."""

    run: str


@dataclass(frozen=True)
class BuildChanged:
    digest: str


@dataclass(frozen=True)
class StacksAnswered:
    run: str


@dataclass(frozen=True)
class EndpointChanged:
    workspace: str
    name: str


@dataclass(frozen=True)
class Anything:
    """All changes."""


Topic = Anything | RunChanged | MetricsArrived | RunTurned | BuildChanged | StacksAnswered | EndpointChanged
Publish = Callable[[Topic], None]
