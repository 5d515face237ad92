"""ONNX models, evaluated by ONNX Runtime on the GPU where its build for GPUs is installed, else on the CPU."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, Sequence, cast

from footplate.serving.worker.loaders import find_file
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

ort: Any = importlib.import_module("onnxruntime")

_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(int16)": "int16",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(uint16)": "uint16",
    "tensor(uint32)": "uint32",
    "tensor(uint64)": "uint64",
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}


class OnnxModel(LoadedModel):
    """An inference session."""

    framework = "Onnx"

    def __init__(self, path: str, threads: int) -> None:
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        providers = [name for name in ort.get_available_providers() if name.startswith(("CUDA", "CPU"))]
        self._session = ort.InferenceSession(path, settings, providers=providers)
        self.inputs = [_spec(tensor) for tensor in self._session.get_inputs()]
        self._names = [tensor.name for tensor in self._session.get_outputs()]
        self.outputs = [_spec(tensor) for tensor in self._session.get_outputs()]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {name: _array(value) for name, value in zip(self._names, self._session.run(None, arrays))}


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load the one `.onnx` file at `path`."""
    return OnnxModel(find_file(path, ".onnx"), max(1, int(float(options.get("cpu_cores") or 1))))


def _spec(tensor: Any) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) and size > 0 else None for size in tensor.shape or ())
    return TensorSpec(tensor.name, _TYPES.get(tensor.type, "object"), shape)


def _array(value: Any) -> Any:
    """Return an output as an array: classifiers that skl2onnx made give a list of dictionaries for probabilities."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return np.array([list(row.values()) for row in cast("Sequence[Mapping[Any, Any]]", value)])
    return np.asarray(value)
