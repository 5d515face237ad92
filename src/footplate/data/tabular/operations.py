"""What can be asked of a tabular definition by those who do not import this room: plain data in, plain data out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from footplate.data.tabular.arrow import pa
from footplate.data.tabular.convert import ARROW
from footplate.data.tabular.engine import Table
from footplate.data.tabular.frame import batch_of, chunks_of, columns_for, schema_for
from footplate.data.tabular.profile import profile_of
from footplate.data.tabular.report import Report
from footplate.data.tabular.sources import opened
from footplate.data.tabular.writers import write_csv, write_parquet
from footplate.disk import space
from footplate.domain.codec import from_json
from footplate.domain.data import StoreSpec
from footplate.domain.frames import Frame, FrameFile, read_frame
from footplate.domain.tabular import Json

Specs = Mapping[str, Any]
"""Stores by name, each a StoreSpec as JSON.

Everywhere: `cache` is the folder of the cache for remote files, `listing` the file that pins what the definition names.
"""


class Read(NamedTuple):
    frame: Frame
    warnings: list[str]


def look(definition: Json, stores: Specs, cache: str, listing: str | None = None, first_rows: bool = True) -> Json:
    """The columns, and the types that were inferred, to be kept in the definition. Reading the first rows is a test."""
    with opened(definition, _specs(stores), cache, listing) as table:
        if first_rows:
            next(table.batches(), None)
        return {"columns": _columns(table), "inferred": table.inferred}


def read(definition: Json, stores: Specs, strict: bool, cache: str, listing: str | None = None) -> Read:
    """All rows, in memory."""
    report = Report(strict)
    with opened(definition, _specs(stores), cache, listing) as table:
        frame = Frame(columns_for(table.schema))
        for batch in table.batches(report):
            frame.add(batch.num_rows, chunks_of(batch, frame.columns))
    return Read(frame, report.warnings())


def write_frame(
    definition: Json, stores: Specs, strict: bool, target: str, cache: str, listing: str | None = None
) -> Json:
    """All rows as a frame in the file `target`: for a process that has no Arrow."""
    report = Report(strict)
    with (
        opened(definition, _specs(stores), cache, listing) as table,
        space(os.path.dirname(target)),
        open(target, "xb") as out,
    ):
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
    """All rows as CSV or Parquet files in the folder `target`."""
    report = Report()
    with opened(definition, _specs(stores), cache, listing) as table, space(target):
        if form == "csv":
            names = write_csv(table.schema, table.batches(report), Path(target), separator)
        else:
            names = write_parquet(table.schema, table.batches(report), Path(target))
    return {"files": names, "warnings": report.warnings()}


def frame_to_parquet(frame: str, target: str, row_group_size: int | None = None) -> Json:
    """A frame that somebody else wrote as Parquet files in the folder `target`."""
    held = read_frame(frame)
    schema = schema_for(held)
    with space(target):
        batches = (batch_of(held, index, schema) for index in range(len(held.columns[0].chunks) if held.columns else 0))
        return {"files": write_parquet(schema, batches, Path(target), row_group_size)}


def profile(definition: Json, stores: Specs, cache: str, listing: str | None = None) -> Json:
    """Counts, extremes and moments of each column."""
    with opened(definition, _specs(stores), cache, listing) as table:
        return profile_of(table)


def _columns(table: Table) -> list[Json]:
    return [{"name": field.name, "type": _word(field.type)} for field in table.schema]


def _word(kind: Any) -> str:
    """Our word for a type; Arrow's for those that we have none for."""
    if pa.types.is_timestamp(kind):
        return "datetime"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float"
    return next((word for word, ours in ARROW.items() if kind == ours), str(kind))


def _specs(stores: Specs) -> dict[str, StoreSpec]:
    return {name: from_json(StoreSpec, spec) for name, spec in stores.items()}


VERBS = {
    "look": look,
    "write_frame": write_frame,
    "write_files": write_files,
    "frame_to_parquet": frame_to_parquet,
    "profile": profile,
}
