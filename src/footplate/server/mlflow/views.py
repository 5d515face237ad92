"""Experiments and runs as MLflow's JSON."""

from __future__ import annotations

from footplate.domain.records import ExperimentView
from footplate.domain.runs import tracking
from footplate.domain.runs.tracking import RunInput, TrackedRun, status_word
from footplate.server.mlflow.call import Json, as_pairs, compact, experiment_id, json_number, milliseconds


def experiment_json(view: ExperimentView) -> Json:
    id = experiment_id(view.id, view.name)
    fields = {
        "experiment_id": id,
        "name": view.name,
        "artifact_location": view.tags.get(tracking.LOCATION) or f"mlflow-artifacts:/{id}",
        "lifecycle_stage": stage(view.archived),
        "creation_time": milliseconds(view.created),
        "last_update_time": milliseconds(view.updated or view.created),
        "tags": as_pairs({key: value for key, value in view.tags.items() if key != tracking.LOCATION}),
    }
    return compact(fields)


def run_json(run: TrackedRun) -> Json:
    data = {
        "metrics": [
            {"key": name, "value": json_number(value), "timestamp": milliseconds(time), "step": int(step or 0)}
            for name, value, time, step in run.metrics
        ],
        "params": as_pairs(run.parameters),
        "tags": as_pairs(tags_of(run)),
    }
    outputs = [{"model_id": each.name, "step": each.details.get("step", 0)} for each in _of_kind(run, "output")]
    inputs = {
        "dataset_inputs": [dataset_input_json(each) for each in _of_kind(run, "dataset")],
        "model_inputs": [{"model_id": each.name} for each in _of_kind(run, "model")],
    }
    view: Json = {"info": info_json(run), "data": compact(data)}
    return {**view, "inputs": compact(inputs), "outputs": compact({"model_outputs": outputs})}


def info_json(run: TrackedRun) -> Json:
    return compact(
        {
            "run_id": run.id,
            "run_uuid": run.id,
            "run_name": run.name,
            "experiment_id": experiment_id(run.experiment, run.experiment_name),
            "user_id": run.created_by,
            "status": status_word(run.status),
            "start_time": milliseconds(run.started),
            "end_time": milliseconds(run.ended),
            "artifact_uri": artifact_uri(run),
            "lifecycle_stage": stage(run.archived),
        }
    )


def artifact_uri(run: TrackedRun) -> str:
    root = run.location or f"mlflow-artifacts:/{experiment_id(run.experiment, run.experiment_name)}"
    return f"{root.rstrip('/')}/{run.id}/artifacts"


def tags_of(run: TrackedRun) -> Json:
    fields = {tracking.NAME: run.name, tracking.PARENT: run.parent, tracking.NOTE: run.description}
    return {**run.tags, **compact(fields)}


def dataset_input_json(item: RunInput) -> Json:
    dataset = {"name": item.name, "digest": item.digest, **item.details["dataset"]}
    return {"tags": item.details["tags"], "dataset": dataset}


def stage(archived: float | None) -> str:
    return "active" if archived is None else "deleted"


def _of_kind(run: TrackedRun, kind: str) -> list[RunInput]:
    return [each for each in run.inputs if each.kind == kind]
