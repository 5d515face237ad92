"""Runs and experiments in the JSON form of MLflow's REST API."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Iterable, List, Mapping

from footplate.domain.floats import tag_float, untag_float
from footplate.domain.records import ExperimentView, RunView
from footplate.domain.replies import MetricSeries
from footplate.sdk.mlflow import addresses
from footplate.sdk.mlflow.rest import Json, as_pairs, milliseconds, without_nulls

NAME, PARENT, NOTE = "mlflow.runName", "mlflow.parentRunId", "mlflow.note.content"
"""MLflow's tags for the display name, the parent and the description of a run."""

DATASET, OUTPUT, MODEL = "mlflow.dataset.", "mlflow.output.", "mlflow.model."
"""Beginnings of properties and tags that hold what MLflow attaches to a run: datasets it read, and models it made."""

_STATUSES = {"Completed": "FINISHED", "Failed": "FAILED", "Canceled": "KILLED"}
_ACTIVE = ("Running", "Finalizing", "CancelRequested")


def experiment_json(view: ExperimentView, workspace: str) -> Json:
    return {
        "experiment_id": view.id,
        "name": view.name,
        "artifact_location": workspace,
        "lifecycle_stage": "active" if view.archived is None else "deleted",
        "creation_time": milliseconds(view.created),
        "tags": as_pairs(view.tags),
    }


def info_json(view: RunView, workspace: str) -> Json:
    status = _STATUSES.get(view.status) or ("RUNNING" if view.status in _ACTIVE else "SCHEDULED")
    return without_nulls(
        {
            "run_id": view.id,
            "run_uuid": view.id,
            "run_name": view.display_name or view.id,
            "experiment_id": view.experiment_id,
            "user_id": view.created_by,
            "status": status,
            "start_time": milliseconds(view.started or view.created),
            "end_time": milliseconds(view.ended),
            "artifact_uri": addresses.run_address(workspace, view.id),
            "lifecycle_stage": "active" if view.archived is None else "deleted",
        }
    )


def run_json(view: RunView, metrics: Dict[str, Any], workspace: str) -> Json:
    """Return a run; `metrics` are the last values by name. Their history has steps and times."""
    values = [{"key": key, "value": value, "timestamp": 0, "step": 0} for key, value in numbers(metrics).items()]
    data = {"metrics": values, "params": as_pairs(view.parameters), "tags": as_pairs(tags(view))}
    datasets = [json.loads(value) for key, value in view.properties.items() if key.startswith(DATASET)]
    models = [json.loads(value) for key, value in view.properties.items() if key.startswith(OUTPUT)]
    return {
        "info": info_json(view, workspace),
        "data": data,
        "inputs": {"dataset_inputs": datasets},
        "outputs": {"model_outputs": models},
    }


def tags(view: RunView) -> Dict[str, Any]:
    """Return the tags that MLflow shows."""
    own = {key: value for key, value in view.tags.items() if not key.startswith(MODEL)}
    fields = {NAME: view.display_name or view.id, PARENT: view.parent, NOTE: view.description}
    return {**own, **without_nulls(fields)}


def numbers(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the metrics that MLflow can hold, single numbers; NaN and infinities by name, as its JSON has them."""
    values = {key: untag_float(value) for key, value in metrics.items()}
    return {
        key: value if math.isfinite(value) else tag_float(value)["float"]
        for key, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def history_json(name: str, series: Iterable[MetricSeries]) -> List[Json]:
    """Return the values of a metric. The step of a value without one is its position, as in other charts."""
    scalars = [each.points for each in series if each.kind == "scalar" and each.name == name]
    return [
        {"key": name, "value": number, "timestamp": milliseconds(time), "step": at if step is None else int(step)}
        for points in scalars
        for at, (time, step, value) in enumerate(points)
        for number in numbers({name: value}).values()
    ]
