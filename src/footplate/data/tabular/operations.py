"""Operations on tabular definitions for callers that do not import this package: plain data in, plain data out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Mapping, NamedTuple, TypeVar

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
from footplate.domain.tables import Json

R = TypeVar("R")


class Read(NamedTuple):
    frame: Frame
    warnings: list[str]


def _on_table(operate: Callable[..., R]) -> Callable[..., R]:
    """Let a function of a table take the definition and, by name, the stores as JSON.

    `cache` is the directory of the cache for remote files, and `listing` the file that pins the definition's files.
    """

    def open_and_operate(
        definition: Json, stores: Mapping[str, Any], cache: str, listing: str | None = None, **options: Any
    ) -> R:
        with open_table(definition, specs_from_json(stores), cache, listing) as table:
            return operate(table, **options)

    return open_and_operate


@_on_table
def inspect(table: Table, first_rows: bool = True) -> Json:
    """Return the columns and the inferred types, to be stored in the definition. Read the first rows as a test."""
    if first_rows:
        next(table.batches(), None)
    columns = [{"name": field.name, "type": _type_name(field.type)} for field in table.schema]
    return {"columns": columns, "inferred": table.inferred}


@_on_table
def read(table: Table, strict: bool) -> Read:
    """Read all rows into memory."""
    report = ReadReport(strict)
    frame = Frame(columns_for(table.schema))
    for batch in table.batches(report):
        frame.add(batch.num_rows, chunks_of(batch, frame.columns))
    return Read(frame, report.warnings())


@_on_table
def write_frame(table: Table, strict: bool, target: str) -> Json:
    """Write all rows as a frame to the file `target`, for a process without Arrow."""
    report = ReadReport(strict)
    with space(os.path.dirname(target)), open(target, "xb") as out:
        columns = columns_for(table.schema)
        file = FrameFile(out, columns)
        for batch in table.batches(report):
            file.add(batch.num_rows, chunks_of(batch, columns))
        file.finish()
    return {"warnings": report.warnings()}


@_on_table
def write_files(table: Table, target: str, form: str, separator: str = ",") -> Json:
    """Write all rows as CSV or Parquet files to the folder `target`."""
    report = ReadReport()
    with space(target):
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
    "profile": _on_table(profile_of),
}
