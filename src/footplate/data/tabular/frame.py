"""A table as a frame (`domain.frames`): Arrow's arrays as buffers that numpy can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from footplate.content.frames import Chunk, Frame, FrameColumn
from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.convert import nested_type

_NUMPY = {
    "int8": "<i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "<u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "halffloat": "<f2",
    "float": "<f4",
    "double": "<f8",
}


def columns_for(schema: Any) -> list[FrameColumn]:
    return [_column(field.name, field.type) for field in schema]


def chunks_of(batch: Any, columns: list[FrameColumn]) -> list[dict[str, Any]]:
    """Return the buffers of a batch, one chunk for each column."""
    return [_CHUNKS[column.kind](values) for column, values in zip(columns, batch.columns)]


def _column(name: str, kind: Any) -> FrameColumn:
    types = pa.types
    if str(kind) in _NUMPY:
        return FrameColumn(name, "number", _NUMPY[str(kind)])
    if types.is_boolean(kind):
        return FrameColumn(name, "boolean")
    if types.is_timestamp(kind):
        return FrameColumn(name, "time", kind.unit, kind.tz)
    if types.is_duration(kind):
        return FrameColumn(name, "duration", kind.unit)
    if types.is_date(kind):
        return FrameColumn(name, "date")
    if types.is_decimal(kind):
        return FrameColumn(name, "decimal")
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return FrameColumn(name, "bytes")
    if types.is_dictionary(kind):
        return _column(name, kind.value_type)
    return FrameColumn(name, "json" if types.is_nested(kind) else "text")


# ── buffers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _numbers(values: Any) -> dict[str, Any]:
    values = _plain(values)
    width = values.type.bit_width // 8
    data = memoryview(values.buffers()[1] or b"").cast("B")
    buffers = {"values": data[values.offset * width : (values.offset + len(values)) * width]}
    return _with_validity(buffers, values)


def _booleans(values: Any) -> dict[str, Any]:
    values = _plain(values)
    return _with_validity(_numbers(pc.cast(pc.fill_null(values, False), pa.uint8())), values)


def _with_validity(buffers: dict[str, Any], values: Any) -> dict[str, Any]:
    if values.null_count:
        buffers["valid"] = _numbers(pc.cast(pc.is_valid(values), pa.uint8()))["values"]
    return buffers


def _texts(values: Any) -> dict[str, Any]:
    return _encode(pc.cast(_plain(values), pa.large_string()))


def _json_texts(values: Any) -> dict[str, Any]:
    texts = [None if value is None else json.dumps(value, default=str) for value in _plain(values).to_pylist()]
    return _encode(pa.array(texts, pa.large_string()))


def _encode(values: Any) -> dict[str, Any]:
    coded = values.dictionary_encode()
    distinct = coded.dictionary
    _, offsets, data = distinct.buffers()
    size = (distinct.offset + len(distinct) + 1) * 8
    return {
        "codes": _numbers(pc.fill_null(pc.cast(coded.indices, pa.int32()), -1))["values"],
        "offsets": memoryview(offsets or b"\0" * 8).cast("B")[distinct.offset * 8 : size],
        "data": memoryview(data or b"").cast("B"),
    }


def _plain(values: Any) -> Any:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


_CHUNKS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "number": _numbers,
    "boolean": _booleans,
    "time": _numbers,
    "duration": _numbers,
    "date": lambda values: _numbers(pc.cast(_plain(values), pa.date32())),
    "decimal": _texts,
    "bytes": lambda values: _encode(pc.cast(_plain(values), pa.large_binary())),
    "text": _texts,
    "json": _json_texts,
}


# ── the other way ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ARROW = {name: kind for kind, name in _NUMPY.items()}
_DIGITS_128 = 38


def schema_for(frame: Frame) -> Any:
    return pa.schema([(column.name, _arrow_type(column)) for column in frame.columns])


def batch_of(frame: Frame, index: int, schema: Any) -> Any:
    """Return chunk `index` of every column as a batch in the frame's schema."""
    arrays = [_arrow_array(column, column.chunks[index], field.type) for column, field in zip(frame.columns, schema)]
    return pa.record_batch(arrays, schema=schema)


def _arrow_type(column: FrameColumn) -> Any:
    if column.kind == "number":
        return pa.type_for_alias(_ARROW[column.of])
    if column.kind in ("time", "duration"):
        return pa.timestamp(column.of, column.zone) if column.kind == "time" else pa.duration(column.of)
    if column.kind == "decimal" and column.of:
        precision, scale = map(int, column.of.split(","))
        return pa.decimal128(precision, scale) if precision <= _DIGITS_128 else pa.decimal256(precision, scale)
    if column.kind == "json":
        return nested_type(
            [json.loads(text) for chunk in column.chunks for text in _distinct(column, chunk).to_pylist()]
        )
    return {"boolean": pa.bool_(), "date": pa.date32(), "bytes": pa.large_binary()}.get(column.kind, pa.string())


def _arrow_array(column: FrameColumn, chunk: Chunk, wanted: Any) -> Any:
    if "codes" in chunk.buffers:
        return _decode(column, chunk, wanted)
    stored = pa.uint8() if column.kind == "boolean" else wanted
    values = pa.Array.from_buffers(stored, chunk.rows, [None, pa.py_buffer(chunk.buffers["values"])])
    if "valid" in chunk.buffers:
        valid = pa.Array.from_buffers(pa.uint8(), chunk.rows, [None, pa.py_buffer(chunk.buffers["valid"])])
        values = pc.if_else(pc.cast(valid, pa.bool_()), values, pa.scalar(None, stored))
    return pc.cast(values, pa.bool_()) if column.kind == "boolean" else values


def _decode(column: FrameColumn, chunk: Chunk, wanted: Any) -> Any:
    distinct = _distinct(column, chunk)
    if pa.types.is_nested(wanted):
        distinct = pa.array([json.loads(text) for text in distinct.to_pylist()], wanted)
    codes = pa.Array.from_buffers(pa.int32(), chunk.rows, [None, pa.py_buffer(chunk.buffers["codes"])])
    indices = pc.if_else(pc.less(codes, 0), pa.scalar(None, pa.int32()), codes)
    return pc.cast(pc.take(distinct, indices), wanted)


def _distinct(column: FrameColumn, chunk: Chunk) -> Any:
    """Return the distinct values of a chunk as they are stored."""
    offsets, data = pa.py_buffer(chunk.buffers["offsets"]), pa.py_buffer(chunk.buffers["data"])
    large = pa.large_binary() if column.kind == "bytes" else pa.large_string()
    return pa.Array.from_buffers(large, offsets.size // 8 - 1, [None, offsets, data])
