"""What gradient-boosted trees of XGBoost and LightGBM have in common: a booster's columns, and conversion to ONNX."""

from __future__ import annotations

import importlib
from typing import Any, List, Tuple

from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec

FAMILIES = ("xgboost", "lightgbm")


def family_of(estimator: Any) -> str:
    """Return the package that an object comes from."""
    return type(estimator).__module__.partition(".")[0]


def to_onnx(estimator: Any, features: int) -> bytes:
    """Convert with onnxmltools; a classifier has the outputs `label` and `probabilities`."""
    onnxmltools: Any = importlib.import_module("onnxmltools")
    types: Any = importlib.import_module("onnxmltools.convert.common.data_types")
    inputs = [("data", types.FloatTensorType([None, features]))]
    if family_of(estimator) == "lightgbm":
        return onnxmltools.convert_lightgbm(estimator, initial_types=inputs, zipmap=False).SerializeToString()
    booster = estimator.get_booster() if hasattr(estimator, "get_booster") else estimator
    names, booster.feature_names = booster.feature_names, None  # onnxmltools takes only f0, f1, …
    try:
        return onnxmltools.convert_xgboost(estimator, initial_types=inputs).SerializeToString()
    finally:
        booster.feature_names = names


class BoosterModel(LoadedModel):
    """A booster with a number of columns."""

    def __init__(self, booster: Any, dtype: str, features: int) -> None:
        self._booster = booster
        self._features = features
        self.inputs = [TensorSpec("data", dtype, (None, features))]

    def to_onnx(self, arrays: Arrays) -> bytes:
        return to_onnx(self._booster, self._features)

    def pairs(self, arrays: Arrays, found: Arrays) -> List[Tuple[Any, Any]]:
        """Pair the prediction of the booster with an output of its conversion.

        A booster predicts values, the probability of the second class, the probabilities of all classes, or the class.
        """
        predicted = self.run(arrays, "predict")["predict"]
        if "probabilities" not in found:
            return [(predicted, next(iter(found.values())))]
        probabilities = found["probabilities"]
        if predicted.ndim == 1:
            return [(predicted, probabilities[:, 1] if probabilities.shape[1] == 2 else found["label"])]
        return [(predicted, probabilities)]
