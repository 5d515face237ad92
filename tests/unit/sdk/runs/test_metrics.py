from __future__ import annotations

import decimal
import json
import math

import numpy as np
import pytest

from footplate.domain.replies import MetricSeries
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.runs import metrics


def series(name: str, kind: str, *values: object, dropped: int = 0) -> MetricSeries:
    points = [[float(i), None, value] for i, value in enumerate(values)]
    return MetricSeries(name, kind, points, dropped)


class TorchLike:
    """A tensor with one element, whose `size` is a method."""

    def __init__(self, value: float) -> None:
        self._value = value

    def numel(self) -> int:
        return 1

    def size(self) -> tuple[int, ...]:
        return ()

    def item(self) -> float:
        return self._value


class TensorFlowLike:
    """An eager tensor, which has no `item`."""

    def __init__(self, value: float) -> None:
        self._value = value

    def numpy(self) -> np.float32:
        return np.float32(self._value)


@pytest.mark.parametrize(
    "value, plain",
    [
        (1.5, 1.5),
        (3, 3),
        ("x", "x"),
        (True, True),
        (None, None),
        (np.float32(0.5), 0.5),
        (np.float64(0.25), 0.25),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([4]), 4),
        (np.array(2.0), 2.0),
        (decimal.Decimal("0.5"), 0.5),
        (np.longdouble(1.5), 1.5),
        (TorchLike(2.5), 2.5),
        (TensorFlowLike(0.5), 0.5),
    ],
)
def test_scalars_become_plain(value: object, plain: object):
    made = metrics.scalar(value, "m")
    assert made == plain and type(made) is type(plain)


@pytest.mark.parametrize("value", [[1], range(3), (i for i in range(3))])
def test_log_refuses_several_values(value: object):
    with pytest.raises(UserErrorException, match="log_list"):
        metrics.scalar(value, "m")


def test_any_other_object_is_logged_as_its_repr(caplog: pytest.LogCaptureFixture):
    assert metrics.scalar({"a": 1}, "m") == "{'a': 1}"
    assert metrics.scalar(np.array([1, 2]), "m") == "array([1, 2])"
    assert "m" in caplog.text


def test_dictionaries_become_several_series():
    assert metrics.named_values({"loss": 1, "val": {"loss": 2}}, ...) == [("loss", 1), ("val/loss", 2)]
    assert metrics.named_values("val", {"loss": 1}) == [("val/loss", 1)]
    with pytest.raises(UserErrorException, match="metric 'loss' has no value"):
        metrics.named_values("loss", ...)


def test_lists():
    assert metrics.scalars((i * 0.5 for i in range(3)), "m") == [0.0, 0.5, 1.0]
    assert metrics.scalars(np.array([1, 2]), "m") == [1, 2]
    for bad in ([[1]], "text", 5, [object()]):
        with pytest.raises(AzureMLException):
            metrics.scalars(bad, "m")


def test_rows():
    assert metrics.row({"x": 1, "y": np.float32(0.5)}, "m") == {"x": 1, "y": 0.5}
    with pytest.raises(AzureMLException, match=r"m\.x"):
        metrics.row({"x": [1]}, "m")
    with pytest.raises(AzureMLException, match="no columns"):
        metrics.row({}, "m")


def test_tables():
    assert metrics.table({"x": [1, 2], "y": range(2)}, "t") == {"x": [1, 2], "y": [0, 1]}
    assert metrics.table({"x": 1, "y": [2]}, "t") == {"x": [1], "y": [2]}
    with pytest.raises(AzureMLException, match="differ in length"):
        metrics.table({"x": [1, 2], "y": [1]}, "t")
    with pytest.raises(AzureMLException):
        metrics.table([1], "t")


def test_json_documents():
    assert json.loads(metrics.json_document({"a": np.array([1, 2])}, "m")) == {"a": [1, 2]}
    assert metrics.json_document('{"a": 1}', "m") == '{"a": 1}'
    with pytest.raises(UserErrorException, match="not valid JSON"):
        metrics.json_document("{", "m")
    with pytest.raises(UserErrorException, match="cannot be written"):
        metrics.json_document({"a": object()}, "m")


def test_one_value_is_bare_and_several_are_a_list():
    found = metrics.shapes(
        [series("once", "scalar", 0.5), series("twice", "scalar", 1, 2), series("word", "scalar", "x")], "r"
    )
    assert found == {"once": 0.5, "twice": [1, 2], "word": "x"}
    assert type(found["once"]) is float and type(found["twice"][0]) is int


def test_lists_of_one_collapse_and_further_lists_are_appended():
    found = metrics.shapes([series("one", "list", [7]), series("two", "list", [1, 2], [3])], "r")
    assert found == {"one": 7, "two": [1, 2, 3]}


def test_tables_of_one_row_are_bare_and_longer_ones_are_lists():
    found = metrics.shapes(
        [
            series("row", "table", {"x": 1, "y": 2}),
            series("rows", "table", {"x": 1}, {"x": [2, 3]}),
            series("table", "table", {"x": [1, 2]}),
        ],
        "r",
    )
    assert found == {"row": {"x": 1, "y": 2}, "rows": {"x": [1, 2, 3]}, "table": {"x": [1, 2]}}


def test_values_of_another_kind_are_reported_as_left_out(caplog: pytest.LogCaptureFixture):
    assert metrics.shapes([series("m", "scalar", 0.5, dropped=2)], "r") == {"m": 0.5}
    assert "2 values of another kind" in caplog.text


def test_artifacts_are_uris():
    found = metrics.shapes([series("img", "artifact", {"path": "a/b.png", "type": "image"})], "run_1")
    assert found == {"img": "aml://artifactId/ExperimentRun/dcid.run_1/a/b.png"}


def test_nan_and_infinity_survive_json():
    found = metrics.shapes(
        [series("m", "scalar", {"float": "NaN"}, "NaN"), series("l", "list", [1.0, {"float": "Infinity"}])], "r"
    )
    assert math.isnan(found["m"][0]) and found["m"][1] == "NaN" and found["l"] == [1.0, math.inf]
