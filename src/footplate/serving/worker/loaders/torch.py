"""PyTorch models that carry their own code: exported programs (`.pt2`) and TorchScript (`.pt`)."""

from __future__ import annotations

import importlib
import importlib.util
import io
from typing import Any, Mapping, Sequence, cast

from footplate.serving.worker.loaders import CannotLoad, find_file, torch_files
from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import Arrays, TensorSpec, np

torch: Any = importlib.import_module("torch")


class TorchModel(LoadedModel):
    """A callable that takes and returns tensors, on the GPU where there is one."""

    framework = "PyTorch"
    refusals = (RuntimeError, ValueError, TypeError, IndexError)

    def __init__(self, module: Any, inputs: Sequence[TensorSpec], file: str) -> None:
        self._file = file
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._module = module.to(self._device) if hasattr(module, "to") else module
        self.inputs = list(inputs)

    def run(self, arrays: Arrays, method: str) -> Arrays:
        inputs = [torch.as_tensor(arrays[spec.name]).to(self._device) for spec in self.inputs]
        with torch.inference_mode():
            results = self._module(*inputs)
        named = cast("Mapping[str, Any]", results) if isinstance(results, dict) else _outputs_by_name(results)
        return {name: np.asarray(value.detach().cpu()) for name, value in named.items()}

    def to_onnx(self, arrays: Arrays) -> bytes:
        """Convert the file again on the CPU: an exported program as it is, TorchScript with the sample's shapes."""
        names = {"input_names": [spec.name for spec in self.inputs], "output_names": list(self.run(arrays, "predict"))}
        if self._file.endswith(".pt2"):
            program = torch.onnx.export(torch.export.load(self._file), dynamo=True, **names)
            return program.model_proto.SerializeToString()
        module = torch.jit.load(self._file, map_location="cpu").eval()
        inputs = tuple(torch.as_tensor(arrays[spec.name]) for spec in self.inputs)
        free = {name: {0: "batch"} for listed in names.values() for name in listed}
        target = io.BytesIO()
        torch.onnx.export(module, inputs, target, dynamo=False, dynamic_axes=free, **names)
        return target.getvalue()


def load(path: str, options: Mapping[str, Any]) -> LoadedModel:
    """Load an exported program or a TorchScript module; a pickled module and a file of weights are refused."""
    file = find_file(path, ".pt2", ".pt", ".pth")
    if file.endswith(".pt2"):
        program = torch.export.load(file)
        return TorchModel(program.module(), _inputs(program), file)
    try:
        module = torch.jit.load(file, map_location="cpu")
    except RuntimeError:
        raise CannotLoad(_why_not(file)) from None
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    return TorchModel(module.eval(), [TensorSpec(name, "float32") for name in names], file)


def _why_not(file: str) -> str:
    code = torch_files.class_of_module(file)
    why = f"a pickled module, which needs the code of {code}" if code else "weights alone, without the code for them"
    way = "torch.jit.trace(model, sample).save('model.pt')"
    if importlib.util.find_spec("torch.export") is not None:  # since torch 2.1
        way = "torch.export.save(torch.export.export(model, (sample,)), 'model.pt2')"
    return (
        f"{file} is neither an exported program nor TorchScript: it holds {why}\n"
        f"hint: save the model with {way}, or deploy it with an entry script"
    )


def _inputs(program: Any) -> Sequence[TensorSpec]:
    """Return the inputs of an exported program: a dimension that was exported as dynamic is free."""
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    names = program.graph_signature.user_inputs
    return [
        TensorSpec(
            name,
            str(values[name].dtype).replace("torch.", ""),
            tuple(size if isinstance(size, int) else None for size in values[name].shape),
        )
        for name in names
    ]


def _outputs_by_name(results: Any) -> dict[str, Any]:
    listed = cast("Sequence[Any]", results) if isinstance(results, (list, tuple)) else [results]
    return {"output" if len(listed) == 1 else f"output_{number}": value for number, value in enumerate(listed)}
