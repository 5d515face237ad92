"""TensorFlow models: SavedModel folders, and Keras files (`.keras`, `.h5`)."""

from __future__ import annotations

import importlib
import os
from typing import Any, Mapping, Sequence, cast

from footplate.serving.worker.loaders import CannotLoad, files_of
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

tf: Any = importlib.import_module("tensorflow")


class SavedModel(LoadedModel):
    """The serving signature of a SavedModel."""

    framework = "TensorFlow"

    def __init__(self, folder: str) -> None:
        self._loaded = tf.saved_model.load(folder)  # kept: the signature refers to its variables
        signatures = dict(self._loaded.signatures)
        if not signatures:
            raise CannotLoad(
                f"the SavedModel at {folder} has no signatures\nhint: save it with tf.saved_model.save(…, signatures=…)"
            )
        self._function = signatures.get("serving_default") or next(iter(signatures.values()))
        tensors: dict[str, Any] = self._function.structured_input_signature[1]
        self.inputs = [_spec(name, tensor) for name, tensor in tensors.items()]
        self.outputs = [_spec(name, tensor) for name, tensor in self._function.structured_outputs.items()]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        tensors = {
            spec.name: tf.constant(arrays[spec.name], dtype=tf.string if spec.dtype == "object" else spec.dtype)
            for spec in self.inputs
        }
        return {name: np.asarray(value.numpy()) for name, value in self._function(**tensors).items()}


class KerasModel(LoadedModel):
    """A Keras model with its inputs by name."""

    framework = "TensorFlow"

    def __init__(self, file: str) -> None:
        self._model = tf.keras.models.load_model(file, compile=False)
        self.inputs = [_keras_spec(tensor, "input", number) for number, tensor in enumerate(self._model.inputs)]
        self.outputs = [_keras_spec(tensor, "output", number) for number, tensor in enumerate(self._model.outputs)]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        given = [arrays[spec.name] for spec in self.inputs]
        results = self._model(given[0] if len(given) == 1 else given, training=False)
        listed = cast("Sequence[Any]", results) if isinstance(results, (list, tuple)) else [results]
        return {spec.name: np.asarray(result) for spec, result in zip(self.outputs, listed)}


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load the SavedModel or the Keras file at `path`."""
    for file in files_of(path):
        if os.path.basename(file) == "saved_model.pb":
            return SavedModel(os.path.dirname(file))
        if file.endswith((".keras", ".h5", ".hdf5")):
            return KerasModel(file)
    raise CannotLoad(
        f"{path} has neither saved_model.pb nor a .keras or .h5 file\nhint: register the folder that model.export made"
    )


def _spec(name: str, tensor: Any) -> TensorSpec:
    dtype = "object" if tensor.dtype == tf.string else tensor.dtype.name
    return TensorSpec(name, dtype, None if tensor.shape.rank is None else tuple(tensor.shape.as_list()))


def _keras_spec(tensor: Any, kind: str, number: int) -> TensorSpec:
    name = str(getattr(tensor, "name", "") or f"{kind}_{number}").split(":")[0]
    dtype = getattr(tensor.dtype, "name", str(tensor.dtype))
    return TensorSpec(name, dtype, tuple(tensor.shape))
