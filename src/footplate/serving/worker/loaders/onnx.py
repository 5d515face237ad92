"""ONNX models, evaluated by ONNX Runtime: on the GPU if the service has one, else on the CPU."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, Sequence, cast

from footplate.serving.worker.loaders import CannotLoad, find_file, threads_of
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

ort: Any = importlib.import_module("onnxruntime")

_GPU, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_NO_GPU = (
    "the service asks for a GPU, and ONNX Runtime {version} uses only the CPU here\n"
    "hint: add onnxruntime-gpu[cuda,cudnn] to the environment in place of onnxruntime, or deploy without gpu_cores"
)
_SAME_IN_BOTH = ("float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
_TYPES = {
    **{f"tensor({name})": name for name in _SAME_IN_BOTH},
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(string)": "object",
}


class OnnxModel(LoadedModel):
    """An inference session."""

    framework = "Onnx"
    refusals = (
        ort.capi.onnxruntime_pybind11_state.InvalidArgument,
        ort.capi.onnxruntime_pybind11_state.RuntimeException,
    )

    def __init__(self, path: str, threads: int, gpu: bool) -> None:
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        providers = [_GPU, _CPU] if gpu and _can_use_gpus() else [_CPU]
        self._session = ort.InferenceSession(path, settings, providers=providers)
        if gpu and _GPU not in self._session.get_providers():
            raise CannotLoad(_NO_GPU.format(version=ort.__version__))
        self.inputs = [_spec(tensor) for tensor in self._session.get_inputs()]
        self._names = [tensor.name for tensor in self._session.get_outputs()]
        self.outputs = [_spec(tensor) for tensor in self._session.get_outputs()]

    def run(self, arrays: Arrays, method: str) -> Arrays:
        return {name: _array(value) for name, value in zip(self._names, self._session.run(None, arrays))}


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load the one `.onnx` file at `path`."""
    return OnnxModel(find_file(path, ".onnx"), threads_of(options), gpu=bool(options.get("gpus")))


def _can_use_gpus() -> bool:
    """Whether this is the build for GPUs. Load CUDA's libraries, which may lie in packages beside this one."""
    if _GPU not in ort.get_available_providers():
        return False
    ort.preload_dlls()
    return True


def _spec(tensor: Any) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) and size > 0 else None for size in tensor.shape or ())
    return TensorSpec(tensor.name, _TYPES.get(tensor.type, "object"), shape)


def _array(value: Any) -> Any:
    """Return an output as an array: classifiers that skl2onnx made give a list of dictionaries for probabilities."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return np.array([list(row.values()) for row in cast("Sequence[Mapping[Any, Any]]", value)])
    return np.asarray(value)
