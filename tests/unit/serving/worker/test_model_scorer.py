"""Requests to a model without code: every protocol, joined to batches, checked against the signature."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from footplate.serving.worker.loaders import load_model
from footplate.serving.worker.messages import ScoreRequest, ScoreResponse
from footplate.serving.worker.model_scorer import LoadedModel, ModelScorer
from footplate.serving.worker.payloads import READERS
from footplate.serving.worker.tensors import TensorSpec


class Doubling(LoadedModel):
    """A small model: y = 2 x, which counts its evaluations and fails where x is negative."""

    name, version, framework = "twice", "3", "Onnx"
    inputs = (TensorSpec("x", "float32", (None, 2)),)
    outputs = (TensorSpec("y", "float32", (None, 2)),)
    methods = ("predict", "triple")

    def __init__(self) -> None:
        self.evaluations = 0

    def run(self, arrays: dict[str, Any], method: str) -> dict[str, Any]:
        self.evaluations += 1
        if (arrays["x"] < 0).any():
            raise ValueError("negative")
        return {"y": arrays["x"] * (3 if method == "triple" else 2)}


class Adding(Doubling):
    inputs = (TensorSpec("a", "int64", (None,)), TensorSpec("b", "int64", (None,)))

    def run(self, arrays: dict[str, Any], method: str) -> dict[str, Any]:
        return {"sum": arrays["a"] + arrays["b"], "difference": arrays["a"] - arrays["b"]}


def ask(model: LoadedModel, body: Any, path: str = "score", **request: Any) -> ScoreResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    (found,) = ModelScorer(model, READERS).answer([ScoreRequest(data, path, **request)])
    return found


def value(response: ScoreResponse) -> Any:
    assert response.status == 200, response.body
    return json.loads(response.body)


# ── Azure's form ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_data_is_answered_under_the_name_of_the_method() -> None:
    assert value(ask(Doubling(), {"data": [[1, 2]]})) == {"predict": [[2, 4]]}
    assert value(ask(Doubling(), {"data": [[1, 2]], "method": "triple"})) == {"triple": [[3, 6]]}


def test_numbers_that_only_python_parses_are_understood() -> None:
    assert value(ask(Doubling(), b'{"data": [[NaN, 3.5]]}')) == {"predict": [[None, 7.0]]}
    assert value(ask(Doubling(), b'{"data": [[1, 2]], "more": 123456789012345678901234567890}'))
    assert ask(Doubling(), b'{"data": ' + b"[" * 100_000).status == 400
    assert ask(Doubling(), b'{"data": "\xff"}').status == 400


def test_named_inputs_are_answered_by_name() -> None:
    assert value(ask(Doubling(), {"inputs": {"x": [[1, 2]]}})) == {"outputs": {"y": [[2, 4]]}}
    records = {"data": [{"a": 1, "b": 2}, {"a": 5, "b": 1}]}
    assert value(ask(Adding(), records)) == {"sum": [3, 6], "difference": [-1, 4]}


def test_tensors_of_onnx_runtime_server_are_understood() -> None:
    raw = base64.b64encode(np.array([[1, 2]], "float32").tobytes()).decode()
    body = {"inputs": {"x": {"dims": ["1", "2"], "dataType": 1, "rawData": raw}}, "outputFilter": ["y"]}
    found = value(ask(Doubling(), body))["outputs"]["y"]
    assert (found["dims"], found["dataType"]) == (["1", "2"], 1)
    assert np.frombuffer(base64.b64decode(found["rawData"]), "float32").tolist() == [2, 4]


@pytest.mark.parametrize(
    "body, words",
    [
        ({"data": [[1, 2, 3]]}, "input 'x' has the shape [1, 3], and the model takes [any, 2]"),
        ({"data": [1, 2]}, "has the shape [2]"),
        ({"data": [[1, 2], [3]]}, "input 'x' is not an array of float32"),
        ({"data": [["a", "b"]]}, "input 'x' is not an array of float32"),
        ({"inputs": {"z": [[1, 2]]}}, "there is no input 'z': the model takes 'x'"),
        ({"inputs": {}}, "input 'x' is missing"),
        ({"data": [[1, 2]], "method": "fit"}, "no method 'fit': it has predict, triple"),
        ({}, "neither 'data' nor 'inputs'"),
        ([1], "not a JSON object"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_request_that_does_not_fit_is_a_400_that_says_what_was_expected(body: Any, words: str) -> None:
    found = ask(Doubling(), body)
    assert found.status == 400 and words in json.loads(found.body)["message"]


def test_fractions_are_refused_where_the_model_takes_whole_numbers() -> None:
    assert ask(Adding(), {"data": {"a": [1.5], "b": [1]}}).status == 400
    assert value(ask(Adding(), {"data": {"a": [1.0], "b": [1]}}))["sum"] == [2]


def test_infinite_results_are_null_in_json() -> None:
    class Infinite(Doubling):
        def run(self, arrays: dict[str, Any], method: str) -> dict[str, Any]:
            return {"y": np.array([np.inf, 1.0])}

    assert value(ask(Infinite(), {"data": [[1, 2]]})) == {"predict": [None, 1.0]}


# ── Batches ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def request(*rows: list[float]) -> ScoreRequest:
    return ScoreRequest(json.dumps({"data": list(rows)}).encode())


def test_requests_of_one_shape_are_evaluated_at_once() -> None:
    model = Doubling()
    found = ModelScorer(model, READERS).answer([request([1, 2]), request([3, 4], [5, 6]), request([7, 8])])
    assert [value(r)["predict"] for r in found] == [[[2, 4]], [[6, 8], [10, 12]], [[14, 16]]]
    assert model.evaluations == 1


def test_one_bad_request_does_not_fail_the_others() -> None:
    found = ModelScorer(Doubling(), READERS).answer(
        [request([1, 2]), request([-1, 2]), ScoreRequest(b"x"), request([3, 4])]
    )
    assert [r.status for r in found] == [200, 500, 400, 200]
    assert json.loads(found[1].body) == {"message": "ValueError: negative"}


def test_a_model_with_a_fixed_first_dimension_is_evaluated_one_by_one() -> None:
    class Fixed(Doubling):
        inputs = (TensorSpec("x", "float32", (1, 2)),)

    model = Fixed()
    scorer = ModelScorer(model, READERS)
    assert not scorer.batches
    assert [r.status for r in scorer.answer([request([1, 2]), request([3, 4])])] == [200, 200]
    assert model.evaluations == 2


# ── TensorFlow Serving ────────────────────────────────────────────────────────────────────────────────────────────────


def test_tfserving_answers_rows_with_predictions() -> None:
    path = "v1/models/twice:predict"
    assert value(ask(Doubling(), {"instances": [[1, 2], [3, 4]]}, path)) == {"predictions": [[2, 4], [6, 8]]}
    assert value(ask(Adding(), {"instances": [{"a": 1, "b": 2}]}, path)) == {
        "predictions": [{"sum": 3, "difference": -1}]
    }


def test_tfserving_answers_columns_with_outputs() -> None:
    path = "v1/models/twice/versions/1:predict"
    assert value(ask(Doubling(), {"inputs": [[1, 2]]}, path)) == {"outputs": [[2, 4]]}
    assert value(ask(Adding(), {"inputs": {"a": [1], "b": [2]}}, path)) == {"outputs": {"sum": [3], "difference": [-1]}}


def test_tfserving_describes_the_model() -> None:
    assert (
        value(ask(Doubling(), b"", "v1/models/twice", method="GET"))["model_version_status"][0]["state"] == "AVAILABLE"
    )
    metadata = value(ask(Doubling(), b"", "v1/models/twice/metadata", method="GET"))
    signature = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT32"


@pytest.mark.parametrize("path, status", [("v1/models/twice:classify", 404), ("v1/x", 404)])
def test_tfserving_refuses_what_it_does_not_have(path: str, status: int) -> None:
    found = ask(Doubling(), {}, path)
    assert found.status == status and "error" in json.loads(found.body)


# ── The Open Inference Protocol ───────────────────────────────────────────────────────────────────────────────────────

INFER = "v2/models/twice/infer"


def tensor(**more: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": "FP32", "shape": [1, 2], **more}


def test_v2_infers_from_json() -> None:
    found = value(ask(Doubling(), {"id": "7", "inputs": [tensor(data=[1, 2])]}, INFER))
    assert found["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1, 2], "data": [2, 4]}]
    assert (found["id"], found["model_name"], found["model_version"]) == ("7", "twice", "3")


def test_v2_infers_from_binary_tensors() -> None:
    head = json.dumps(
        {"inputs": [tensor(parameters={"binary_data_size": 8})], "parameters": {"binary_data_output": True}}
    ).encode()
    body = head + np.array([[1, 2]], "float32").tobytes()
    found = ask(Doubling(), body, INFER, headers={"inference-header-content-length": str(len(head))})
    length = int(found.headers["Inference-Header-Content-Length"])
    assert json.loads(found.body[:length])["outputs"][0]["parameters"] == {"binary_data_size": 8}
    assert np.frombuffer(found.body[length:], "float32").tolist() == [2, 4]


def test_v2_describes_server_and_model() -> None:
    assert value(ask(Doubling(), b"", "v2", method="GET"))["extensions"] == ["binary_tensor_data"]
    assert ask(Doubling(), b"", "v2/health/ready", method="GET").status == 200
    assert ask(Doubling(), b"", "v2/models/twice/ready", method="GET").status == 200
    described = value(ask(Doubling(), b"", "v2/models/twice", method="GET"))
    assert described["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]


@pytest.mark.parametrize(
    "body, words",
    [
        ({"inputs": [tensor(data=[1])]}, "is not [1, 2] of FP32"),
        ({"inputs": [tensor(data=[1, 2], datatype="FP9")]}, "is not a tensor"),
        ({"inputs": [tensor(data=[1, 2, 3], shape=[1, 3])]}, "the model takes [any, 2]"),
        ({"inputs": [{**tensor(data=[1, 2]), "name": "z"}]}, "there is no input 'z'"),
        ({"inputs": 3}, "'inputs' is not a list"),
    ],
)
def test_v2_refuses_tensors_that_do_not_fit(body: Any, words: str) -> None:
    found = ask(Doubling(), body, INFER)
    assert found.status == 400 and words in json.loads(found.body)["error"]


def test_v2_knows_no_other_model() -> None:
    assert ask(Doubling(), {}, "v2/models/other/infer").status == 404


# ── Whose fault it is ─────────────────────────────────────────────────────────────────────────────────────────────────


class Picky(Doubling):
    """A model whose framework raises LookupError for inputs; one that is broken raises it for every input."""

    refusals = (LookupError,)
    is_broken = False

    def run(self, arrays: dict[str, Any], method: str) -> dict[str, Any]:
        if self.is_broken or (arrays["x"] > 100).any():
            raise LookupError("no such row")
        if not np.isfinite(arrays["x"]).all():
            raise AttributeError("no finite")
        return super().run(arrays, method)


class Narrow(Adding):
    inputs = (TensorSpec("a", "int8", (None,)), TensorSpec("b", "bool", (None,)))


@pytest.mark.parametrize("body", [b'{"data": [[NaN, 1]]}', b'{"data": [[null, 1]]}', b'{"data": [[101, 1]]}'])
def test_values_that_the_model_refuses_are_the_clients_error(body: bytes) -> None:
    model = Picky()
    for _ in range(2):  # also before the model has answered anything
        assert ask(model, body).status == 400
        assert ask(model, {"data": [[1, 2]]}).status == 200


def test_errors_for_inputs_of_a_model_that_always_fails_are_its_own() -> None:
    model = Picky()
    scorer = ModelScorer(model, READERS)
    assert [found.status for found in scorer.answer([request([1, 2])])] == [200]
    model.is_broken = True
    (found,) = scorer.answer([request([1, 2])])
    assert (found.status, json.loads(found.body)) == (500, {"message": "LookupError: no such row"})


@pytest.mark.parametrize(
    "estimator, data, status",
    [
        (LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), [[None]], 400),
        (LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), [[1.0, 2.0]], 400),
        (DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 3.0]), [[1e300]], 400),  # it computes in float32
        (HistGradientBoostingRegressor().fit([[0.0], [1.0]], [1.0, 3.0]), [[None]], 200),  # missing values are allowed
        (LinearRegression(), [[1.0]], 500),  # not fitted
    ],
)
def test_models_of_sklearn_refuse_inputs_with_400(tmp_path: Path, estimator: Any, data: Any, status: int) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(estimator))
    found = ask(load_model(str(tmp_path / "model.pkl"), "ScikitLearn", {}), {"data": data})
    assert found.status == status, found.body


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(
    "model, body, words",
    [
        (Doubling(), b'{"data": [[Infinity, 1]]}', "infinite, or too large for float32"),
        (Doubling(), b'{"data": [[1e999, 1]]}', "infinite, or too large for float32"),
        (Doubling(), b'{"data": [[1e39, 1]]}', "infinite, or too large for float32"),
        (Doubling(), b'{"data": [[1' + b"0" * 400 + b", 1]]}", "is not an array of float32"),
        (Narrow(), b'{"data": {"a": [300], "b": [1]}}', "'a' is not an array of int8"),
        (Narrow(), b'{"data": {"a": [3], "b": [2]}}', "'b' is not an array of bool"),
    ],
)
def test_numbers_that_the_input_cannot_hold_are_refused(model: LoadedModel, body: bytes, words: str) -> None:
    found = ask(model, body)
    assert found.status == 400 and words in json.loads(found.body)["message"]


ODD: list[Any] = [5, None, [], "x", [[]], {"a": 1}, [None], [5], 10**400]


@pytest.mark.parametrize(
    "path, template",
    [
        ("score", {"data": [[1, 2]], "method": "predict"}),
        ("score", {"inputs": {"x": [[1, 2]]}, "outputFilter": ["y"]}),
        ("score", {"inputs": {"x": {"dims": [1, 2], "floatData": [1, 2], "rawData": "", "dataType": 1}}}),
        ("v1/models/twice:predict", {"instances": [{"b64": "x"}]}),
        ("v1/models/twice:predict", {"inputs": {"x": {"b64": "x"}}}),
        ("v2/models/twice/infer", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2],
                                               "parameters": {"binary_data_size": None}}],
                                   "outputs": [{"name": "y", "parameters": {}}], "parameters": {}}),
    ],
)  # fmt: skip
def test_no_request_fails_the_model_or_its_neighbours(path: str, template: Any) -> None:
    good = request([1, 2])
    for body in _variations(template):
        requests = [good, ScoreRequest(json.dumps(body).encode(), path, headers={}), good]
        statuses = [found.status for found in ModelScorer(Doubling(), READERS).answer(requests)]
        assert statuses[::2] == [200, 200] and statuses[1] in (200, 400), (body, statuses)


def _variations(value: Any) -> Iterator[Any]:
    """Yield copies of a document with each of its values replaced by odd ones."""
    yield from ODD
    if isinstance(value, dict):
        pairs: dict[str, Any] = value
        for name, inner in pairs.items():
            yield from ({**pairs, name: other} for other in _variations(inner))
    elif isinstance(value, list):
        items: list[Any] = value
        for place, inner in enumerate(items):
            yield from ([*items[:place], other, *items[place + 1 :]] for other in _variations(inner))
