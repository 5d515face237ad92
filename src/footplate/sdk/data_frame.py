"""A frame (`domain/frames`) as a pandas DataFrame: numpy and pandas are the user's own, whatever their versions.

Types are those that pandas users know: a column of whole numbers with missing ones is float64, one of booleans is
object, times are datetime64[ns], text is what pandas makes of text.
"""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any, Callable, Dict, List

from footplate.domain.frames import Chunk, Column, Frame
from footplate.sdk.exceptions import UserErrorException

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime.date(1970, 1, 1)
_NOT_A_TIME = -(2**63)


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
    try:
        import numpy  # pyright: ignore[reportMissingImports]
        import pandas  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserErrorException(
            f"a DataFrame needs {error.name}, which is not installed here",
            hint="add pandas to the environment: pip install pandas, or conda_dep.add_pip_package('pandas')",
        ) from None
    return numpy, pandas


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
