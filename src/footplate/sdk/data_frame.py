"""A frame (`domain/frames`) as a pandas DataFrame: numpy and pandas are the user's own, whatever their versions.

Types are those that pandas users know: a column of whole numbers with missing ones is float64, one of booleans is
object, times are datetime64[ns], text is what pandas makes of text.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Tuple

from footplate.domain.frames import Chunk, Column, Frame, FrameFile
from footplate.sdk.exceptions import UserErrorException

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime.date(1970, 1, 1)
_NOT_A_TIME = -(2**63)
_SETTLED = {"boolean": "boolean", "integer": "Int64", "floating": "float64", "mixed-integer-float": "float64"}


def to_pandas(frame: Frame, out_of_range_datetime: str = "null") -> Any:
    """`out_of_range_datetime`: a time before 1677 or after 2262 becomes null, or with 'fail' an error."""
    numpy, pandas = _libraries()
    strict = out_of_range_datetime == "fail"
    arrays = [_array(numpy, pandas, column, frame.rows, strict) for column in frame.columns]
    # By position, so that columns of one name stay apart; the index tells the length where there is no column.
    made = pandas.DataFrame(dict(enumerate(arrays)), index=pandas.RangeIndex(frame.rows), copy=False)
    made.columns = [column.name for column in frame.columns]
    return made


def _libraries() -> Any:
    """The user's own: Footplate's classes need neither."""
    try:
        return importlib.import_module("numpy"), importlib.import_module("pandas")
    except ImportError as error:
        raise UserErrorException(
            f"a DataFrame needs {error.name}, which is not installed here",
            hint="add pandas to the environment: pip install pandas, or conda_dep.add_pip_package('pandas')",
        ) from None


def _array(numpy: Any, pandas: Any, column: Column, rows: int, strict: bool) -> Any:
    if column.kind in _OBJECTS:
        return _objects(numpy, column, rows, _OBJECTS[column.kind])
    if column.kind in ("time", "duration"):
        return _times(numpy, pandas, column, rows, strict)
    if column.kind == "date":
        return _dates(numpy, column, rows)
    if column.kind == "boolean":
        return _booleans(numpy, column, rows)
    return _numbers(numpy, column, rows)


def _numbers(numpy: Any, column: Column, rows: int) -> Any:
    kind = numpy.dtype(column.of)
    if any("valid" in chunk.buffers for chunk in column.chunks) and kind.kind != "f":
        kind = numpy.dtype("f8")
    found = numpy.empty(rows, kind)
    at = 0
    for chunk in column.chunks:
        part = found[at : at + chunk.rows]
        part[:] = numpy.frombuffer(chunk.buffers["values"], column.of, chunk.rows)
        if "valid" in chunk.buffers:
            part[~_valid(numpy, chunk)] = numpy.nan
        at += chunk.rows
    return found


def _booleans(numpy: Any, column: Column, rows: int) -> Any:
    found = _joined(numpy, column, rows, "?")
    missing = ~_all_valid(numpy, column, rows)
    if missing.any():
        found = found.astype(object)
        found[missing] = None
    return found


def _times(numpy: Any, pandas: Any, column: Column, rows: int, strict: bool) -> Any:
    values = _joined(numpy, column, rows, "<i8")
    valid = _all_valid(numpy, column, rows)
    factor = _NANOSECONDS[column.of]
    limit = (2**63 - 1) // factor
    outside = valid & ((values > limit) | (values < -limit))
    if strict and outside.any():
        shown = numpy.datetime64(int(values[outside][0]), column.of)
        raise UserErrorException(
            f"{shown} in column {column.name!r} is beyond what pandas' datetime64[ns] holds (1677 to 2262)",
            hint="read with out_of_range_datetime='null', or read the column as text: DataType.to_string()",
        )
    kept = valid & ~outside
    found = numpy.where(kept, numpy.where(kept, values, 0) * factor, _NOT_A_TIME)
    if column.kind == "duration":
        return found.view("m8[ns]")
    found = found.view("M8[ns]")
    return found if column.zone is None else pandas.DatetimeIndex(found).tz_localize("UTC").tz_convert(column.zone)


def _dates(numpy: Any, column: Column, rows: int) -> Any:
    days = _joined(numpy, column, rows, "<i4").tolist()
    valid = _all_valid(numpy, column, rows).tolist()
    found = numpy.empty(rows, object)
    found[:] = [_EPOCH + datetime.timedelta(day) if ok else None for day, ok in zip(days, valid)]
    return found


def _objects(numpy: Any, column: Column, rows: int, decode: Callable[[bytes], Any]) -> Any:
    found = numpy.empty(rows, object)
    at = 0
    for chunk in column.chunks:
        codes = numpy.frombuffer(chunk.buffers["codes"], "<i4", chunk.rows)
        ends: List[int] = numpy.frombuffer(chunk.buffers["offsets"], "<i8").tolist()
        data = bytes(chunk.buffers["data"])
        distinct = numpy.empty(len(ends), object)  # the last stays None, and -1 is the last
        for i, (begin, end) in enumerate(zip(ends, ends[1:])):
            distinct[i] = decode(data[begin:end])
        found[at : at + chunk.rows] = distinct[codes]
        at += chunk.rows
    return found


_OBJECTS: Dict[str, Callable[[bytes], Any]] = {
    "text": lambda data: data.decode("utf-8", "surrogateescape"),
    "bytes": bytes,
    "decimal": lambda data: decimal.Decimal(data.decode("ascii")),
    "json": json.loads,
}


def _joined(numpy: Any, column: Column, rows: int, kind: str) -> Any:
    found = numpy.empty(rows, kind)
    at = 0
    for chunk in column.chunks:
        found[at : at + chunk.rows] = numpy.frombuffer(chunk.buffers["values"], kind, chunk.rows)
        at += chunk.rows
    return found


def _valid(numpy: Any, chunk: Chunk) -> Any:
    return numpy.frombuffer(chunk.buffers["valid"], "?", chunk.rows)


def _all_valid(numpy: Any, column: Column, rows: int) -> Any:
    found = numpy.ones(rows, "?")
    at = 0
    for chunk in column.chunks:
        if "valid" in chunk.buffers:
            found[at : at + chunk.rows] = _valid(numpy, chunk)
        at += chunk.rows
    return found


# ── The other way ─────────────────────────────────────────────────────────────────────────────────────────────────────


def from_pandas(frame: Any, out: BinaryIO, rows_at_a_time: int = 100_000) -> None:
    """Write a DataFrame as a frame. Its index is left out; columns are called by the text of their names."""
    numpy, pandas = _libraries()
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise UserErrorException(f"two columns are called {name!r}", hint="give each column its own name")
    columns = [_settled(pandas, frame.iloc[:, at]) for at in range(len(names))]
    kinds = [_kind_of(pandas, series) for series in columns]
    file = FrameFile(out, [Column(name, *kind) for name, kind in zip(names, kinds)])
    for begin in range(0, len(frame), rows_at_a_time):
        parts = [series.iloc[begin : begin + rows_at_a_time] for series in columns]
        rows = min(rows_at_a_time, len(frame) - begin)
        file.add(rows, [_buffers(numpy, part, kind) for part, kind in zip(parts, kinds)])
    file.finish()


def _settled(pandas: Any, series: Any) -> Any:
    """A column of objects that are all of one type is a column of that type: pandas makes objects of what has gaps."""
    if series.dtype != object:
        return series
    held = pandas.api.types.infer_dtype(series, skipna=True)
    try:
        if held in ("datetime", "date"):
            return pandas.to_datetime(series)
        return series.astype(_SETTLED[held]) if held in _SETTLED else series
    except (ValueError, TypeError, OverflowError):  # numbers that no type holds, zones that differ: as text
        return series


def _kind_of(pandas: Any, series: Any) -> Tuple[str, str, Optional[str]]:
    is_ = pandas.api.types
    kind = series.dtype
    if is_.is_bool_dtype(kind):
        return "boolean", "", None
    if is_.is_integer_dtype(kind) or is_.is_float_dtype(kind):
        return "number", getattr(kind, "numpy_dtype", kind).newbyteorder("<").str.replace("|", "<"), None
    if is_.is_datetime64_any_dtype(kind):
        zone = getattr(kind, "tz", None)
        return "time", "ns", None if zone is None else str(zone)
    if is_.is_timedelta64_dtype(kind):
        return "duration", "ns", None
    return "text", "", None


def _buffers(numpy: Any, series: Any, kind: Tuple[str, str, Optional[str]]) -> Dict[str, Any]:
    missing = series.isna().to_numpy(dtype=bool)
    if kind[0] == "text":
        return _coded_texts(numpy, series, missing)
    if kind[0] == "number":
        values = series.to_numpy(dtype=numpy.dtype(kind[1]), na_value=0) if missing.any() else series.to_numpy()
        values = values.astype(kind[1], copy=False)
    elif kind[0] == "boolean":
        values = series.fillna(False).to_numpy().astype("u1")
    else:
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None) if kind[2] else series
        values = plain.to_numpy().astype("M8[ns]" if kind[0] == "time" else "m8[ns]").view("i8")
    found = {"values": numpy.ascontiguousarray(values).view("u1").data}
    if missing.any():
        found["valid"] = (~missing).astype("u1").data
    return found


def _coded_texts(numpy: Any, series: Any, missing: Any) -> Dict[str, Any]:
    """Anything but text is written as its own text, as `str` shows it."""
    codes = numpy.full(len(series), -1, "<i4")
    known: Dict[str, int] = {}
    for at, value in enumerate(series.to_numpy(dtype=object).tolist()):
        if not missing[at]:
            codes[at] = known.setdefault(value if isinstance(value, str) else str(value), len(known))
    texts = [text.encode("utf-8", "surrogateescape") for text in known]
    offsets = numpy.cumsum([0, *map(len, texts)], dtype="<i8")
    return {"codes": codes.view("u1").data, "offsets": offsets.view("u1").data, "data": b"".join(texts)}
