"""The signature of a model, completed by the columns of its samples.

A model that knows its own inputs keeps them; samples add the names of columns, and the shape where the model has none.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Dict, List, Mapping

from footplate.serving.worker.model_scorer import LoadedModel
from footplate.serving.worker.tensors import TensorSpec, np

Columns = List[Dict[str, str]]


def complete(model: LoadedModel, signature: Mapping[str, Columns]) -> None:
    """Complete the one input of a model, and its outputs if it does not tell them."""
    columns = signature.get("inputs") or []
    if columns and len(model.inputs) == 1:
        model.inputs = [_complete_input(model.inputs[0], columns)]
    if signature.get("outputs") and not model.outputs:
        model.outputs = [_output(model.methods[0], signature["outputs"])]


def _complete_input(spec: TensorSpec, columns: Columns) -> TensorSpec:
    names = tuple(column["name"] for column in columns)
    if spec.shape is None:
        whole = all(np.dtype(column["dtype"]).kind in "iu" for column in columns)
        return replace(spec, dtype="int64" if whole else spec.dtype, shape=(None, len(columns)), columns=names)
    if len(spec.shape) != 2 or spec.shape[1] not in (None, len(columns)):
        warnings.warn(
            f"the sample of the model has {len(columns)} columns, but its input has the shape {list(spec.shape)}; "
            "the sample is not used", UserWarning, stacklevel=1,
        )  # fmt: skip
        return spec
    return spec if spec.columns else replace(spec, columns=names)


def _output(method: str, columns: Columns) -> TensorSpec:
    dtype = np.result_type(*(np.dtype(column["dtype"]) for column in columns)).name
    return TensorSpec(method, dtype, (None, len(columns)) if len(columns) > 1 else (None,))
