"""XGBoost boosters, saved with `save_model`, or pickled estimators of its scikit-learn interface."""

from __future__ import annotations

import importlib
from typing import Any, Mapping

from footplate.serving.worker.loaders import boosters, find_file, sklearn
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, np

xgboost: Any = importlib.import_module("xgboost")


class XGBoostModel(boosters.BoosterModel):
    """A booster."""

    framework = "XGBoost"
    refusals = (xgboost.core.XGBoostError, ValueError, TypeError)

    def __init__(self, file: str) -> None:
        booster = xgboost.Booster(model_file=file)
        super().__init__(booster, "float32", booster.num_features())

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {method: np.asarray(self._booster.inplace_predict(arrays["data"], validate_features=False))}


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load a booster's file, or a pickle."""
    file = find_file(path, ".json", ".ubj", ".xgb", ".model", ".bin", ".pkl", ".joblib", ".pickle")
    return sklearn.load(file, options) if file.endswith((".pkl", ".joblib", ".pickle")) else XGBoostModel(file)
