"""Handlers of runs: their life, what they log, and searches for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from footplate.domain.runs import tracking
from footplate.domain.runs.tracking import NewPoint, RunInput, RunSearch
from footplate.server.authorization import check_run_change
from footplate.server.mlflow import grammar, logged_models, names
from footplate.server.mlflow.call import DEFAULT_ID, Call, Json, pairs, seconds
from footplate.server.mlflow.errors import MlflowError, missing
from footplate.server.mlflow.experiments import archived_of, page_size
from footplate.server.mlflow.fields import number
from footplate.server.mlflow.views import info_json, run_json
from footplate.storage.tracking.labels import ParameterChanged

_STATUSES = {
    "RUNNING": "Running", "SCHEDULED": "Running", "FINISHED": "Completed", "FAILED": "Failed", "KILLED": "Canceled",
}  # fmt: skip
_NUMBERED = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_LARGEST = 1.7976931348623157e308
_MOST_BYTES = 1_000_000
_HISTORY = "mlflow.log-model.history"


# ── Life ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def create(call: Call) -> Json:
    view = call.active_experiment(call.text("experiment_id") or DEFAULT_ID)
    tags = {key: _tag(key, value, f"tags[{at}]") for at, (key, value) in enumerate(pairs(call.items("tags")).items())}
    name = call.text("run_name")
    tagged = tags.get(tracking.NAME, "")
    if name and tagged and name != tagged:
        raise MlflowError(
            "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
            f"(run_name='{name}', mlflow.runName='{tagged}')."
        )
    start = call.fields.get("start_time")
    if parent := tags.get(tracking.PARENT):
        check_run_change(call.principal, parent, call.services)
    name = name or tagged or names.random_name()
    author = call.author(call.text("user_id"))
    run = call.services.tracking.create(view, name, author, seconds(start) if start else None, tags)
    return {"run": run_json(call.run(run))}


def get(call: Call) -> Json:
    return {"run": run_json(call.run(call.text("run_id")))}


def update(call: Call) -> Json:
    run = call.text("run_id")
    call.check_run(run)
    status = call.fields.get("status")
    status = _NUMBERED.get(status, status) if isinstance(status, int) else status
    if status and status not in _STATUSES:
        raise names.invalid_value("status", status)
    ended = call.fields.get("end_time")
    if status or ended:
        call.services.runs.report_status(run, _STATUSES.get(status or ""), seconds(ended) if ended else None)
    if call.text("run_name"):
        call.services.tracking.log(run, tags={tracking.NAME: call.text("run_name")})
    return {"run_info": info_json(call.run(run))}


def delete(call: Call) -> Json:
    return _archive(call, True)


def restore(call: Call) -> Json:
    return _archive(call, False)


def _archive(call: Call, archived: bool) -> Json:
    call.check_run(call.text("run_id"), active=False)
    call.services.tracking.archive(call.text("run_id"), archived)
    return {}


# ── What runs log ─────────────────────────────────────────────────────────────────────────────────────────────────────


def log_metric(call: Call) -> Json:
    call.check_run(call.text("run_id"))
    point = _point(call.fields, "")
    logged_models.add_metrics(call, call.text("run_id"), [call.fields])
    call.services.tracking.log(call.text("run_id"), points=[point])
    return {}


def log_parameter(call: Call) -> Json:
    run, key, value = call.text("run_id"), call.text("key"), call.text("value")
    call.check_run(run)
    names.check_key(key, what="Param key")
    value = names.limited("Param value", value, names.PARAMETER_VALUE, truncate=True)
    try:
        call.services.tracking.log(run, parameters={key: value})
    except ParameterChanged as error:
        _, old, new = error.details["changed"][0]
        raise MlflowError(
            f"Changing param values is not allowed. Param with key='{key}' was already logged with value='{old}' for "
            f"run ID='{run}'. Attempted logging new value '{new}'."
        ) from None
    return {}


def set_tag(call: Call) -> Json:
    call.check_run(call.text("run_id"))
    value = _tag(call.text("key"), call.text("value"), "")
    call.services.tracking.log(call.text("run_id"), tags={call.text("key"): value})
    return {}


def delete_tag(call: Call) -> Json:
    run, key = call.text("run_id"), call.text("key")
    call.check_run(run)
    if not call.services.tracking.remove_tag(run, key):
        raise missing(f"No tag with name: {key} in run with id {run}")
    return {}


def log_batch(call: Call) -> Json:
    run = call.text("run_id")
    metrics, parameters, tags = call.items("metrics"), call.items("params"), call.items("tags")
    _check_counts(metrics=len(metrics), params=len(parameters), tags=len(tags))
    points = [_point(metric, f"metrics[{at}].") for at, metric in enumerate(metrics)]
    new = _parameters(parameters)
    labels = {str(tag["key"]): _tag(tag["key"], tag.get("value") or "", f"tags[{at}]") for at, tag in enumerate(tags)}
    call.check_run(run)
    try:
        call.services.tracking.log(run, parameters=new, tags=labels)
    except ParameterChanged as error:
        changed = [{"key": key, "old_value": old, "new_value": value} for key, old, value in error.details["changed"]]
        raise MlflowError(
            f"Changing param values is not allowed. Params were already logged='{changed}' for run ID='{run}'."
        ) from None
    logged_models.add_metrics(call, run, metrics)
    call.services.tracking.log(run, points=points)
    return {}


def _check_counts(**counts: int) -> None:
    limits = {"metrics": 1000, "params": 100, "tags": 100, "metrics, params, and tags": 1000}
    for name, count in {**counts, "metrics, params, and tags": sum(counts.values())}.items():
        if count > limits[name]:
            raise MlflowError(
                f"A batch logging request can contain at most {limits[name]} {name}. Got {count} {name}. Please split "
                f"up {name} across multiple requests and try again."
            )


def _parameters(items: list[Any]) -> dict[str, str]:
    new: dict[str, str] = {}
    for at, item in enumerate(items):
        key = names.check_key(item["key"], f"params[{at}].key", "Param key")
        new[key] = names.limited("Param value", str(item.get("value") or ""), names.PARAMETER_VALUE, truncate=True)
    if len(new) < len(items):
        names.check_unique([item["key"] for item in items])
    return new


def _tag(key: Any, value: Any, path: str) -> str:
    names.check_key(key, f"{path}.key" if path else "key", f"{path}.key" if path else "key")
    return names.limited("value", str(value), names.TAG_VALUE, truncate=True)


def _point(item: Any, path: str) -> NewPoint:
    """Return a point; infinities become the largest numbers, as in MLflow's own store."""
    key = names.check_key(item["key"], f"{path}name", "Metric name")
    value = number(item["value"])
    time = item["timestamp"]
    if value is None:
        hint = f"(timestamp={time}). Please specify value as a valid double (64-bit floating point)"
        raise names.invalid_value(f"{path}value", item["value"], hint)
    when = number(time)
    step = number(item.get("step") or 0)
    if when is None or when < 0:
        hint = f"metric '{key}' (value={value}). Timestamp must be a nonnegative long (64-bit integer) "
        raise names.invalid_value(f"{path}timestamp", time, hint)
    if step is None:
        hint = f"metric '{key}' (value={value}). Step must be a valid long (64-bit integer)."
        raise names.invalid_value(f"{path}step", item["step"], hint)
    return NewPoint(key, max(-_LARGEST, min(_LARGEST, value)) if value == value else value, when / 1000, step)


# ── Inputs and outputs ────────────────────────────────────────────────────────────────────────────────────────────────


def log_inputs(call: Call) -> Json:
    run = call.text("run_id")
    call.check_run(run)
    new = [*map(_dataset, call.items("datasets")), *_models("model", call.items("models"))]
    call.services.tracking.add_inputs(run, new)
    return {}


def log_outputs(call: Call) -> Json:
    call.check_run(call.text("run_id"))
    call.services.tracking.add_inputs(call.text("run_id"), list(_models("output", call.items("models"))))
    return {}


def _dataset(item: Any) -> RunInput:
    dataset: Json | None = item.get("dataset")
    tags: list[Json] = item.get("tags") or []
    if not dataset or not dataset.get("name") or not dataset.get("digest"):
        raise MlflowError("Dataset input must have a dataset with a name and a digest.")
    sizes = {"name": 500, "digest": 36, "schema": 1_048_575, "profile": 16_777_215}
    for field, limit in sizes.items():
        names.limited(f"dataset.{field}", str(dataset.get(field) or ""), limit)
    fields = {key: dataset[key] for key in ("source_type", "source", "schema", "profile") if key in dataset}
    details: Json = {"dataset": fields, "tags": [{"key": tag["key"], "value": tag.get("value", "")} for tag in tags]}
    context = pairs(tags).get("mlflow.data.context")
    return RunInput("dataset", dataset["name"], dataset["digest"], context, details)


def _models(kind: str, items: Iterable[Any]) -> Iterable[RunInput]:
    for item in items:
        if not item.get("model_id"):
            raise names.missing_value("model_id")
        yield RunInput(kind, item["model_id"], details={"step": int(item.get("step") or 0)})


def log_model(call: Call) -> Json:
    """Keep the description of a model in a tag, as clients before MLflow 3 expect it."""
    run, text = call.text("run_id"), call.text("model_json")
    try:
        model = json.loads(text)
    except ValueError:
        raise MlflowError(f"Malformed model info. \n {text} \n is not a valid JSON.") from None
    absent = {"artifact_path", "flavors", "utc_time_created", "run_id"} - set(model)
    if absent:
        raise MlflowError(f"Model json is missing mandatory fields: {absent}")
    models = json.loads(call.run(run).tags.get(_HISTORY) or "[]")
    if model not in models:
        call.services.tracking.log(run, tags={_HISTORY: json.dumps([*models, model])})
    return {}


# ── Search ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def search(call: Call) -> Json:
    most = page_size(call, 50_000, default=1000)
    offset = grammar.parse_page_token(call.text("page_token"))
    conditions = grammar.parse_filter(call.text("filter"), grammar.RUNS)
    ids = call.items("experiment_ids")
    query = RunSearch(
        call.workspace,
        tuple(call.experiment(id).id if id == DEFAULT_ID else id for id in ids),
        conditions,
        grammar.parse_order(call.items("order_by"), grammar.RUNS),
        archived_of(call.fields.get("run_view_type")),
        most,
        offset,
    )
    selected, has_more = call.services.tracking.search(query)
    token = {"next_page_token": grammar.page_token(offset + most)} if has_more else {}
    return {"runs": [run_json(run) for run in selected], **token}
