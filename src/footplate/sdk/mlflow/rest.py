"""The answer to a request of MLflow's REST clients, given in this process instead of by a server.

MLflow's clients build each request as JSON and read the answer as JSON, in the documented form of its REST API. This
form is the same from version 1 to version 3, which the Python interfaces of its stores are not.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, ClassVar, Dict, Mapping

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import ErrorCode
from mlflow.store.entities.paged_list import PagedList
from mlflow.utils import proto_json_utils

from footplate.sdk.exceptions import AzureMLException

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
