"""LightGBM boosters, saved with `save_model`, or pickled estimators of its scikit-learn interface."""

from __future__ import annotations

import importlib
from typing import Any, Mapping

from footplate.serving.worker.loaders import boosters, find_file, sklearn, threads_of
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, np

lightgbm: Any = importlib.import_module("lightgbm")


class LightGBMModel(boosters.BoosterModel):
    """A booster."""

    framework = "LightGBM"
    refusals = (lightgbm.basic.LightGBMError, ValueError, TypeError)

    def __init__(self, file: str, threads: int) -> None:
        booster = lightgbm.Booster(model_file=file)
        super().__init__(booster, "float64", booster.num_feature())
        self._threads = threads

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {method: np.asarray(self._booster.predict(arrays["data"], num_threads=self._threads))}


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load a booster's file, or a pickle."""
    file = find_file(path, ".txt", ".lgb", ".model", ".pkl", ".joblib", ".pickle")
    if file.endswith((".pkl", ".joblib", ".pickle")):
        return sklearn.load(file, options)
    return LightGBMModel(file, threads_of(options))
