"""Operations on tabular definitions for callers that do not import this package: plain data in, plain data out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from footplate.content.frames import Frame, FrameFile, read_frame
from footplate.data.stores.registry import specs_from_json
from footplate.data.tabular.arrow import pa
from footplate.data.tabular.convert import ARROW
from footplate.data.tabular.engine import Table
from footplate.data.tabular.frame import batch_of, chunks_of, columns_for, schema_for
from footplate.data.tabular.profile import profile_of
from footplate.data.tabular.report import ReadReport
from footplate.data.tabular.sources import open_table
from footplate.data.tabular.writers import write_csv, write_parquet
from footplate.disk import space
from footplate.domain.tables.tabular import Json

Specs = Mapping[str, Any]
"""Stores by name, each a StoreSpec as JSON.

In all functions, `cache` is the directory of the cache for remote files, and `listing` the file that pins the
definition's files.
"""


class Read(NamedTuple):
    frame: Frame
    warnings: list[str]


def inspect(definition: Json, stores: Specs, cache: str, listing: str | None = None, first_rows: bool = True) -> Json:
    """Return the columns and the inferred types, to be stored in the definition. Read the first rows as a test."""
    with open_table(definition, specs_from_json(stores), cache, listing) as table:
        if first_rows:
            next(table.batches(), None)
        return {"columns": _columns(table), "inferred": table.inferred}


def read(definition: Json, stores: Specs, strict: bool, cache: str, listing: str | None = None) -> Read:
    """Read all rows into memory."""
    report = ReadReport(strict)
    with open_table(definition, specs_from_json(stores), cache, listing) as table:
        frame = Frame(columns_for(table.schema))
        for batch in table.batches(report):
            frame.add(batch.num_rows, chunks_of(batch, frame.columns))
    return Read(frame, report.warnings())


def write_frame(
    definition: Json, stores: Specs, strict: bool, target: str, cache: str, listing: str | None = None
) -> Json:
    """Write all rows as a frame to the file `target`, for a process without Arrow."""
    report = ReadReport(strict)
    with open_table(definition, specs_from_json(stores), cache, listing) as table:
        with space(os.path.dirname(target)), open(target, "xb") as out:
            columns = columns_for(table.schema)
            file = FrameFile(out, columns)
            for batch in table.batches(report):
                file.add(batch.num_rows, chunks_of(batch, columns))
            file.finish()
    return {"warnings": report.warnings()}


def write_files(
    definition: Json,
    stores: Specs,
    target: str,
    form: str,
    cache: str,
    separator: str = ",",
    listing: str | None = None,
) -> Json:
    """Write all rows as CSV or Parquet files to the folder `target`."""
    report = ReadReport()
    with open_table(definition, specs_from_json(stores), cache, listing) as table, space(target):
        if form == "csv":
            names = write_csv(table.schema, table.batches(report), Path(target), separator)
        else:
            names = write_parquet(table.schema, table.batches(report), Path(target))
    return {"files": names, "warnings": report.warnings()}


def frame_to_parquet(frame: str, target: str, row_group_size: int | None = None) -> Json:
    """Write the frame in the file `frame` as Parquet files to the folder `target`."""
    loaded = read_frame(frame)
    schema = schema_for(loaded)
    with space(target):
        batches = (
            batch_of(loaded, index, schema) for index in range(len(loaded.columns[0].chunks) if loaded.columns else 0)
        )
        return {"files": write_parquet(schema, batches, Path(target), row_group_size)}


def profile(definition: Json, stores: Specs, cache: str, listing: str | None = None) -> Json:
    """Return counts, extremes, mean and deviation of each column."""
    with open_table(definition, specs_from_json(stores), cache, listing) as table:
        return profile_of(table)


def _columns(table: Table) -> list[Json]:
    return [{"name": field.name, "type": _type_name(field.type)} for field in table.schema]


def _type_name(kind: Any) -> str:
    """Return our name of a type, or Arrow's if we have none."""
    if pa.types.is_timestamp(kind):
        return "datetime"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float"
    return next((word for word, ours in ARROW.items() if kind == ours), str(kind))


VERBS = {
    "inspect": inspect,
    "write_frame": write_frame,
    "write_files": write_files,
    "frame_to_parquet": frame_to_parquet,
    "profile": profile,
}
