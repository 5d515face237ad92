"""What the handler of a request knows, and lookups that many handlers need."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from footplate.domain.records import ExperimentView
from footplate.domain.runs.tracking import TrackedRun
from footplate.errors import NotFound
from footplate.server.auth import Principal
from footplate.server.authorization import author_of
from footplate.server.mlflow.errors import MlflowError, missing
from footplate.server.mlflow.names import check_run_id
from footplate.services import Services
from footplate.services.tracking.tracking_service import Author

Json = dict[str, Any]
DEFAULT, DEFAULT_ID = "Default", "0"
"""The experiment that MLflow's clients use unless they choose one, and the id by which they know it."""


@dataclass(frozen=True)
class Call:
    """One request to a workspace."""

    services: Services
    workspace: str
    fields: Mapping[str, Any]
    principal: Principal
    origin: str = ""  # the address of this server, as the client knows it
    is_root: bool = False  # the address names no workspace, so that a header selects one

    def author(self, user: str = "") -> Author:
        """Return the author of what this request creates. With the token of the server, a client names its user."""
        maker = author_of(self.principal, self.services)
        return Author(user if self.principal.is_owner and user else maker.created_by, self.principal.run, maker.person)

    def text(self, name: str) -> str:
        return self.fields.get(name) or ""

    def items(self, name: str) -> list[Any]:
        return self.fields.get(name) or []

    def experiment(self, id: str) -> ExperimentView:
        """Return an experiment of this workspace; "0" is the default one, which is created when somebody needs it."""
        if id == DEFAULT_ID:
            return self.services.tracking.ensure_experiment(self.workspace, DEFAULT)
        try:
            view = self.services.store.experiments.get(id)
        except NotFound:
            view = None
        if view is None or view.workspace != self.workspace:
            raise missing(f"No Experiment with id={id} exists")
        return view

    def active_experiment(self, id: str) -> ExperimentView:
        view = self.experiment(id)
        if view.archived is not None:
            raise MlflowError(
                f"The experiment {experiment_id(view.id, view.name)} must be in the 'active' state. "
                "Current state is deleted."
            )
        return view

    def run(self, id: str) -> TrackedRun:
        try:
            return self.services.tracking.get(self.workspace, check_run_id(id))
        except NotFound:
            raise missing(f"Run with id={id} not found") from None

    def check_run(self, id: str, active: bool = True) -> None:
        """Raise unless the run is in this workspace and, if required, not deleted. Cheaper than reading all of it."""
        try:
            workspace, archived = self.services.store.tracked_runs.place(check_run_id(id))
        except NotFound:
            workspace, archived = None, None
        if workspace != self.workspace:
            raise missing(f"Run with id={id} not found")
        if active and archived is not None:
            raise MlflowError(f"The run {id} must be in the 'active' state. Current state is deleted.")


def experiment_id(id: str, name: str) -> str:
    """Return the id by which MLflow knows an experiment."""
    return DEFAULT_ID if name == DEFAULT else id


def seconds(milliseconds: Any) -> float:
    return int(milliseconds) / 1000


def milliseconds(time: float | None) -> int | None:
    return None if time is None else round(time * 1000)


def pairs(items: Any) -> dict[str, str]:
    """Return a list of keys and values as a dictionary; the last value of a key counts."""
    return {str(item["key"]): str(item.get("value") or "") for item in items or ()}


def as_pairs(values: Mapping[str, Any]) -> list[Json]:
    return [{"key": key, "value": "" if value is None else str(value)} for key, value in values.items()]


def json_number(value: float) -> float | str:
    """Return a number for JSON, where NaN and the infinities are words."""
    if math.isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def compact(values: Mapping[str, Any]) -> Json:
    """Return the fields that are neither null nor an empty list, as MLflow leaves both out."""
    return {key: value for key, value in values.items() if value is not None and value != []}
