"""`python -m footplate.sdk.models.onnx_job NAME:VERSION`: convert a model to ONNX, and compare both on a sample.

It runs as a job. `sample.json` in its folder holds rows of numbers; the result is `outputs/NAME.onnx`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, List

from footplate.sdk.models.model import Model
from footplate.sdk.models.onnx_conversion import RESULT, SAMPLE
from footplate.sdk.runs.run import Run

TOLERANCE = 1e-3
"""The largest difference of two outputs, relative to 1 and to their size: ONNX computes in 32 bits."""


def main(model_id: str) -> None:
    name, _, version = model_id.rpartition(":")
    numpy = _load("numpy")
    with open(SAMPLE, encoding="utf-8") as file:
        sample = numpy.asarray(json.load(file), dtype="float32")
    estimator = _load("joblib").load(Model.get_model_path(name, version=int(version)))
    content = convert(estimator, sample)
    largest = largest_difference(content, estimator, sample)
    Run.get_context().log("largest_difference", largest)
    if not largest <= TOLERANCE:
        sys.exit(f"the outputs of {model_id} and its conversion differ by {largest:g}, more than {TOLERANCE:g}\n"
                 "hint: serve the model itself")  # fmt: skip
    os.makedirs("outputs", exist_ok=True)
    with open(RESULT.format(name), "wb") as file:
        file.write(content)
    print(f"{model_id} is converted; the largest difference on {len(sample)} rows is {largest:g}")


def convert(estimator: Any, sample: Any) -> bytes:
    """Return a scikit-learn estimator as ONNX; a classifier has the outputs `label` and `probabilities`."""
    options = {"zipmap": False} if hasattr(estimator, "predict_proba") else None
    return _load("skl2onnx").to_onnx(estimator, sample[:1], options=options).SerializeToString()


def largest_difference(content: bytes, estimator: Any, sample: Any) -> float:
    """Return the largest difference of all outputs: relative for numbers, 1 where labels differ."""
    session = _load("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    found: List[Any] = session.run(None, {session.get_inputs()[0].name: sample})
    methods = ("predict", "predict_proba") if hasattr(estimator, "predict_proba") else ("predict",)
    expected = [getattr(estimator, method)(sample) for method in methods]
    return max(_difference(left, right) for left, right in zip(found, expected))


def _difference(left: Any, right: Any) -> float:
    numpy = _load("numpy")
    right = numpy.asarray(right)
    left = numpy.asarray(left).reshape(right.shape)
    if right.dtype.kind not in "fiub":
        return float((left.astype(str) != right.astype(str)).any())
    return float((numpy.abs(left - right) / (1 + numpy.abs(right))).max())


def _load(name: str) -> Any:
    """Import a package of the environment; without it, end with an error that names it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        sys.exit(f"the environment has no package {error.name!r}\nhint: install {error.name} in {sys.executable}")


if __name__ == "__main__":
    main(sys.argv[1])
