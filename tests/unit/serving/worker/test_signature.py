"""Samples complete the signature of a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from footplate.serving.worker.messages import ScoreRequest
from footplate.serving.worker.model_scorer import LoadedModel, ModelScorer
from footplate.serving.worker.payloads import READERS
from footplate.serving.worker.signature import complete
from footplate.serving.worker.tensors import Arrays, TensorSpec

COLUMNS = [{"name": "age", "dtype": "int64"}, {"name": "height", "dtype": "float64"}]


class Echo(LoadedModel):
    def __init__(self, spec: TensorSpec) -> None:
        self.inputs = [spec]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {method: arrays["data"]}


def ask(model: LoadedModel, data: Any) -> tuple[int, Any]:
    (answer,) = ModelScorer(model, READERS).answer([ScoreRequest(json.dumps({"data": data}).encode())])
    return answer.status, json.loads(answer.body)


def test_a_sample_gives_the_shape_that_a_model_does_not_tell() -> None:
    model = Echo(TensorSpec("data", "float32"))
    assert ask(model, [[1, 2, 3]])[0] == 200 and not model.batches
    complete(model, {"inputs": COLUMNS, "outputs": [{"name": "score", "dtype": "float64"}]})
    assert model.batches
    assert model.inputs == [TensorSpec("data", "float32", (None, 2), ("age", "height"))]
    assert model.outputs == [TensorSpec("predict", "float64", (None,))]
    status, answer = ask(model, [[1, 2, 3]])
    expected = "input 'data' has the shape [1, 3], and the model takes [any, 2]: age, height"
    assert (status, answer) == (400, {"message": expected})


def test_whole_numbers_of_a_sample_stay_whole() -> None:
    model = Echo(TensorSpec("data", "float32"))
    complete(model, {"inputs": [{"name": "token", "dtype": "int64"}]})
    assert ask(model, [[7]]) == (200, {"predict": [[7]]})
    assert model.inputs[0].dtype == "int64"


def test_records_are_read_by_the_names_of_columns() -> None:
    model = Echo(TensorSpec("data", "float32", (None, 2)))
    complete(model, {"inputs": COLUMNS})
    assert ask(model, [{"height": 2, "age": 1}, {"age": 3, "height": 4}]) == (200, {"predict": [[1, 2], [3, 4]]})
    status, answer = ask(model, [{"height": 2}])
    assert (status, answer["message"]) == (400, "column 'age' is missing: the model takes age, height")
    status, answer = ask(model, [{"height": 2, "age": 1, "x": 1}])
    assert (status, answer["message"]) == (400, "there is no column 'x': the model takes age, height")


def test_a_sample_that_does_not_fit_the_model_is_not_used() -> None:
    spec = TensorSpec("data", "float32", (None, 3))
    model = Echo(spec)
    with pytest.warns(UserWarning, match=r"has 2 columns, but its input has the shape \[None, 3\]"):
        complete(model, {"inputs": COLUMNS})
    assert model.inputs == [spec]


def test_a_model_keeps_the_names_and_outputs_that_it_has() -> None:
    model = Echo(TensorSpec("data", "object", (None, 2), ("a", "b")))
    model.outputs = [TensorSpec("y", "float32")]
    complete(model, {"inputs": COLUMNS, "outputs": COLUMNS})
    assert (model.inputs[0].columns, model.outputs) == (("a", "b"), [TensorSpec("y", "float32")])
