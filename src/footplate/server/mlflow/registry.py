"""Handlers of the registry: registered models and their versions, with tags, aliases and stages."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from footplate.domain.records import ModelView
from footplate.domain.runs.tracking import Ordering, RegisteredModel
from footplate.errors import Conflict, NotFound
from footplate.server.mlflow import grammar, model_sources, names
from footplate.server.mlflow.call import Call, Json, as_pairs, compact, milliseconds, pairs
from footplate.server.mlflow.errors import MlflowError, exists, missing
from footplate.server.mlflow.experiments import page, page_size
from footplate.server.mlflow.memory_search import PROMPT, MemorySearch

_STAGES = {"none": "None", "staging": "Staging", "production": "Production", "archived": "Archived"}
_IN_USE = ("Staging", "Production")
_DETAILS = "mlflow"
"""The option of a version that holds what only MLflow knows: its source, stage, links and last change."""


# ── Registered models ─────────────────────────────────────────────────────────────────────────────────────────────────


def create_model(call: Call) -> Json:
    name = call.text("name")
    tags = pairs(call.items("tags"))
    names.check_model_name(name)
    for key, value in tags.items():
        _check_tag(key, value)
    now = time.time()
    description = call.fields.get("description")
    model = RegisteredModel(call.workspace, name, now, now, description, tags)
    try:
        call.services.store.registered_models.create(model)
    except Conflict:
        raise exists(f"Registered Model (name={name}) already exists.") from None
    return {"registered_model": _model_json(call, model)}


def get_model(call: Call) -> Json:
    return {"registered_model": _model_json(call, _model(call, call.text("name")))}


def rename_model(call: Call) -> Json:
    model = _model(call, call.text("name"))
    name = call.text("new_name")
    names.check_model_name(name, "new_name")
    try:
        call.services.store.registered_models.rename(model, name)
    except Conflict:
        raise exists(f"Registered Model (name={name}) already exists.") from None
    renamed = replace(model, name=name, updated=time.time())
    call.services.store.registered_models.put(renamed)
    return {"registered_model": _model_json(call, renamed)}


def update_model(call: Call) -> Json:
    model = _model(call, call.text("name"))
    description = call.fields.get("description", model.description)
    return {"registered_model": _model_json(call, _put(call, model, description=description))}


def delete_model(call: Call) -> Json:
    call.services.store.registered_models.delete(call.workspace, _model(call, call.text("name")).name)
    return {}


def set_model_tag(call: Call) -> Json:
    key, value = call.text("key"), call.text("value")
    _check_tag(key, value)
    model = _model(call, call.text("name"))
    _put(call, model, tags={**model.tags, key: value})
    return {}


def delete_model_tag(call: Call) -> Json:
    key = names.check_key(call.text("key"))
    model = _model(call, call.text("name"))
    _put(call, model, tags={name: value for name, value in model.tags.items() if name != key})
    return {}


def search_models(call: Call) -> Json:
    most = page_size(call, 1000, default=100)
    conditions = grammar.parse_filter(call.text("filter"), grammar.MODELS)
    order = grammar.parse_order(call.items("order_by"), grammar.MODELS)
    offset = grammar.parse_page_token(call.text("page_token"))
    models = call.services.store.registered_models.list(call.workspace)
    if not any(condition.key == PROMPT for condition in conditions):
        models = [model for model in models if model.tags.get(PROMPT, "false") != "true"]
    search = MemorySearch[RegisteredModel](_model_attributes, lambda model: model.tags)
    selected = search.sort(search.search(models, conditions), order, tie="name")
    some = selected[offset : offset + most]
    return page("registered_models", [_model_json(call, model) for model in some], offset, len(selected))


def get_latest_versions(call: Call) -> Json:
    stages = [_stage(stage) for stage in call.items("stages")] or list(_STAGES.values())
    model = _model(call, call.text("name"))
    return {"model_versions": [_version_json(each) for each in _latest(_versions(call, model.name), stages)]}


def _model(call: Call, name: str) -> RegisteredModel:
    names.check_model_name(name)
    try:
        return call.services.store.registered_models.get(call.workspace, name)
    except NotFound:
        raise missing(f"Registered Model with name={name} not found") from None


def _put(call: Call, model: RegisteredModel, **changes: Any) -> RegisteredModel:
    changed = replace(model, **changes, updated=time.time())
    call.services.store.registered_models.put(changed)
    return changed


def _model_json(call: Call, model: RegisteredModel) -> Json:
    versions = _versions(call, model.name)
    aliases = [{"alias": alias, "version": str(each.version)} for each in versions for alias in each.aliases]
    latest = _latest(versions, list(_STAGES.values()))
    return compact(
        {
            "name": model.name,
            "creation_timestamp": milliseconds(model.created),
            "last_updated_timestamp": milliseconds(model.updated),
            "description": model.description,
            "latest_versions": [_version_json(each) for each in latest],
            "tags": as_pairs(model.tags),
            "aliases": aliases,
        }
    )


def _model_attributes(model: RegisteredModel) -> Json:
    times = {"creation_timestamp": model.created, "last_updated_timestamp": model.updated}
    return {"name": model.name, **times}


# ── Versions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_version(call: Call) -> Json:
    name, source = call.text("name"), call.text("source")
    names.check_model_name(name)
    tags = pairs(call.items("tags"))
    for key, value in tags.items():
        _check_tag(key, value)
    origin = model_sources.resolve(call, source, call.text("run_id"), call.text("model_id"), tags)
    model = _model(call, name)
    now = time.time()
    details = {
        "source": origin.source, "run_link": call.text("run_link"), "stage": "None", "model_id": origin.model,
        "updated": now, "location": origin.location,
    }  # fmt: skip
    view = ModelView(
        workspace=call.workspace, name=name, version=0, created=now, root=origin.root, files=origin.files,
        description=call.fields.get("description"), run=origin.run or None, tags=dict(tags),
        options={_DETAILS: details},
    )  # fmt: skip
    view = call.services.store.models.add(uuid.uuid4().hex, view)
    _put(call, model)
    if origin.model:
        model_sources.note_version(call, origin.model, name, view.version)
    return {"model_version": _version_json(view)}


def get_version(call: Call) -> Json:
    return {"model_version": _version_json(_version(call))}


def update_version(call: Call) -> Json:
    view = _version(call)
    description = call.fields.get("description", view.description)
    return {"model_version": _version_json(_change(call, view, description=description))}


def transition_stage(call: Call) -> Json:
    stage = _stage(call.text("stage"))
    archive = bool(call.fields.get("archive_existing_versions"))
    if archive and stage not in _IN_USE:
        raise MlflowError(
            "Model version transition cannot archive existing model versions because "
            f"'{call.text('stage')}' is not an Active stage. Valid stages are {list(_IN_USE)}"
        )
    view = _version(call)
    for other in _versions(call, view.name) if archive else ():
        if other.version != view.version and _details(other)["stage"] == stage:
            _change(call, other, stage="Archived")
    _put(call, _model(call, view.name))
    return {"model_version": _version_json(_change(call, view, stage=stage))}


def delete_version(call: Call) -> Json:
    view = _version(call)
    call.services.store.models.delete(call.workspace, view.name, view.version)
    _put(call, _model_after_deletion(call, view))
    return {}


def _model_after_deletion(call: Call, view: ModelView) -> RegisteredModel:
    """Return the model of a deleted version: a name that had only this version stays registered."""
    selected = call.services.store.registered_models.list(call.workspace, view.name)
    return selected[0] if selected else RegisteredModel(call.workspace, view.name, view.created, view.created)


def get_download_uri(call: Call) -> Json:
    view = _version(call)
    details = _details(view)
    return {"artifact_uri": details.get("location") or details["source"]}


def search_versions(call: Call) -> Json:
    most = page_size(call, 200_000, default=10_000)
    conditions = grammar.parse_filter(call.text("filter"), grammar.VERSIONS)
    order = grammar.parse_order(call.items("order_by"), grammar.VERSIONS)
    offset = grammar.parse_page_token(call.text("page_token"))
    named = next((each.value for each in conditions if (each.key, each.operator) == ("name", "=")), None)
    views = call.services.store.models.list(call.workspace, named)
    if not any(condition.key == PROMPT for condition in conditions):
        views = [view for view in views if view.tags.get(PROMPT, "false") != "true"]
    search = MemorySearch[ModelView](_version_attributes, lambda view: view.tags)
    order = order or (Ordering("attribute", "last_updated_timestamp", False),)
    keys = (*order, *(() if any(key.key == "name" for key in order) else (Ordering("attribute", "name"),)))
    selected = search.sort(search.search(views, conditions), keys, tie="version_number", ascending=False)
    some = [_version_json(view) for view in selected[offset : offset + most]]
    return page("model_versions", some, offset, len(selected))


def set_version_tag(call: Call) -> Json:
    key, value = call.text("key"), call.text("value")
    _check_tag(key, value)
    view = _version(call)
    call.services.store.models.change(call.workspace, view.name, view.version, tags={key: value})
    return {}


def delete_version_tag(call: Call) -> Json:
    key = names.check_key(call.text("key"))
    view = _version(call)
    call.services.store.models.change(call.workspace, view.name, view.version, remove_tags=(key,))
    return {}


def _version(call: Call, version: Any = None) -> ModelView:
    name = call.text("name")
    names.check_model_name(name)
    number = names.check_version(call.text("version") if version is None else version)
    try:
        return call.services.store.models.get(call.workspace, name, number)
    except NotFound:
        raise missing(f"Model Version (name={name}, version={number}) not found") from None


def _versions(call: Call, name: str) -> list[ModelView]:
    """Return the versions of a model, newest first."""
    return sorted(call.services.store.models.list(call.workspace, name), key=lambda view: -view.version)


def _latest(versions: Sequence[ModelView], stages: Sequence[str]) -> list[ModelView]:
    """Return the newest version in each of these stages."""
    newest: dict[str, ModelView] = {}
    for view in versions:
        newest.setdefault(_details(view)["stage"], view)
    return [newest[stage] for stage in dict.fromkeys(stages) if stage in newest]


def _change(call: Call, view: ModelView, description: str | None = None, **details: Any) -> ModelView:
    store = call.services.store.models
    place = (call.workspace, view.name, view.version)
    changed = {_DETAILS: {**_details(view), **details, "updated": time.time()}}
    store.change(*place, description=description, options=changed)
    return store.get(*place)


def _details(view: ModelView) -> Json:
    """Return what MLflow knows of a version; one that was registered otherwise has its files at an address of ours."""
    native = {
        "source": f"mlflow-artifacts:/registered-models/{view.name}/{view.version}/artifacts", "run_link": "",
        "stage": "None", "model_id": "", "updated": view.created, "location": "",
    }  # fmt: skip
    return {**native, **view.options.get(_DETAILS, {})}


def _version_json(view: ModelView) -> Json:
    details = _details(view)
    return compact(
        {
            "name": view.name,
            "version": str(view.version),
            "creation_timestamp": milliseconds(view.created),
            "last_updated_timestamp": milliseconds(details["updated"]),
            "current_stage": details["stage"],
            "description": view.description,
            "source": details["source"],
            "run_id": view.run or "",
            "run_link": details["run_link"],
            "status": "READY",
            "model_id": details["model_id"] or None,
            "tags": as_pairs(view.tags),
            "aliases": list(view.aliases),
        }
    )


def _version_attributes(view: ModelView) -> Json:
    details = _details(view)
    return {
        "name": view.name, "version_number": view.version, "run_id": view.run or "", "source_path": details["source"],
        "creation_timestamp": view.created, "last_updated_timestamp": details["updated"],
    }  # fmt: skip


def _stage(text: str) -> str:
    if text.lower() not in _STAGES:
        raise MlflowError(
            f"Invalid Model Version stage: {text}. Value must be one of None, Staging, Production, Archived."
        )
    return _STAGES[text.lower()]


def _check_tag(key: str, value: str) -> None:
    names.check_key(key)
    names.limited("value", value, names.REGISTRY_VALUE)


# ── Aliases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def set_alias(call: Call) -> Json:
    alias = call.text("alias")
    names.check_alias(alias)
    view = _version(call)
    call.services.store.models.change(call.workspace, view.name, view.version, aliases=(alias,))
    return {}


def delete_alias(call: Call) -> Json:
    alias = call.text("alias")
    for view in _versions(call, _model(call, call.text("name")).name):
        if alias in view.aliases:
            call.services.store.models.change(call.workspace, view.name, view.version, remove_aliases=(alias,))
    return {}


def get_by_alias(call: Call) -> Json:
    return {"model_version": _version_json(find_by_alias(call, call.text("name"), call.text("alias")))}


def find_by_alias(call: Call, name: str, alias: str) -> ModelView:
    _model(call, name)
    for view in _versions(call, name):
        if alias in view.aliases or (alias.lower() == "latest"):
            return view
    raise MlflowError(f"Registered model alias {alias} not found.")
