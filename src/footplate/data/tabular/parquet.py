"""Parquet files, read a few row groups at a time; row groups that a filter excludes by their statistics are skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.dataset  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.fs  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.report import ReadReport
from footplate.domain.tables import Expression, Json, moment
from footplate.errors import InvalidInput

arrow_dataset: Any = pyarrow.dataset  # Arrow's two heaviest modules, imported only for files that need them
arrow_parquet: Any = pyarrow.parquet
arrow_fs: Any = pyarrow.fs

_DISK = arrow_fs.LocalFileSystem()
_ROWS = 64 * 1024
_FORMAT = arrow_dataset.ParquetFileFormat(
    default_fragment_scan_options=arrow_dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
)
_UNITS = ("s", "ms", "us", "ns")
_FILES_SEARCHED = 16
"""Number of files searched for the type of an all-null column: each may have to be fetched."""

_SIMPLE = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


class ParquetFiles:
    def __init__(self, files: Sequence[SourceFile], options: Json, typed_columns: list[str]) -> None:
        """`typed_columns`: columns that are converted later, so files may have them in different types."""
        self._files = files
        self._typed_columns = frozenset(typed_columns)
        self._schema = self._first_schema()

    def schema(self) -> Any:
        """Return the schema of the first file. Columns that only a later file has are left out, and reported."""
        return self._schema

    def _first_schema(self) -> Any:
        """Return the first file's schema. The type of an all-null column is taken from the next file that has one."""
        schema = self._schema_of(self._files[0])
        for file in self._files[1:_FILES_SEARCHED]:
            open_ = [at for at, field in enumerate(schema) if pa.types.is_null(field.type)]
            if not open_:
                break
            other = self._schema_of(file)
            for at in open_:
                if schema.names[at] in other.names:
                    schema = schema.set(at, other.field(schema.names[at]))
        return schema

    def read(self, index: int, schema: Any, filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        """Yield batches of one file in this schema. `filters` may exclude rows early."""
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
            filter=_push_down(filters, own) if present == schema.names else None,
            batch_size=_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=True,
        )
        try:
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield self._fit(batch, schema, file.name)
        except (pa.ArrowInvalid, OSError) as error:
            raise _reading_error(file.name, error) from None

    def _fit(self, batch: Any, schema: Any, file: str) -> Any:
        arrays: list[Any] = []
        for field in schema:
            if field.name not in batch.schema.names:
                arrays.append(pa.nulls(batch.num_rows, field.type))
            elif field.name in self._typed_columns:
                arrays.append(batch.column(field.name))
            else:
                arrays.append(_cast(batch.column(field.name), field.type, field.name, file))
        return pa.record_batch(arrays, schema.names)

    def _schema_of(self, file: SourceFile) -> Any:
        try:
            return arrow_parquet.read_schema(str(file.fetch()))
        except (pa.ArrowInvalid, OSError) as error:
            raise _reading_error(file.name, error) from None


def _cast(values: Any, wanted: Any, column: str, file: str) -> Any:
    if values.type == wanted:
        return values
    try:
        # Finer digits of times are truncated, as everywhere.
        times = pa.types.is_timestamp(wanted) and pa.types.is_timestamp(values.type)
        is_coarser = times and _UNITS.index(wanted.unit) < _UNITS.index(values.type.unit)
        return pc.cast(values, wanted, safe=not is_coarser)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(
            f"column {column!r} is {values.type} in {file} and {wanted} in the first file",
            f"set its type, as in set_column_types={{{column!r}: DataType.to_string()}}",
        ) from None


def _push_down(filters: list[Expression], schema: Any) -> Any:
    """Return the filters that Arrow can compare with statistics: a column and a constant of its own type."""
    combined: Any = None
    for expression in filters:
        one = _simple(expression, schema)
        if one is not None:
            combined = one if combined is None else combined & one
    return combined


def _simple(expression: Expression, schema: Any) -> Any:
    operation = expression.get("op")
    operands = expression.get("args", [])
    if operation not in _SIMPLE or operands[0].get("field") not in schema.names:
        return None
    name = operands[0]["field"]
    constant = operands[1]
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
    return number and (pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _reading_error(name: str, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{name} cannot be read as Parquet: {error}",
        "is it a complete Parquet file? a pattern excludes others: (datastore, 'folder/**/*.parquet')",
    )
