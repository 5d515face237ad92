"""The models of MLflow 3: each belongs to a run, which keeps the description in a tag and the files under its name."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Dict

from footplate.sdk.mlflow import addresses
from footplate.sdk.mlflow.rest import Json, as_pairs, failure, labels, milliseconds
from footplate.sdk.mlflow.run_views import MODEL

if TYPE_CHECKING:
    from footplate.sdk.mlflow.tracking import TrackingStore


def _create(store: TrackingStore, request: Json) -> Json:
    run_id = request.get("source_run_id") or os.environ.get("AZUREML_RUN_ID")
    if not run_id:
        raise failure("a model belongs to a run, and no run is active\nhint: log it inside `with mlflow.start_run():`",
                      "INVALID_PARAMETER_VALUE")  # fmt: skip
    name = request.get("name") or "model"
    now = milliseconds(time.time())
    info: Json = {
        "model_id": f"{run_id}.{name}",
        "experiment_id": request["experiment_id"],
        "name": name,
        "artifact_uri": addresses.below(addresses.run_address(store.address, run_id), name),
        "creation_timestamp_ms": now,
        "last_updated_timestamp_ms": now,
        "source_run_id": run_id,
        "status": "LOGGED_MODEL_PENDING",
        "model_type": request.get("model_type", ""),
        "tags": request.get("tags") or [],
    }
    return _keep(store, {"info": info, "data": {"params": request.get("params") or []}})


def _get(store: TrackingStore, request: Json) -> Json:
    run_id, _, name = request["model_id"].rpartition(".")
    text = store.workspace.session.api.runs.get(run_id).tags.get(MODEL + name) if run_id else None
    if text is None:
        raise failure(f"there is no model {request['model_id']!r}", "RESOURCE_DOES_NOT_EXIST")
    return {"model": json.loads(text)}


def _list(store: TrackingStore, request: Json) -> Json:
    views = store.runs_of(request.get("experiment_ids") or ())
    texts = [text for view in views for key, text in view.tags.items() if key.startswith(MODEL) and text]
    return {"models": [json.loads(text) for text in texts]}


def _finalize(store: TrackingStore, request: Json) -> Json:
    return _change(store, request, status=request["status"])


def _set_tags(store: TrackingStore, request: Json) -> Json:
    tags = labels(_get(store, request)["model"]["info"]["tags"])
    return _change(store, request, tags=as_pairs({**tags, **labels(request.get("tags"))}))


def _add_parameters(store: TrackingStore, request: Json) -> Json:
    model = _get(store, request)["model"]
    model["data"]["params"] += request.get("params") or []
    return _keep(store, model)


def _change(store: TrackingStore, request: Json, **fields: Any) -> Json:
    model = _get(store, request)["model"]
    model["info"].update(fields, last_updated_timestamp_ms=milliseconds(time.time()))
    return _keep(store, model)


def _keep(store: TrackingStore, model: Dict[str, Any]) -> Json:
    info = model["info"]
    store.workspace.session.api.runs.change(info["source_run_id"], tags={MODEL + info["name"]: json.dumps(model)})
    return {"model": model}


ANSWERS = {
    "CreateLoggedModel": _create,
    "GetLoggedModel": _get,
    "SearchLoggedModels": _list,
    "FinalizeLoggedModel": _finalize,
    "SetLoggedModelTags": _set_tags,
    "LogLoggedModelParamsRequest": _add_parameters,
}
