"""A table as CSV or Parquet files in a folder: each is there only when it is whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from footplate.data.tabular.arrow import arrow_csv, pa, pc

arrow_parquet: Any = pyarrow.parquet

LARGEST = 256 * 1024 * 1024
"""About how large a file may grow before the next one is begun."""


def write_csv(
    schema: Any, batches: Iterable[Any], folder: Path, separator: str = ",", largest: int = LARGEST
) -> list[str]:
    """The names of the files, `part-00000.csv` and on; at least one, which has the header."""
    flat = pa.schema([(field.name, _flat_type(field.type)) for field in schema])
    options = arrow_csv.WriteOptions(delimiter=separator)

    def opened(path: str) -> Any:
        return arrow_csv.CSVWriter(path, flat, write_options=options)

    return _write((_flat(batch, flat) for batch in batches), folder, ".csv", opened, largest)


def write_parquet(
    schema: Any, batches: Iterable[Any], folder: Path, row_group_size: int | None = None, largest: int = LARGEST
) -> list[str]:
    writing: Any = {"row_group_size": row_group_size} if row_group_size else {}

    def opened(path: str) -> Any:
        return arrow_parquet.ParquetWriter(path, schema)

    return _write(batches, folder, ".parquet", opened, largest, writing)


def _flat_array(values: Any, wanted: Any) -> Any:
    """What CSV has no form for is written as JSON, or as its own text."""
    if values.type == wanted:
        return values
    if pa.types.is_dictionary(values.type) or pa.types.is_decimal(values.type):
        return pc.cast(values, wanted)
    nested = pa.types.is_nested(values.type)
    texts = [
        None if value is None else json.dumps(value, default=str) if nested else str(value)
        for value in values.to_pylist()
    ]
    return pa.array(texts, pa.string())
