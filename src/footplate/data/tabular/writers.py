"""A table as CSV or Parquet files in a folder. A file appears only when it is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from footplate.data.tabular.arrow import arrow_csv, pa, pc
from footplate.disk import atomic_file

arrow_parquet: Any = pyarrow.parquet

LARGEST = 256 * 1024 * 1024
"""Approximate size at which the next file is begun."""


def write_csv(schema: Any, batches: Iterable[Any], folder: Path, separator: str = ",") -> list[str]:
    """Write `part-00000.csv` and so on; at least one, with the header. Return the names."""
    flat = pa.schema([(field.name, _flat_type(field.type)) for field in schema])
    options = arrow_csv.WriteOptions(delimiter=separator)
    rows = (_flatten(batch, flat) for batch in batches)
    return _write(rows, folder, ".csv", lambda path: arrow_csv.CSVWriter(path, flat, write_options=options))


def write_parquet(schema: Any, batches: Iterable[Any], folder: Path, row_group_size: int | None = None) -> list[str]:
    writing: Any = {"row_group_size": row_group_size} if row_group_size else {}
    return _write(batches, folder, ".parquet", lambda path: arrow_parquet.ParquetWriter(path, schema), writing)


def _write(
    batches: Iterable[Any],
    folder: Path,
    suffix: str,
    open_writer: Callable[[str], Any],
    writing: dict[str, Any] | None = None,
) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    rows = iter(batches)
    following = next(rows, None)
    while following is not None or not names:
        name = f"part-{len(names):05d}{suffix}"
        aside = str(folder / f".{name}.{os.getpid()}-{os.urandom(4).hex()}")
        with atomic_file(folder / name, durable=True, temporary=aside), open_writer(aside) as writer:
            while following is not None:
                writer.write_batch(following, **(writing or {}))
                following = next(rows, None)
                if os.stat(aside).st_size >= LARGEST:
                    break
        names.append(name)
    return names


def _flat_type(kind: Any) -> Any:
    types = pa.types
    if types.is_dictionary(kind):
        return _flat_type(kind.value_type)
    fits = types.is_primitive(kind) or types.is_string(kind) or types.is_large_string(kind)
    return kind if fits and not types.is_duration(kind) else pa.string()


def _flatten(batch: Any, schema: Any) -> Any:
    return pa.record_batch(
        [_flatten_array(values, field.type) for values, field in zip(batch.columns, schema)], schema=schema
    )


def _flatten_array(values: Any, wanted: Any) -> Any:
    """Write values that CSV cannot represent as JSON, or as their own text."""
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
