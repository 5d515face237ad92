"""Parquet files, read a few row groups at a time; what a filter rules out by the statistics is not read at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.dataset  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.fs  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.report import Report
from footplate.domain.expressions import Expression, moment
from footplate.domain.tabular import Json
from footplate.errors import InvalidInput

arrow_dataset: Any = pyarrow.dataset  # the two heaviest of Arrow's modules, loaded only for files that need them
arrow_parquet: Any = pyarrow.parquet
arrow_fs: Any = pyarrow.fs

_DISK = arrow_fs.LocalFileSystem()
_ROWS = 64 * 1024
_FORMAT = arrow_dataset.ParquetFileFormat(
    default_fragment_scan_options=arrow_dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
)
_SIMPLE = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


class ParquetFiles:
    def __init__(self, files: Sequence[SourceFile], options: Json, asked: list[str]) -> None:
        self._files = files
        self._schema = self._schema_of(files[0])

    def schema(self) -> Any:
        """That of the first file; a column that only a later one has is left out, and reported."""
        return self._schema

    def read(self, index: int, schema: Any, filters: list[Expression], report: Report) -> Iterator[Any]:
        """Batches of one file in this schema. `filters` may leave rows out, and need not."""
        file = self._files[index]
        own = self._schema_of(file)
        for name in own.names:
            if name not in self._schema.names:
                report.left_out(name, file.name)
        present = [name for name in schema.names if name in own.names]
        scanned = present or own.names[:1]
        fragment = _FORMAT.make_fragment(str(file.fetch()), filesystem=_DISK)
        scanner = fragment.scanner(
            columns=scanned,
            filter=_pushed(filters, own) if present == schema.names else None,
            batch_size=_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=True,
        )
        try:
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield _fitted(batch, schema, file.name, report)
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(file.name, error) from None

    def _schema_of(self, file: SourceFile) -> Any:
        try:
            return arrow_parquet.read_schema(str(file.fetch()))
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(file.name, error) from None


def _fitted(batch: Any, schema: Any, name: str, report: Report) -> Any:
    arrays = list[Any]()
    for field in schema:
        if field.name not in batch.schema.names:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        values = batch.column(field.name)
        try:
            arrays.append(values if values.type == field.type else pc.cast(values, field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidInput(
                f"column {field.name!r} is {values.type} in {name} and {field.type} in the first file",
                "set its type, as in set_column_types={'NAME': DataType.to_string()}",
            ) from None
    return pa.record_batch(arrays, schema=pa.schema([(field.name, field.type) for field in schema]))


def _pushed(filters: list[Expression], schema: Any) -> Any:
    """What of the filters Arrow can hold against the statistics: a column beside a constant of its own type."""
    found: Any = None
    for expression in filters:
        one = _simple(expression, schema)
        if one is not None:
            found = one if found is None else found & one
    return found


def _simple(expression: Expression, schema: Any) -> Any:
    operation, operands = expression.get("op"), expression.get("args", [])
    if operation not in _SIMPLE or operands[0].get("field") not in schema.names:
        return None
    name, constant = operands[0]["field"], operands[1]
    kind = schema.field(name).type
    try:
        if "time" in constant and pa.types.is_timestamp(kind) and kind.tz is None:
            value = pa.scalar(moment(constant), pa.timestamp("us"))
        elif _comparable(constant.get("value"), kind):
            value = pa.scalar(constant["value"])
        else:
            return None
    except (pa.ArrowInvalid, OverflowError):
        return None
    return getattr(pc.field(name), _SIMPLE[operation])(value)


def _comparable(value: Any, kind: Any) -> bool:
    if isinstance(value, str):
        return pa.types.is_string(kind)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _unreadable(name: str, error: Exception) -> InvalidInput:
    return InvalidInput(f"{name} cannot be read as Parquet: {error}", "is it whole, and is it a Parquet file?")
