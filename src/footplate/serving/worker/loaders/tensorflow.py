"""TensorFlow models: SavedModel folders, and Keras files (`.keras`, `.h5`)."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence, cast

from footplate.serving.worker.loaders import CannotLoad, files_of
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

tf: Any = importlib.import_module("tensorflow")


class SavedModel(LoadedModel):
    """The serving signature of a SavedModel."""

    framework = "TensorFlow"
    refusals = (tf.errors.InvalidArgumentError, ValueError, TypeError)

    def __init__(self, folder: str) -> None:
        self._folder = folder
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

    def to_onnx(self, arrays: Arrays) -> bytes:
        return _convert(self._folder)


class KerasModel(LoadedModel):
    """A Keras model with its inputs by name."""

    framework = "TensorFlow"
    refusals = (tf.errors.InvalidArgumentError, ValueError, TypeError)

    def __init__(self, file: str) -> None:
        self._model = tf.keras.models.load_model(file, compile=False)
        inputs, outputs = (getattr(self._model, kind, None) for kind in ("input", "output"))  # Sequential has neither
        self._by_name = isinstance(inputs, dict)
        self.inputs = _keras_specs(self._model.inputs if inputs is None else inputs, "input")
        self.outputs = _keras_specs(self._model.outputs if outputs is None else outputs, "output")

    def run(self, arrays: Arrays, method: str) -> Arrays:
        inputs: Any = {spec.name: arrays[spec.name] for spec in self.inputs}
        if not self._by_name:
            inputs = list(inputs.values()) if len(inputs) > 1 else next(iter(inputs.values()))
        results = self._model(inputs, training=False)
        if isinstance(results, dict):
            return {name: np.asarray(value) for name, value in cast("Mapping[str, Any]", results).items()}
        return {spec.name: np.asarray(result) for spec, result in zip(self.outputs, _as_list(results))}

    def to_onnx(self, arrays: Arrays) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            self._model.export(folder)
            return _convert(folder)


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


def _convert(folder: str) -> bytes:
    """Convert a SavedModel by the command of tf2onnx, which keeps the names of the signature."""
    importlib.import_module("tf2onnx")  # the error names the package if it is missing
    with tempfile.TemporaryDirectory() as target:
        file = os.path.join(target, "model.onnx")
        command = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", folder, "--output", file]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode or not os.path.exists(file):
            last = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise CannotLoad(f"tf2onnx could not convert the model: {''.join(last)}\nhint: serve the model itself")
        with open(file, "rb") as stream:
            return stream.read()


def _spec(name: str, tensor: Any) -> TensorSpec:
    dtype = "object" if tensor.dtype == tf.string else tensor.dtype.name
    return TensorSpec(name, dtype, None if tensor.shape.rank is None else tuple(tensor.shape.as_list()))


def _keras_specs(structure: Any, kind: str) -> list[TensorSpec]:
    """Return the tensors of a model: one, a list of them, or a dictionary by name."""
    if isinstance(structure, dict):
        named = cast("Mapping[str, Any]", structure)
        return [_keras_spec(name, tensor) for name, tensor in named.items()]
    return [
        _keras_spec(str(getattr(tensor, "name", "") or f"{kind}_{number}").split(":")[0], tensor)
        for number, tensor in enumerate(_as_list(structure))
    ]


def _keras_spec(name: str, tensor: Any) -> TensorSpec:
    return TensorSpec(name, getattr(tensor.dtype, "name", str(tensor.dtype)), tuple(tensor.shape))


def _as_list(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else [value]
