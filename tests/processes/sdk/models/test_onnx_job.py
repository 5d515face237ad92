"""The process that a conversion job starts, and its report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import joblib
from sklearn.linear_model import LinearRegression

from footplate.sdk.models.onnx_job import convert


def test_a_job_returns_the_report_of_the_conversion(tmp_path: Path) -> None:
    joblib.dump(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), tmp_path / "line.pkl")
    job = {"path": str(tmp_path / "line.pkl"), "framework": "ScikitLearn", "target": str(tmp_path / "line.onnx")}
    report = convert({**job, "sample": [[2.0], [5.0], [9.0]]})
    assert report["rows"] == 3 and report["largest_difference"] < 1e-6
    assert (tmp_path / "line.onnx").stat().st_size > 0
    error = convert({**job, "sample": [[2.0, 1.0]]})["error"]
    assert error.startswith("the sample does not fit the model: input 'data' has the shape [1, 2], and the model takes")


class Exit:
    """A pickle that ends the process that loads it."""

    def __reduce__(self) -> Any:
        return os._exit, (7,)


def test_a_conversion_that_dies_is_reported(tmp_path: Path) -> None:
    joblib.dump(Exit(), tmp_path / "exit.pkl")
    job = {"path": str(tmp_path / "exit.pkl"), "framework": "ScikitLearn", "target": str(tmp_path / "x.onnx")}
    assert convert({**job, "sample": [[1.0]]})["error"].startswith("the conversion ended with exit code 7\nhint: ")
