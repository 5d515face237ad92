"""scikit-learn models, pickled with joblib or pickle."""

from __future__ import annotations

import importlib
import pickle
from typing import Any, List, Mapping, Optional, Tuple

from footplate.serving.worker.loaders import CannotLoad, boosters, find_file
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np


class SklearnModel(LoadedModel):
    """An estimator with `predict`. As on Azure, `predict_proba` is called by default where the model has it."""

    framework = "ScikitLearn"
    refusals = (ValueError, TypeError)

    def __init__(self, estimator: Any) -> None:
        if not hasattr(estimator, "predict"):
            raise CannotLoad(
                f"the file holds a {type(estimator).__name__}, which has no method predict\n"
                "hint: register a fitted estimator, or give an entry script"
            )
        self._estimator = estimator
        self._columns = _names(estimator)
        features: Optional[int] = getattr(estimator, "n_features_in_", None)
        dtype = "object" if self._columns and _pandas() is not None else "float64"
        self.inputs = [TensorSpec("data", dtype, (None, features) if features else None, tuple(self._columns))]
        methods = ("predict_proba", "predict", "decision_function", "transform")
        self.methods = tuple(name for name in methods if hasattr(estimator, name))

    @property
    def batches(self) -> bool:
        return True  # every estimator takes any number of rows

    def run(self, arrays: Arrays, method: str) -> Arrays:
        data: Any = arrays["data"]
        pandas = _pandas()
        if self._columns and pandas is not None:
            data = pandas.DataFrame(data, columns=self._columns).infer_objects()
        return {method: np.asarray(getattr(self._estimator, method)(data))}

    def refuses(self, error: Exception) -> bool:
        return super().refuses(error) and not isinstance(error, AttributeError)  # NotFittedError is both

    def to_onnx(self, arrays: Arrays) -> bytes:
        """Convert with skl2onnx; a classifier has the outputs `label` and `probabilities`."""
        sample = arrays["data"].astype("float32")
        if boosters.family_of(self._estimator) in boosters.FAMILIES:
            return boosters.to_onnx(self._estimator, sample.shape[1])
        options = {"zipmap": False} if "predict_proba" in self.methods else None
        skl2onnx: Any = importlib.import_module("skl2onnx")
        return skl2onnx.to_onnx(self._estimator, sample[:1], options=options).SerializeToString()

    def pairs(self, arrays: Arrays, found: Arrays) -> List[Tuple[Any, Any]]:
        methods = [name for name in ("predict", "predict_proba") if name in self.methods]
        return [(self.run(arrays, name)[name], value) for name, value in zip(methods, found.values())]


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load a pickled estimator."""
    file = find_file(path, ".pkl", ".joblib", ".pickle")
    try:
        joblib: Any = importlib.import_module("joblib")
    except ImportError:
        with open(file, "rb") as stream:
            return SklearnModel(pickle.load(stream))
    return SklearnModel(joblib.load(file))


def _names(estimator: Any) -> List[str]:
    names = getattr(estimator, "feature_names_in_", None)
    return [] if names is None else [str(name) for name in names]


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None
