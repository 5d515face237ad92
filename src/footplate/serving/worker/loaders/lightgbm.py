"""LightGBM boosters, saved with `save_model`, or pickled estimators of its scikit-learn interface."""

from __future__ import annotations

import importlib
from typing import Any, List, Mapping, Tuple

from footplate.serving.worker.loaders import boosters, find_file, sklearn
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

lightgbm: Any = importlib.import_module("lightgbm")


class LightGBMModel(LoadedModel):
    """A booster."""

    framework = "LightGBM"
    refusals = (lightgbm.basic.LightGBMError, ValueError, TypeError)

    def __init__(self, file: str, threads: int) -> None:
        self._booster = lightgbm.Booster(model_file=file)
        self._threads = threads
        self.inputs = [TensorSpec("data", "float64", (None, self._booster.num_feature()))]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {method: np.asarray(self._booster.predict(arrays["data"], num_threads=self._threads))}

    def to_onnx(self, arrays: Arrays) -> bytes:
        return boosters.to_onnx(self._booster, self._booster.num_feature())

    def pairs(self, arrays: Arrays, found: Arrays) -> List[Tuple[Any, Any]]:
        return boosters.pairs(self.run(arrays, "predict")["predict"], found)


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load a booster's file, or a pickle."""
    file = find_file(path, ".txt", ".lgb", ".model", ".pkl", ".joblib", ".pickle")
    if file.endswith((".pkl", ".joblib", ".pickle")):
        return sklearn.load(file, options)
    return LightGBMModel(file, max(1, int(float(options.get("cpu_cores") or 1))))
