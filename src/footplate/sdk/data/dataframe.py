"""A frame (`domain.frames`) as a pandas DataFrame, with the user's own numpy and pandas of any version.

Types follow pandas conventions: whole numbers with missing values are float64, booleans with missing values are object,
times are datetime64[ns], and text is whatever pandas makes of text.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import importlib
import json
from typing import Any, BinaryIO, Callable, Dict, List, NamedTuple, Optional, Tuple

from footplate.content.frames import Chunk, Frame, FrameColumn, FrameFile
from footplate.sdk.exceptions import UserErrorException

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime.date(1970, 1, 1)
_NOT_A_TIME = -(2**63)
_INFERRED_DTYPES = {"boolean": "boolean", "integer": "Int64", "floating": "float64", "mixed-integer-float": "float64"}
_MAX_DIGITS = 76  # the limit for decimals in Parquet


def to_pandas(frame: Frame, out_of_range_datetime: str = "null") -> Any:
    """Convert a frame.

    `out_of_range_datetime`: a time before 1677 or after 2262 becomes null, or with 'fail' an error.
    """
    numpy, pandas = libraries()
    strict = out_of_range_datetime == "fail"
    arrays = [_array(numpy, pandas, column, frame.rows, strict) for column in frame.columns]
    # By position, so that columns of the same name stay distinct; the index sets the length if there are no columns.
    dataframe = pandas.DataFrame(dict(enumerate(arrays)), index=pandas.RangeIndex(frame.rows), copy=False)
    dataframe.columns = [column.name for column in frame.columns]
    return dataframe


def libraries() -> Any:
    """Import the user's numpy and pandas, which Footplate itself does not need."""
    try:
        return importlib.import_module("numpy"), importlib.import_module("pandas")
    except ImportError as error:
        raise UserErrorException(
            f"a DataFrame needs {error.name}, which is not installed here",
            hint="add pandas to the environment: pip install pandas, or conda_dep.add_pip_package('pandas')",
        ) from None


def _array(numpy: Any, pandas: Any, column: FrameColumn, rows: int, strict: bool) -> Any:
    if column.kind in _OBJECTS:
        return _objects(numpy, column, rows, _OBJECTS[column.kind])
    if column.kind in ("time", "duration"):
        return _times(numpy, pandas, column, rows, strict)
    if column.kind == "date":
        return _dates(numpy, column, rows)
    if column.kind == "boolean":
        return _booleans(numpy, column, rows)
    return _numbers(numpy, column, rows)


def _numbers(numpy: Any, column: FrameColumn, rows: int) -> Any:
    has_missing = any("valid" in chunk.buffers for chunk in column.chunks)
    kind = numpy.dtype(column.of)
    if has_missing and kind.kind != "f":
        kind = numpy.dtype("f8")
    numbers = _values(numpy, column, rows, column.of, kind)
    if has_missing:
        numbers[~_valid(numpy, column, rows)] = numpy.nan
    return numbers


def _booleans(numpy: Any, column: FrameColumn, rows: int) -> Any:
    booleans = _values(numpy, column, rows, "?")
    missing = ~_valid(numpy, column, rows)
    if missing.any():
        booleans = booleans.astype(object)
        booleans[missing] = None
    return booleans


def _times(numpy: Any, pandas: Any, column: FrameColumn, rows: int, strict: bool) -> Any:
    values = _values(numpy, column, rows, "<i8")
    valid = _valid(numpy, column, rows)
    factor = _NANOSECONDS[column.of]
    limit = (2**63 - 1) // factor
    outside = valid & ((values > limit) | (values < -limit))
    if strict and outside.any():
        example = numpy.datetime64(int(values[outside][0]), column.of)
        raise UserErrorException(
            f"{example} in column {column.name!r} is outside the range of pandas' datetime64[ns] (1677 to 2262)",
            hint="read with out_of_range_datetime='null', or read the column as text: DataType.to_string()",
        )
    representable = valid & ~outside
    times = numpy.where(representable, numpy.where(representable, values, 0) * factor, _NOT_A_TIME)
    if column.kind == "duration":
        return times.view("m8[ns]")
    times = times.view("M8[ns]")
    return times if column.zone is None else pandas.DatetimeIndex(times).tz_localize("UTC").tz_convert(column.zone)


def _dates(numpy: Any, column: FrameColumn, rows: int) -> Any:
    days = _values(numpy, column, rows, "<i4").tolist()
    valid = _valid(numpy, column, rows).tolist()
    dates = numpy.empty(rows, object)
    dates[:] = [_EPOCH + datetime.timedelta(day) if ok else None for day, ok in zip(days, valid)]
    return dates


def _objects(numpy: Any, column: FrameColumn, rows: int, decode: Callable[[bytes], Any]) -> Any:
    def read(chunk: Chunk) -> Any:
        codes = numpy.frombuffer(chunk.buffers["codes"], "<i4", chunk.rows)
        ends: List[int] = numpy.frombuffer(chunk.buffers["offsets"], "<i8").tolist()
        data = bytes(chunk.buffers["data"])
        distinct = numpy.empty(len(ends), object)  # the last stays None, and the code -1 refers to it
        for i, (begin, end) in enumerate(zip(ends, ends[1:])):
            distinct[i] = decode(data[begin:end])
        return distinct[codes]

    return _join(numpy, column, rows, object, read)


_OBJECTS: Dict[str, Callable[[bytes], Any]] = {
    "text": lambda data: data.decode("utf-8", "surrogateescape"),
    "bytes": bytes,
    "decimal": lambda data: decimal.Decimal(data.decode("ascii")),
    "json": json.loads,
}


def _values(numpy: Any, column: FrameColumn, rows: int, stored: str, kind: Any = None) -> Any:
    """Return the values of all chunks, as `kind` if that is not how they are stored."""
    kind = stored if kind is None else kind
    return _join(numpy, column, rows, kind, lambda chunk: numpy.frombuffer(chunk.buffers["values"], stored, chunk.rows))


def _valid(numpy: Any, column: FrameColumn, rows: int) -> Any:
    def read(chunk: Chunk) -> Any:
        return numpy.frombuffer(chunk.buffers["valid"], "?", chunk.rows) if "valid" in chunk.buffers else True

    return _join(numpy, column, rows, "?", read)


def _join(numpy: Any, column: FrameColumn, rows: int, kind: Any, read: Callable[[Chunk], Any]) -> Any:
    """Return one array of what `read` makes of each chunk."""
    array = numpy.empty(rows, kind)
    at = 0
    for chunk in column.chunks:
        array[at : at + chunk.rows] = read(chunk)
        at += chunk.rows
    return array


# ── The other way ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _ColumnKind(NamedTuple):
    """A `FrameColumn` without its name."""

    kind: str
    of: str = ""
    zone: Optional[str] = None


def from_pandas(frame: Any, out: BinaryIO, rows_at_a_time: int = 100_000) -> None:
    """Write a DataFrame as a frame, without its index. Column names become text."""
    numpy, pandas = libraries()
    if not isinstance(frame, pandas.DataFrame):
        raise UserErrorException(
            f"the dataframe is a {type(frame).__name__}", hint="give a pandas DataFrame, as in series.to_frame()"
        )
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise UserErrorException(f"two columns are named {name!r}", hint="give each column its own name")
    columns = [_normalize(numpy, pandas, frame.iloc[:, at]) for at in range(len(names))]
    file = FrameFile(out, [FrameColumn(name, *kind) for name, (_, kind) in zip(names, columns)])
    for begin in range(0, len(frame), rows_at_a_time):
        parts = [(series.iloc[begin : begin + rows_at_a_time], kind) for series, kind in columns]
        rows = min(rows_at_a_time, len(frame) - begin)
        file.add(rows, [_buffers(numpy, part, kind) for part, kind in parts])
    file.finish()


def _normalize(numpy: Any, pandas: Any, series: Any) -> Tuple[Any, _ColumnKind]:
    """Return a column that `_buffers` can write, and its kind.

    A column of objects of one type becomes a column of that type: pandas uses objects for columns with missing values.
    """
    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    if isinstance(series.dtype, pandas.CategoricalDtype):
        series = series.astype(object)  # its categories may have any type
    if series.dtype != object:
        return series, _kind_of(numpy, pandas, series)
    inferred = pandas.api.types.infer_dtype(series, skipna=True)
    try:
        if inferred in _OBJECT_KINDS:
            return _OBJECT_KINDS[inferred](series)
        if inferred in ("datetime", "datetime64", "date"):
            series = pandas.to_datetime(series)
        elif inferred in ("timedelta", "timedelta64"):
            series = pandas.to_timedelta(series)
        elif inferred in _INFERRED_DTYPES:
            series = series.astype(_INFERRED_DTYPES[inferred])
    except (ValueError, TypeError, OverflowError):  # too large numbers, different time zones: written as text
        pass
    return series, _kind_of(numpy, pandas, series)


def _decimals(series: Any) -> Tuple[Any, _ColumnKind]:
    """Write decimals as text, with as many digits as the longest needs."""
    whole = fraction = 0
    for value in series[series.notna()]:
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise ValueError("not finite")
        whole, fraction = max(whole, len(digits) + exponent), max(fraction, -exponent)
    if whole + fraction > _MAX_DIGITS:
        raise ValueError("too many digits")
    return series.map("{:f}".format, na_action="ignore"), _ColumnKind(
        "decimal", f"{max(whole + fraction, 1)},{fraction}"
    )


def _nest_as_json(series: Any) -> Tuple[Any, _ColumnKind]:
    """Write lists, arrays and objects as JSON."""
    if not all(isinstance(value, (list, tuple, dict)) or hasattr(value, "tolist") for value in series[series.notna()]):
        raise TypeError("of several types")
    return series.map(functools.partial(json.dumps, default=_plain), na_action="ignore"), _ColumnKind("json")


def _plain(value: Any) -> Any:
    """Convert numpy's arrays and scalars to Python's own."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return value.tolist()


_OBJECT_KINDS: Dict[str, Callable[[Any], Tuple[Any, _ColumnKind]]] = {
    "bytes": lambda series: (series, _ColumnKind("bytes")),
    "decimal": _decimals,
    "mixed": _nest_as_json,
}


def _kind_of(numpy: Any, pandas: Any, series: Any) -> _ColumnKind:
    is_ = pandas.api.types
    kind = series.dtype
    if is_.is_bool_dtype(kind):
        return _ColumnKind("boolean")
    if is_.is_integer_dtype(kind) or is_.is_float_dtype(kind):
        return _ColumnKind("number", getattr(kind, "numpy_dtype", kind).newbyteorder("<").str.replace("|", "<"))
    if is_.is_datetime64_any_dtype(kind):
        zone = _part_of(kind, "tz")
        return _ColumnKind("time", _unit(numpy, kind), None if zone is None else str(zone))
    if is_.is_timedelta64_dtype(kind):
        return _ColumnKind("duration", _unit(numpy, kind))
    return _ColumnKind("text")


def _unit(numpy: Any, kind: Any) -> str:
    """Return the type's own unit: not every time in a coarser one fits into nanoseconds."""
    return _part_of(kind, "unit") or str(numpy.datetime_data(kind)[0])


def _part_of(kind: Any, name: str) -> Any:
    return getattr(getattr(kind, "pyarrow_dtype", kind), name, None)


def _buffers(numpy: Any, series: Any, kind: _ColumnKind) -> Dict[str, Any]:
    missing = series.isna().to_numpy(dtype=bool)
    if kind.kind in _OBJECTS:
        return _encode(numpy, series, missing)
    if kind.kind == "number":
        values = series.to_numpy(dtype=numpy.dtype(kind.of), na_value=0) if missing.any() else series.to_numpy()
        values = values.astype(kind.of, copy=False)
    elif kind.kind == "boolean":
        values = series.fillna(False).to_numpy().astype("u1")
    else:
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None) if kind.zone else series
        values = plain.to_numpy().astype(f"{'M8' if kind.kind == 'time' else 'm8'}[{kind.of}]").view("i8")
    buffers = {"values": numpy.ascontiguousarray(values).view("u1").data}
    if missing.any():
        buffers["valid"] = (~missing).astype("u1").data
    return buffers


def _encode(numpy: Any, series: Any, missing: Any) -> Dict[str, Any]:
    codes = numpy.full(len(series), -1, "<i4")
    positions: Dict[bytes, int] = {}
    for at, value in enumerate(series.to_numpy(dtype=object).tolist()):
        if not missing[at]:
            codes[at] = positions.setdefault(_to_bytes(value), len(positions))
    offsets = numpy.cumsum([0, *map(len, positions)], dtype="<i8")
    return {"codes": codes.view("u1").data, "offsets": offsets.view("u1").data, "data": b"".join(positions)}


def _to_bytes(value: Any) -> bytes:
    """Encode a value; anything but text and bytes as its `str`."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
