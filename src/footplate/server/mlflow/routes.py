"""The table of MLflow's routes: method and path, the right, the fields that are checked, and the handler.

Paths stand without their prefix: each is served below /api/2.0, /api/3.0 and /ajax-api, and registries also below
/api/2.0/preview. The right of a route with a `run_id` is checked on that run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from footplate.server.mlflow import about, artifacts, experiments, histories, logged_models, registry, runs
from footplate.server.mlflow.call import Json
from footplate.server.mlflow.fields import BOOL, INTEGER, ITEMS, LIST, NUMBER, TEXTS, Field, Fields, need
from footplate.server.rights import Right

_TEXT = Field()
_INTEGER = Field(INTEGER)
_LIST = Field(LIST)
_TEXTS = Field(TEXTS)
_ITEMS = Field(ITEMS)
_NAMED = {"name": need()}
_RUN = {"run_id": need()}
_VERSION = {"name": need(), "version": need()}
_PAGED = {"filter": _TEXT, "order_by": _TEXTS, "page_token": _TEXT}


@dataclass(frozen=True)
class Route:
    right: Right
    handle: Callable[..., Json]
    fields: Fields = field(default_factory=dict[str, Field])
    transfers: bool = False  # the handler also takes the transfers of large files
    most_bytes: int | None = None

    @property
    def name(self) -> str:
        """The name of the action in the audit log."""
        return f"mlflow.{self.handle.__module__.rpartition('.')[2]}.{self.handle.__name__}"


_read, _register, _change = Right.READ_WORKSPACE, Right.REGISTER, Right.CHANGE_WORKSPACE
_alter = Right.CHANGE_RUNS
_append = Right.LOG_RUNS
_look = Right.READ_RUNS
_EXPERIMENT = {"experiment_id": need()}

_EXPERIMENTS: dict[tuple[str, str], Route] = {
    ("GET", "get-by-name"): Route(_read, experiments.get_by_name, {"experiment_name": need()}),
    ("POST", "create"): Route(
        _register, experiments.create, {"name": need(), "artifact_location": _TEXT, "tags": _ITEMS}
    ),
    ("POST", "search"): Route(_read, experiments.search, {"max_results": _INTEGER, **_PAGED}),
    ("GET", "search"): Route(_read, experiments.search, {"max_results": _INTEGER, **_PAGED}),
    ("GET", "get"): Route(_read, experiments.get, _EXPERIMENT),
    ("POST", "delete"): Route(_change, experiments.delete, _EXPERIMENT),
    ("POST", "restore"): Route(_change, experiments.restore, _EXPERIMENT),
    ("POST", "update"): Route(_change, experiments.update, {**_EXPERIMENT, "new_name": need()}),
    ("POST", "set-experiment-tag"): Route(
        _register, experiments.set_tag, {**_EXPERIMENT, "key": need(), "value": _TEXT}
    ),
    ("POST", "delete-experiment-tag"): Route(_register, experiments.delete_tag, {**_EXPERIMENT, "key": need()}),
    ("POST", "search-datasets"): Route(_read, experiments.search_datasets, {"experiment_ids": _TEXTS}),
}

_METRIC = {
    **_RUN, "key": need(), "value": need(NUMBER), "timestamp": need(INTEGER), "step": _INTEGER, "model_id": _TEXT,
    "dataset_name": _TEXT, "dataset_digest": _TEXT,
}  # fmt: skip
_BATCH = {
    **_RUN, "metrics": Field(ITEMS, each=("key", "value", "timestamp")), "params": Field(ITEMS, each=("key",)),
    "tags": Field(ITEMS, each=("key",)),
}  # fmt: skip
_RUNS: dict[tuple[str, str], Route] = {
    ("POST", "create"): Route(
        Right.SUBMIT_RUNS, runs.create, {"experiment_id": _TEXT, "start_time": _INTEGER, "run_name": _TEXT}
    ),
    ("POST", "update"): Route(_alter, runs.update, {**_RUN, "end_time": _INTEGER, "run_name": _TEXT}),
    ("POST", "delete"): Route(_alter, runs.delete, _RUN),
    ("POST", "restore"): Route(_alter, runs.restore, _RUN),
    ("POST", "log-metric"): Route(_append, runs.log_metric, _METRIC),
    ("POST", "log-parameter"): Route(_append, runs.log_parameter, {**_RUN, "key": need(), "value": _TEXT}),
    ("POST", "set-tag"): Route(_alter, runs.set_tag, {**_RUN, "key": need(), "value": _TEXT}),
    ("POST", "delete-tag"): Route(_alter, runs.delete_tag, {**_RUN, "key": need()}),
    ("GET", "get"): Route(_look, runs.get, _RUN),
    ("POST", "search"): Route(
        _read, runs.search,
        {"experiment_ids": _LIST, "filter": _TEXT, "max_results": Field(INTEGER, most=50_000), "order_by": _TEXTS},
    ),
    ("POST", "log-batch"): Route(_append, runs.log_batch, _BATCH, most_bytes=1_000_000),
    ("POST", "log-model"): Route(_append, runs.log_model, {**_RUN, "model_json": need()}),
    ("POST", "log-inputs"): Route(_append, runs.log_inputs, {**_RUN, "datasets": _ITEMS, "models": _ITEMS}),
    ("POST", "outputs"): Route(_append, runs.log_outputs, {**_RUN, "models": need(ITEMS)}),
}  # fmt: skip

_OTHERS: dict[tuple[str, str], Route] = {
    ("GET", "artifacts/list"): Route(_look, artifacts.list_of_run, {**_RUN, "path": _TEXT}),
    ("GET", "metrics/get-history"): Route(
        _look, histories.get, {**_RUN, "metric_key": need(), "page_token": _TEXT, "max_results": _INTEGER}
    ),
    ("GET", "metrics/get-history-bulk"): Route(
        _read, histories.get_bulk, {"run_id": _LIST, "max_results": _INTEGER}
    ),
    ("GET", "metrics/get-history-bulk-interval"): Route(
        _read, histories.get_interval,
        {"run_ids": need(TEXTS), "metric_key": need(), "start_step": _INTEGER, "end_step": _INTEGER,
         "max_results": _INTEGER},
    ),
    ("GET", "server-info"): Route(Right.READ_SERVER, about.server_info),
    ("GET", "workspaces"): Route(Right.LIST_WORKSPACES, about.workspaces),
}  # fmt: skip

_MODELS: dict[tuple[str, str], Route] = {
    ("POST", "create"): Route(_register, registry.create_model, {**_NAMED, "tags": _ITEMS, "description": _TEXT}),
    ("POST", "rename"): Route(_change, registry.rename_model, {**_NAMED, "new_name": need()}),
    ("PATCH", "update"): Route(_register, registry.update_model, {**_NAMED, "description": _TEXT}),
    ("DELETE", "delete"): Route(_change, registry.delete_model, _NAMED),
    ("GET", "get"): Route(_read, registry.get_model, _NAMED),
    ("GET", "search"): Route(_read, registry.search_models, {**_PAGED, "max_results": Field(INTEGER, most=1000)}),
    ("POST", "get-latest-versions"): Route(_read, registry.get_latest_versions, {**_NAMED, "stages": _TEXTS}),
    ("GET", "get-latest-versions"): Route(_read, registry.get_latest_versions, {**_NAMED, "stages": _TEXTS}),
    ("POST", "set-tag"): Route(_register, registry.set_model_tag, {**_NAMED, "key": need(), "value": _TEXT}),
    ("DELETE", "delete-tag"): Route(_register, registry.delete_model_tag, {**_NAMED, "key": need()}),
    ("POST", "alias"): Route(_register, registry.set_alias, {**_NAMED, "alias": need(), "version": need()}),
    ("DELETE", "alias"): Route(_register, registry.delete_alias, {**_NAMED, "alias": need()}),
    ("GET", "alias"): Route(_read, registry.get_by_alias, {**_NAMED, "alias": need()}),
}

_VERSIONS: dict[tuple[str, str], Route] = {
    ("POST", "create"): Route(
        _register, registry.create_version,
        {**_NAMED, "source": need(), "run_id": _TEXT, "tags": _ITEMS, "run_link": _TEXT, "description": _TEXT,
         "model_id": _TEXT},
    ),
    ("PATCH", "update"): Route(_register, registry.update_version, {**_VERSION, "description": _TEXT}),
    ("POST", "transition-stage"): Route(
        _register, registry.transition_stage, {**_VERSION, "stage": need(), "archive_existing_versions": Field(BOOL)}
    ),
    ("DELETE", "delete"): Route(_change, registry.delete_version, _VERSION),
    ("GET", "get"): Route(_read, registry.get_version, _VERSION),
    ("GET", "search"): Route(_read, registry.search_versions, {**_PAGED, "max_results": Field(INTEGER, most=200_000)}),
    ("GET", "get-download-uri"): Route(_read, registry.get_download_uri, _VERSION),
    ("POST", "set-tag"): Route(_register, registry.set_version_tag, {**_VERSION, "key": need(), "value": _TEXT}),
    ("DELETE", "delete-tag"): Route(_register, registry.delete_version_tag, {**_VERSION, "key": need()}),
}  # fmt: skip

_GROUPS: Mapping[str, Mapping[tuple[str, str], Route]] = {
    "experiments/": _EXPERIMENTS,
    "runs/": _RUNS,
    "registered-models/": _MODELS,
    "model-versions/": _VERSIONS,
    "": _OTHERS,
}
PLAIN: Mapping[tuple[str, str], Route] = {
    (method, f"/mlflow/{group}{name}"): route
    for group, table in _GROUPS.items()
    for (method, name), route in table.items()
}

_LOGGED = r"/mlflow/logged-models"
_MODEL = {"model_id": need()}
_PROXY = r"/mlflow-artifacts"
_PATTERNS: tuple[tuple[str, str, Route], ...] = (
    ("POST", _LOGGED, Route(
        _register, logged_models.create,
        {"experiment_id": need(), "name": _TEXT, "model_type": _TEXT, "source_run_id": _TEXT, "params": _ITEMS,
         "tags": _ITEMS},
    )),
    ("POST", rf"{_LOGGED}/search", Route(
        _read, logged_models.search,
        {"experiment_ids": need(TEXTS), "filter": _TEXT, "datasets": _ITEMS, "max_results": _INTEGER,
         "order_by": _ITEMS, "page_token": _TEXT},
    )),
    ("GET", rf"{_LOGGED}/(?P<model_id>[^/]+)", Route(_read, logged_models.get, _MODEL)),
    ("PATCH", rf"{_LOGGED}/(?P<model_id>[^/]+)", Route(_register, logged_models.finalize, _MODEL)),
    ("DELETE", rf"{_LOGGED}/(?P<model_id>[^/]+)", Route(_register, logged_models.delete, _MODEL)),
    ("PATCH", rf"{_LOGGED}/(?P<model_id>[^/]+)/tags", Route(
        _register, logged_models.set_tags, {**_MODEL, "tags": _ITEMS}
    )),
    ("DELETE", rf"{_LOGGED}/(?P<model_id>[^/]+)/tags/(?P<tag_key>.+)", Route(
        _register, logged_models.delete_tag, _MODEL
    )),
    ("POST", rf"{_LOGGED}/(?P<model_id>[^/]+)/params", Route(
        _register, logged_models.log_parameters, {**_MODEL, "params": _ITEMS}
    )),
    ("GET", rf"{_LOGGED}/(?P<model_id>[^/]+)/artifacts/directories", Route(_read, artifacts.list_of_model, _MODEL)),
    ("GET", rf"{_PROXY}/artifacts", Route(_read, artifacts.list_proxied, {"path": _TEXT})),
    ("DELETE", rf"{_PROXY}/artifacts/(?P<artifact_path>.+)", Route(_change, artifacts.delete_proxied)),
    ("POST", rf"{_PROXY}/mpu/create/(?P<artifact_path>.+)", Route(
        _append, artifacts.begin_upload, {"path": need(), "num_parts": _INTEGER}, transfers=True
    )),
    ("POST", rf"{_PROXY}/mpu/complete/(?P<artifact_path>.+)", Route(
        _append, artifacts.complete_upload, {"path": need(), "upload_id": need(), "parts": need(ITEMS)}, transfers=True
    )),
    ("POST", rf"{_PROXY}/mpu/abort/(?P<artifact_path>.+)", Route(
        _append, artifacts.abort_upload, {"upload_id": need()}, transfers=True
    )),
    ("GET", rf"{_PROXY}/presigned/(?P<artifact_path>.+)", Route(_look, artifacts.presign_download, transfers=True)),
)  # fmt: skip
_COMPILED = tuple((method, re.compile(pattern, re.DOTALL), route) for method, pattern, route in _PATTERNS)

LIST_FIELDS = frozenset({"order_by", "stages", "run_ids", "run_id", "experiment_ids"})
"""Fields that a query may repeat; `run_id` only where many runs are read."""


def find(method: str, path: str) -> tuple[Route, dict[str, Any]] | None:
    """Return the route and the fields in the path; None for a path that nobody serves."""
    plain = PLAIN.get((method, path))
    if plain is not None:
        return plain, {}
    for each, pattern, route in _COMPILED:
        match = pattern.fullmatch(path) if each == method else None
        if match:
            return route, match.groupdict()
    return None
