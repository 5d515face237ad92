"""Converting models, and comparing the conversion with the original. `tests/frameworks` converts the other ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from footplate.serving.worker.loaders.onnx import OnnxModel
from footplate.serving.worker.loaders.sklearn import SklearnModel
from footplate.serving.worker.onnx_conversion import TOLERANCE, convert, largest_difference, main

X = np.array([[0, 0], [1, 1], [0, 1], [3, 3]], dtype=np.float32)
ESTIMATORS = [
    LinearRegression().fit(X, [1.0, 20.0, 3.0, 400.0]),
    LogisticRegression().fit(X, [0, 1, 0, 1]),
    LogisticRegression().fit(X, ["no", "yes", "no", "yes"]),
    LogisticRegression().fit(pd.DataFrame(X, columns=["a", "b"]), [True, False, True, False]),
]


def job_of(estimator: Any, folder: Path, sample: Any) -> dict[str, Any]:
    joblib.dump(estimator, folder / "model.pkl")
    files = {name: str(folder / name) for name in ("target.onnx", "report.json")}
    return {
        "path": str(folder / "model.pkl"), "framework": "ScikitLearn", "sample": sample,
        "target": files["target.onnx"], "report": files["report.json"],
    }  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_conversion_gives_the_same_outputs(estimator: Any, tmp_path: Path) -> None:
    report = convert(job_of(estimator, tmp_path, (X + 0.1).tolist()))
    assert report["rows"] == 4 and report["largest_difference"] < TOLERANCE


def test_a_conversion_of_another_model_is_noticed(tmp_path: Path) -> None:
    def difference(one: Any, other: Any) -> float:
        (tmp_path / "one.onnx").write_bytes(SklearnModel(one).to_onnx({"data": X}))
        return largest_difference(SklearnModel(other), OnnxModel(str(tmp_path / "one.onnx"), 1, gpu=False), {"data": X})

    assert difference(LinearRegression().fit(X, [0, 1, 2, 3]), LinearRegression().fit(X, [0, 1, 2, 4])) > TOLERANCE
    yes, no = LogisticRegression().fit(X, ["a", "b", "a", "b"]), LogisticRegression().fit(X, ["b", "a", "b", "a"])
    assert difference(yes, no) == 1


class Broken(LinearRegression):
    """An estimator that skl2onnx does not know."""

    def predict(self, X: Any) -> Any:
        return super().predict(X) + 1


@pytest.mark.parametrize(
    ("estimator", "sample", "expected"),
    [
        (ESTIMATORS[0], [["a", "b"]], "the sample does not fit the model: input 'data' is not an array of float64"),
        (ESTIMATORS[3], [["a", 1.0]], "the sample does not fit the model: it has texts"),
        (Broken().fit(X, [0, 1, 2, 3]), X.tolist(), "the model cannot be converted: "),
        ("text", X.tolist(), "the file holds a str, which has no method predict"),
    ],
)
def test_the_report_says_why_a_model_is_not_converted(
    estimator: Any, sample: Any, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job_of(estimator, tmp_path, sample)))
    assert main(str(tmp_path / "job.json")) == 1
    error = json.loads((tmp_path / "report.json").read_text())["error"]
    assert error.startswith(expected) and "\nhint: " in error
