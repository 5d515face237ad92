"""Values of experiment tracking that arrive by other ways than journals: points of metrics, and searches for runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

STATUSES = {"Completed": "FINISHED", "Failed": "FAILED", "Canceled": "KILLED"}
ACTIVE_STATUSES = ("Running", "Finalizing", "CancelRequested")
"""How MLflow names the statuses of runs that have ended, and which others it calls RUNNING; the rest is SCHEDULED."""

NAME, PARENT, NOTE = "mlflow.runName", "mlflow.parentRunId", "mlflow.note.content"
"""Tags that are fields of a run: its name, parent and description."""

LOCATION = "footplate.artifactLocation"
"""The tag of an experiment whose creator chose where artifacts are stored. MLflow's clients do not see it."""

MODEL_HOST = "mlflow.model"
"""The type of a run that only keeps the files of a model which no run has made."""


def status_word(status: str) -> str:
    """Return the name that MLflow has for a status."""
    return STATUSES.get(status) or ("RUNNING" if status in ACTIVE_STATUSES else "SCHEDULED")


class NewPoint(NamedTuple):
    """One value of a metric. `time` is in seconds since the epoch."""

    name: str
    value: float
    time: float
    step: Optional[float] = None


class LastPoint(NamedTuple):
    """The last value of a metric."""

    name: str
    value: float
    time: float
    step: Optional[float]


class RunInput(NamedTuple):
    """A dataset or a model that a run read, or a model that it made (`kind` is dataset, model or output)."""

    kind: str
    name: str
    digest: str = ""
    context: Optional[str] = None
    details: Dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


@dataclass(frozen=True)
class TrackedRun:
    """A run with all that was logged to it, but no curves."""

    id: str
    experiment: str  # its id
    experiment_name: str
    name: str
    created_by: str
    status: str
    started: float
    ended: Optional[float]
    archived: Optional[float]
    parent: Optional[str]
    description: Optional[str]
    tags: Dict[str, Optional[str]]
    parameters: Dict[str, str]
    metrics: List[LastPoint]
    inputs: List[RunInput]
    location: Optional[str] = None  # of its artifacts, if its experiment has one of its own


@dataclass(frozen=True)
class LoggedModel:
    """A model in the sense of MLflow 3: made by a run, or on its own. Its files are those of the run `host`."""

    id: str
    workspace: str
    experiment: str  # its id
    name: str
    created: float
    updated: float
    run: Optional[str] = None
    host: Optional[str] = None
    deleted: Optional[float] = None
    status: str = "PENDING"
    type: str = ""
    tags: Dict[str, str] = field(default_factory=lambda: {})
    parameters: Dict[str, str] = field(default_factory=lambda: {})
    metrics: Tuple[Dict[str, Any], ...] = ()


@dataclass(frozen=True)
class RegisteredModel:
    """The name of a model, which may have no version yet."""

    workspace: str
    name: str
    created: float
    updated: float
    description: Optional[str] = None
    tags: Dict[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Condition:
    """A comparison that a run must satisfy.

    `kind` is metric, parameter, tag, attribute or dataset. `operator` is one of = != < <= > >= LIKE ILIKE IN NOT IN,
    IS NULL and IS NOT NULL; a list of `value` belongs to the operators with IN.
    """

    kind: str
    key: str
    operator: str
    value: Any = None


@dataclass(frozen=True)
class Ordering:
    """A key that runs are sorted by. Runs without a value are last, whatever the direction."""

    kind: str
    key: str
    ascending: bool = True


@dataclass(frozen=True)
class RunSearch:
    """A search for runs of some experiments, by their ids. `archived`: only those that are or are not; None for all."""

    workspace: str
    experiments: Tuple[str, ...]
    conditions: Tuple[Condition, ...] = ()
    order: Tuple[Ordering, ...] = ()
    archived: Optional[bool] = False
    limit: int = 1000
    offset: int = 0
