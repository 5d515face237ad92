"""Tensors of requests: names, types and shapes that a model takes, and arrays that are checked against them.

numpy is the user's own; it comes without types here, so everything of it is Any, in one place.
"""

# Requests are JSON of any shape: each value is checked where it is used.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Dict

from footplate.serving.worker.messages import Refused

np: Any = importlib.import_module("numpy")
Arrays = Dict[str, Any]
_FLOATS = ("float32", "float64")

_SAME_IN_BOTH = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
V2_TYPES = {
    **{name.upper(): name for name in _SAME_IN_BOTH},
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
    "BYTES": "object",
}
"""Names of types in the Open Inference Protocol, and numpy's."""


@dataclass(frozen=True)
class TensorSpec:
    """One input or output: None in `shape` stands for any length, and `shape` None for any shape.

    `columns` names the second dimension of a table.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None
    columns: tuple[str, ...] = ()

    @property
    def v2_type(self) -> str:
        return next((name for name, dtype in V2_TYPES.items() if dtype == self.dtype), "BYTES")

    def to_json(self) -> dict[str, Any]:
        shape = None if self.shape is None else [-1 if size is None else size for size in self.shape]
        described: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": shape}
        return {**described, "columns": list(self.columns)} if self.columns else described


def to_array(spec: TensorSpec, value: Any) -> Any:
    """Return a value of a request as the array that the model takes, or raise Refused and say what was expected."""
    try:
        if spec.dtype == "object":
            array = np.asarray(value, dtype=object)
        else:
            array = _convert(_pack_floats(value) if spec.dtype in _FLOATS else value, spec.dtype)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"input {spec.name!r} is not an array of {spec.dtype}") from None
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise Refused(f"input {spec.name!r} has numbers that are infinite, or too large for {spec.dtype}")
    return check_shape(spec, array)


def _pack_floats(value: Any) -> Any:
    """Return rows of numbers as an array, four times as fast as numpy, which asks each number for its type first.

    Everything else is returned as it is.
    """
    rows: list[Any] = value if isinstance(value, list) else []
    width = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    if not width or any(type(row) is not list for row in rows):
        return value
    pack = struct.Struct(f"{width}d").pack
    try:
        packed = bytearray().join([pack(*row) for row in rows])
    except (struct.error, OverflowError):  # rows of several lengths, texts, deeper lists
        return value
    return np.frombuffer(packed).reshape(len(rows), width)


def _convert(value: Any, dtype: str) -> Any:
    array = np.asarray(value)
    if array.dtype.kind in "OUSM" and np.dtype(dtype).kind not in "OUS":
        array = np.asarray(value, dtype=dtype)  # raises for ragged lists and for text
    converted = array.astype(dtype, copy=False)
    if converted is not array and converted.dtype.kind in "iub" and not np.array_equal(converted, array):
        raise ValueError("fractions, or numbers that the type cannot hold")
    return converted


def check_shape(spec: TensorSpec, array: Any) -> Any:
    """Raise Refused unless the array has the shape that the model takes."""
    if spec.shape is None:
        return array
    fits = len(array.shape) == len(spec.shape) and all(
        expected is None or expected == size for expected, size in zip(spec.shape, array.shape)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in spec.shape)
        names = f": {', '.join(spec.columns)}" if spec.columns else ""
        raise Refused(f"input {spec.name!r} has the shape {list(array.shape)}, and the model takes [{sizes}]{names}")
    return array


def to_arrays(specs: Sequence[TensorSpec], values: dict[str, Any]) -> Arrays:
    """Return every input of a request as an array; one that is missing or unknown is refused by name."""
    by_name = {spec.name: spec for spec in specs}
    for name in values:
        if name not in by_name:
            raise Refused(f"there is no input {name!r}: the model takes {_names(specs)}")
    for name in by_name:
        if name not in values:
            raise Refused(f"input {name!r} is missing: the model takes {_names(specs)}")
    return {name: to_array(spec, values[name]) for name, spec in by_name.items()}


def only(specs: Sequence[TensorSpec]) -> TensorSpec:
    """Return the one input of a model for a request that names none."""
    if len(specs) != 1:
        raise Refused(f"the model takes {_names(specs)}: name each of them under 'inputs'")
    return specs[0]


def rows(arrays: Arrays) -> int:
    """Return the length of the first dimension that all inputs share; 0 if there is none."""
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    return lengths.pop() if len(lengths) == 1 else 0


def zeros(spec: TensorSpec) -> Any:
    """Return zeros that fit an input: one in each dimension of any length."""
    return np.zeros([size or 1 for size in spec.shape or ()], spec.dtype)


def is_finite(array: Any) -> bool:
    """Whether no value is missing, not a number, or infinite."""
    if array.dtype.kind in "fc":
        return bool(np.isfinite(array).all())
    values = array.reshape(-1).tolist() if array.dtype.kind == "O" else ()
    return all(value is not None and (not isinstance(value, float) or math.isfinite(value)) for value in values)


def plain(array: Any) -> Any:
    """Return an array as lists that JSON can hold; bytes become text."""
    value = np.asarray(array)
    if value.dtype.kind in "OSV":
        return _decode(value.tolist())
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        return np.where(np.isfinite(value), value.astype(object), None).tolist()
    return value.tolist()


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        items: list[Any] = value
        return [_decode(item) for item in items]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _names(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(repr(spec.name) for spec in specs) or "no inputs"
