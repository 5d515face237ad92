"""Handlers of logged models: what `log_model` of MLflow 3 stores, before and after somebody registers it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from footplate.domain.runs.tracking import Condition, LoggedModel
from footplate.errors import NotFound
from footplate.server.mlflow import grammar, names
from footplate.server.mlflow.call import Call, Json, as_pairs, experiment_id, json_number, milliseconds, pairs
from footplate.server.mlflow.errors import MlflowError, missing
from footplate.server.mlflow.experiments import page
from footplate.server.mlflow.fields import number
from footplate.server.mlflow.memory_search import compare

_STATUSES = {1: "PENDING", 2: "READY", 3: "UPLOAD_FAILED"}
_VERSIONS = "mlflow.modelVersions"
_PREFIX = "LOGGED_MODEL_"


def create(call: Call) -> Json:
    experiment = call.active_experiment(call.text("experiment_id"))
    run = call.text("source_run_id") or None
    name = call.text("name") or names.random_name()
    _check_name(name)
    now = time.time()
    model = LoggedModel(
        f"m-{secrets.token_hex(16)}", call.workspace, experiment.id, name, now, now, run=run, host=run,
        type=call.text("model_type"), tags=pairs(call.items("tags")), parameters=pairs(call.items("params")),
    )  # fmt: skip
    if run is not None:
        call.check_run(run, active=False)
    call.services.store.logged_models.add(model)
    return {"model": model_json(call, model)}


def _check_name(name: str) -> None:
    if any(letter in name for letter in "/:.%\"'"):
        raise MlflowError(
            f"Invalid model name ({name!r}) provided. Model name must be a non-empty string and cannot contain the "
            "following characters: ('/', ':', '.', '%', '\"', \"'\")"
        )


def get(call: Call) -> Json:
    deleted = str(call.fields.get("allow_deleted", "false")).lower() == "true"
    return {"model": model_json(call, find(call, call.text("model_id"), deleted))}


def find(call: Call, id: str, deleted: bool = False) -> LoggedModel:
    try:
        return call.services.store.logged_models.get(call.workspace, id, deleted)
    except NotFound:
        raise missing(f"Logged model with ID '{id}' not found.") from None


def finalize(call: Call) -> Json:
    status = call.fields["status"]
    word = _STATUSES.get(int(status)) if str(status).isdigit() else str(status).removeprefix(_PREFIX)
    if word not in _STATUSES.values():
        raise names.invalid_value("status", status)
    model = _change(call, lambda model: replace(model, status=word, updated=time.time()))
    return {"model": model_json(call, model)}


def delete(call: Call) -> Json:
    now = time.time()
    _change(call, lambda model: replace(model, deleted=now, updated=now))
    return {}


def set_tags(call: Call) -> Json:
    new = pairs(call.items("tags"))
    model = _change(call, lambda model: replace(model, tags={**model.tags, **new}))
    return {"model": model_json(call, model)}


def delete_tag(call: Call) -> Json:
    key = call.text("tag_key")

    def remove(model: LoggedModel) -> LoggedModel:
        if key not in model.tags:
            raise missing(f"No tag with key {key!r} found for model with ID {model.id!r}.")
        return replace(model, tags={name: value for name, value in model.tags.items() if name != key})

    _change(call, remove)
    return {}


def log_parameters(call: Call) -> Json:
    new = pairs(call.items("params"))
    _change(call, lambda model: replace(model, parameters={**model.parameters, **new}))
    return {}


def _change(call: Call, change: Callable[[LoggedModel], LoggedModel]) -> LoggedModel:
    id = call.text("model_id")
    try:
        return call.services.store.logged_models.change(call.workspace, id, change)
    except NotFound:
        raise missing(f"Logged model with ID '{id}' not found.") from None


def add_metrics(call: Call, run: str, metrics: Sequence[Mapping[str, Any]]) -> None:
    """Add to models the points that name them. A repeated point is stored once."""
    by_model: dict[str, list[Json]] = {}
    for metric in metrics:
        if metric.get("model_id"):
            keys = ("dataset_name", "dataset_digest")
            point = {"key": metric["key"], "value": json_number(number(metric["value"]) or 0.0), "run_id": run}
            point |= {"timestamp": int(metric["timestamp"]), "step": int(metric.get("step") or 0)}
            point |= {key: metric[key] for key in keys if metric.get(key)}
            by_model.setdefault(metric["model_id"], []).append(point)
    for id, points in by_model.items():
        find(call, id)
        call.services.store.logged_models.change(call.workspace, id, lambda model, new=points: _with_points(model, new))


def _with_points(model: LoggedModel, points: list[Json]) -> LoggedModel:
    fresh = [point for point in points if point not in model.metrics]
    return replace(model, metrics=(*model.metrics, *fresh))


# ── Search ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def search(call: Call) -> Json:
    datasets = call.items("datasets")
    if not all(dataset.get("dataset_name") for dataset in datasets):
        raise MlflowError("`dataset_name` in the `datasets` clause must be specified.")
    conditions = grammar.parse_filter(call.text("filter"), grammar.LOGGED_MODELS)
    offset = grammar.parse_page_token(call.text("page_token"))
    most = int(call.fields.get("max_results") or 100)
    ids = [call.experiment(id).id for id in call.items("experiment_ids")]
    models = call.services.store.logged_models.list(call.workspace, ids)
    models = [model for model in models if _matches(model, conditions, datasets)]
    for order in reversed(call.items("order_by")):
        models = _sorted(models, order)
    some = [model_json(call, model) for model in models[offset : offset + most]]
    return page("models", some, offset, len(models))


def _matches(model: LoggedModel, conditions: Sequence[Condition], datasets: list[Json]) -> bool:
    metrics = [metric for metric in model.metrics if _is_on(metric, datasets)]
    if datasets and not metrics:
        return False
    fields = {"parameter": model.parameters, "tag": model.tags, "attribute": _attributes(model)}
    for condition in conditions:
        if condition.kind == "metric":
            values = [metric["value"] for metric in metrics if metric["key"] == condition.key]
            if not any(compare(float(value), condition) for value in values):
                return False
        elif not compare(fields[condition.kind].get(condition.key), condition):
            return False
    return True


def _is_on(metric: Json, datasets: list[Json]) -> bool:
    return not datasets or any(
        metric.get("dataset_name") == dataset["dataset_name"]
        and (not dataset.get("dataset_digest") or metric.get("dataset_digest") == dataset["dataset_digest"])
        for dataset in datasets
    )


def _sorted(models: list[LoggedModel], order: Json) -> list[LoggedModel]:
    name = str(order.get("field_name") or "")
    entity, dot, key = name.partition(".")
    if dot and entity != "metrics":
        raise MlflowError(f"Invalid order by field name: {name}. Only metrics are supported.")
    renamed = grammar.LOGGED_MODELS.renamed.get(name, name)
    if not dot and renamed not in grammar.LOGGED_MODELS.order:
        raise MlflowError(f"Invalid order by field name: {name}")
    datasets = [order] if order.get("dataset_name") else []

    def value(model: LoggedModel) -> Any:
        if not dot:
            return _attributes(model).get(renamed)
        points = [metric for metric in model.metrics if metric["key"] == key and _is_on(metric, datasets)]
        latest = max(points, key=lambda point: (point["timestamp"], point["step"]), default=None)
        return None if latest is None else float(latest["value"])

    with_value = [model for model in models if value(model) is not None]
    with_value.sort(key=value, reverse=not order.get("ascending", True))
    return [*with_value, *(model for model in models if value(model) is None)]


def _attributes(model: LoggedModel) -> Json:
    return {
        "name": model.name, "model_id": model.id, "model_type": model.type or None, "status": model.status,
        "source_run_id": model.run, "creation_timestamp": milliseconds(model.created),
        "last_updated_timestamp": milliseconds(model.updated),
    }  # fmt: skip


# ── Form ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def artifact_uri(call: Call, model: LoggedModel) -> str:
    experiment = call.services.store.experiments.get(model.experiment)
    return f"mlflow-artifacts:/{experiment_id(experiment.id, experiment.name)}/models/{model.id}/artifacts"


def model_json(call: Call, model: LoggedModel) -> Json:
    experiment = call.services.store.experiments.get(model.experiment)
    info: Json = {
        "model_id": model.id,
        "experiment_id": experiment_id(experiment.id, experiment.name),
        "name": model.name,
        "creation_timestamp_ms": milliseconds(model.created),
        "last_updated_timestamp_ms": milliseconds(model.updated),
        "artifact_uri": artifact_uri(call, model),
        "status": _PREFIX + model.status,
        "model_type": model.type,
        "source_run_id": model.run or "",
        "tags": as_pairs(model.tags),
    }
    metrics = [{**metric, "model_id": model.id} for metric in model.metrics]
    return {"info": info, "data": {"params": as_pairs(model.parameters), "metrics": metrics}}
