"""`python -m footplate.serving.worker.onnx_conversion JOB.json`: convert a model, and compare both on a sample.

JOB.json holds `path` and `framework` of the model, `sample` (values as a request has them under "data"), `target` for
the ONNX file and `report` for a file with `largest_difference` and `rows`, or with `error`.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, Dict

from footplate.domain.serving.pickles import numpy_hint
from footplate.serving.worker.loaders import CannotLoad, load_model
from footplate.serving.worker.messages import Refused
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.payloads import read_data
from footplate.serving.worker.tensors import Arrays, np, to_arrays

TOLERANCE = 1e-3
"""The largest difference of two outputs, relative to 1 and to their size: ONNX computes in 32 bits."""


def main(job_file: str) -> int:
    with open(job_file, encoding="utf-8") as file:
        job: Dict[str, Any] = json.load(file)
    try:
        report = convert(job)
    except ImportError as error:
        traceback.print_exc()
        missing = f"the environment has no package {error.name!r}", f"install {error.name} in {sys.executable}"
        hint = numpy_hint(str(error), np.__version__)
        words = (f"the model cannot be loaded: {error}", hint) if hint else missing
        report = {"error": "\nhint: ".join(words)}
    except CannotLoad as error:
        report = {"error": str(error)}
    except Refused as error:
        report = {
            "error": f"the sample does not fit the model: {error.message}\nhint: give rows as the model takes them"
        }
    except Exception as error:
        traceback.print_exc()
        hint = numpy_hint(str(error), np.__version__) or "the log of the run has the traceback; serve the model itself"
        report = {"error": f"the model cannot be converted: {type(error).__name__}: {error}\nhint: {hint}"}
    with open(job["report"], "w", encoding="utf-8") as file:
        json.dump(report, file)
    return 1 if "error" in report else 0


def convert(job: Dict[str, Any]) -> Dict[str, Any]:
    """Write the ONNX file unless its outputs differ, and return the report."""
    model = load_model(job["path"], job["framework"], {})
    arrays = {name: round_to_32_bits(array) for name, array in read_data(model, job["sample"]).items()}
    with open(job["target"], "wb") as file:
        file.write(model.to_onnx(arrays))
    largest = largest_difference(model, load_model(job["target"], "Onnx", {}), arrays)
    if not largest <= TOLERANCE:
        return {"error": f"the outputs of the model and its conversion differ by {largest:g}, more than {TOLERANCE:g}\n"
                         "hint: serve the model itself"}  # fmt: skip
    return {"largest_difference": largest, "rows": max(len(array) for array in arrays.values())}


def round_to_32_bits(array: Any) -> Any:
    """Return numbers as 32 bits hold them: both models have to see the same ones."""
    if array.dtype.kind not in "OUf":
        return array
    try:
        return array.astype("float32").astype(array.dtype)
    except (TypeError, ValueError):
        raise Refused("it has texts, which a conversion cannot take") from None


def largest_difference(model: LoadedModel, converted: LoadedModel, arrays: Arrays) -> float:
    """Return the largest difference of all outputs: relative for numbers, 1 where labels differ."""
    names = [spec.name for spec in converted.inputs]
    inputs = arrays if set(arrays) == set(names) else dict(zip(names, arrays.values()))
    outputs = converted.run(to_arrays(converted.inputs, inputs), "predict")
    return max(_difference(*pair) for pair in model.pairs(arrays, outputs))


def _difference(expected: Any, actual: Any) -> float:
    if actual.size != expected.size:
        return float("inf")
    expected = expected.astype("int8") if expected.dtype.kind == "b" else expected  # ONNX labels classes 0 and 1
    actual = actual.reshape(expected.shape).astype("int8" if actual.dtype.kind == "b" else actual.dtype)
    if expected.dtype.kind not in "fiu":
        return float((actual.astype(str) != expected.astype(str)).any())
    return float(np.max(np.abs(actual - expected) / (1 + np.abs(expected)), initial=0.0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
