"""The answer to a request of MLflow's REST clients, given in this process instead of by a server.

MLflow's clients build each request as JSON and read the answer as JSON, in the documented form of its REST API. This
form is the same from version 1 to version 3, which the Python interfaces of its stores are not.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, ClassVar, Dict, Iterable, List, Mapping

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import ErrorCode
from mlflow.store.entities.paged_list import PagedList
from mlflow.utils import proto_json_utils

from footplate.domain.floats import tag_float, untag_float
from footplate.domain.records import ExperimentView, RunView
from footplate.domain.replies import MetricSeries
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.mlflow import addresses

Json = Dict[str, Any]
Answers = Mapping[str, Callable[[Any, Json], Json]]
_mlflow_json: Any = proto_json_utils
_MODEL_ID = re.compile(r"/logged-models/([^/?]+)")
_CODES = {
    "not_found": "RESOURCE_DOES_NOT_EXIST",
    "conflict": "RESOURCE_ALREADY_EXISTS",
    "not_allowed": "PERMISSION_DENIED",
}


class LocalAnswers:
    """Mixed into a REST client of MLflow: its requests become calls of the methods in `answers`, by message name."""

    answers: ClassVar[Answers]

    def _call_endpoint(self, api: Any, json_body: Any = None, endpoint: Any = None, *_: Any, **options: Any) -> Any:
        name = api.__name__
        if name not in self.answers:
            raise failure(f"Footplate does not answer MLflow's request {name}", "ENDPOINT_NOT_FOUND")
        request: Json = json.loads(json_body) if json_body else {}
        model = _MODEL_ID.search(endpoint) if isinstance(endpoint, str) else None
        if model:
            request.setdefault("model_id", model[1])
        with_answer = options.get("response_proto") or api.Response()
        _mlflow_json.parse_dict(_answer(self.answers[name], self, request), with_answer)
        return with_answer


def failure(message: str, code: str) -> MlflowException:
    return MlflowException(message, error_code=ErrorCode.Value(code))


def labels(pairs: Any) -> Dict[str, str]:
    """Return MLflow's list of keys and values as a dictionary."""
    return {pair["key"]: pair.get("value", "") for pair in pairs or ()}


def as_pairs(values: Mapping[str, Any]) -> Any:
    return [{"key": key, "value": "" if value is None else str(value)} for key, value in values.items()]


def milliseconds(seconds: Any) -> Any:
    return None if seconds is None else int(seconds * 1000)


def filter_page(search: Any, items: Any, filter_string: Any, max_results: Any, order_by: Any, page_token: Any) -> Any:
    """Return a page of what a filter of MLflow leaves of the items; `search` is MLflow's class for their kind."""
    ordered: Any = search.sort(search.filter(items, filter_string), order_by or [])
    return PagedList(*search.paginate(ordered, page_token, max_results or len(ordered) or 1))


def without_nulls(value: Mapping[str, Any]) -> Json:
    return {key: each for key, each in value.items() if each is not None}


def _answer(answer: Callable[[Any, Json], Json], store: Any, request: Json) -> Json:
    try:
        return answer(store, request)
    except AzureMLException as error:
        code = getattr(error.__cause__, "code", "")
        hint = f"\nhint: {error.hint}" if error.hint else ""
        raise failure(error.message + hint, _CODES.get(code, "INVALID_PARAMETER_VALUE")) from error


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
