"""Handlers of experiments."""

from __future__ import annotations

from typing import Any

from footplate.domain.records import ExperimentView
from footplate.domain.runs import tracking
from footplate.errors import Conflict
from footplate.server.mlflow import grammar, names
from footplate.server.mlflow.call import DEFAULT, Call, Json, experiment_id, pairs
from footplate.server.mlflow.errors import MlflowError, exists, missing
from footplate.server.mlflow.memory_search import MemorySearch
from footplate.server.mlflow.views import dataset_input_json, experiment_json

_ARCHIVED = {"ACTIVE_ONLY": False, "DELETED_ONLY": True, "ALL": None, 1: False, 2: True, 3: None}
_MOST = 50_000
_MOST_FOR_DATASETS = 20


def archived_of(view_type: Any) -> bool | None:
    """Return whether a view shows deleted objects only, active ones only (False), or all (None)."""
    key = int(view_type) if str(view_type).isdigit() else view_type
    return _ARCHIVED.get(key or "ACTIVE_ONLY", False)


def create(call: Call) -> Json:
    name = call.text("name")
    tags = pairs(call.items("tags"))
    names.check_experiment_name(name)
    for key, value in tags.items():
        _check_tag(key, value)
    location = call.text("artifact_location")
    if "?" in location or "#" in location:
        raise MlflowError(f"Invalid artifact_location: '{location}'. It cannot have a query or a fragment.")
    store = call.services.store.experiments
    if store.list(call.workspace, name):
        raise exists(f"Experiment(name={name}) already exists.")
    view = call.services.tracking.ensure_experiment(call.workspace, name)
    fields: dict[str, str | None] = {**tags, **({tracking.LOCATION: location} if location else {})}
    if fields:
        store.change(view.id, tags=fields)
    return {"experiment_id": experiment_id(view.id, view.name)}


def get(call: Call) -> Json:
    return {"experiment": experiment_json(call.experiment(call.text("experiment_id")))}


def get_by_name(call: Call) -> Json:
    name = call.text("experiment_name")
    if name == DEFAULT:
        return {"experiment": experiment_json(call.services.tracking.ensure_experiment(call.workspace, name))}
    views = call.services.store.experiments.list(call.workspace, name)
    if not views:
        raise missing(f"Could not find experiment with name '{name}'")
    return {"experiment": experiment_json(views[0])}


def search(call: Call) -> Json:
    conditions = grammar.parse_filter(call.text("filter"), grammar.EXPERIMENTS)
    order = grammar.parse_order(call.items("order_by"), grammar.EXPERIMENTS)
    most = page_size(call, _MOST, default=1000)
    offset = grammar.parse_page_token(call.text("page_token"))
    call.services.tracking.ensure_experiment(call.workspace, DEFAULT)
    views = call.services.store.experiments.list(call.workspace, archived=archived_of(call.fields.get("view_type")))
    memory = MemorySearch[ExperimentView](_attributes, lambda view: view.tags)
    order = order or (tracking.Ordering("attribute", "creation_time", False),)
    views = memory.sort(memory.search(views, conditions), order, tie="experiment_id", ascending=False)
    return page("experiments", [experiment_json(view) for view in views[offset : offset + most]], offset, len(views))


def delete(call: Call) -> Json:
    call.services.tracking.archive_experiment(call.active_experiment(call.text("experiment_id")))
    return {}


def restore(call: Call) -> Json:
    view = call.experiment(call.text("experiment_id"))
    if view.archived is None:
        raise missing(f"No Experiment with id={call.text('experiment_id')} exists")
    call.services.tracking.restore_experiment(view)
    return {}


def update(call: Call) -> Json:
    view = call.experiment(call.text("experiment_id"))
    name = call.text("new_name")
    names.check_experiment_name(name)
    if view.archived is not None:
        raise MlflowError("Cannot rename a non-active experiment.", "INVALID_STATE")
    try:
        call.services.tracking.rename_experiment(view.id, name)
    except Conflict:
        raise exists(f"Experiment(name={name}) already exists.") from None
    return {}


def set_tag(call: Call) -> Json:
    key, value = call.text("key"), call.text("value")
    _check_tag(key, value)
    view = call.active_experiment(call.text("experiment_id"))
    call.services.store.experiments.change(view.id, tags={key: value})
    return {}


def delete_tag(call: Call) -> Json:
    view = call.active_experiment(call.text("experiment_id"))
    key = call.text("key")
    if key not in view.tags:
        raise missing(f"No tag with name: {key} in experiment with id {call.text('experiment_id')}")
    call.services.store.experiments.change(view.id, remove_tags=(key,))
    return {}


def search_datasets(call: Call) -> Json:
    ids = call.items("experiment_ids")
    if not ids:
        raise MlflowError("SearchDatasets request must specify at least one experiment_id.")
    if len(ids) > _MOST_FOR_DATASETS:
        raise MlflowError(
            f"SearchDatasets request cannot specify more than {_MOST_FOR_DATASETS} experiment_ids. "
            f"Received {len(ids)} experiment_ids."
        )
    views = {view.id: view for view in map(call.experiment, ids)}
    summaries: list[Json] = []
    for experiment, item in call.services.tracking.datasets(views):
        dataset = dataset_input_json(item)["dataset"]
        view = views[experiment]
        summary = {"experiment_id": experiment_id(view.id, view.name), "name": dataset["name"]}
        context = {"context": item.context} if item.context else {}
        summaries.append({**summary, "digest": dataset["digest"], **context})
    return {"dataset_summaries": summaries}


def page_size(call: Call, most: int, default: int) -> int:
    """Return how many results were requested; raise for more than the server returns at once."""
    requested = call.fields.get("max_results", default)
    if requested < 1:
        raise MlflowError(
            f"Invalid value {requested} for parameter 'max_results' supplied. It must be a positive integer"
        )
    if requested > most:
        raise MlflowError(f"Invalid value {requested} for parameter 'max_results' supplied. It must be at most {most}")
    return int(requested)


def page(name: str, items: list[Json], offset: int, total: int) -> Json:
    """Return a page, with a token if there are more."""
    end = offset + len(items)
    return {name: items, **({"next_page_token": grammar.page_token(end)} if end < total else {})}


def _check_tag(key: str, value: str) -> None:
    names.check_key(key)
    names.limited("value", value, names.EXPERIMENT_VALUE)


def _attributes(view: ExperimentView) -> Json:
    return {
        "name": view.name,
        "experiment_id": experiment_id(view.id, view.name),
        "creation_time": round(view.created * 1000),
        "last_update_time": round((view.updated or view.created) * 1000),
    }
