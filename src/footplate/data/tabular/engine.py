"""A tabular definition and its files as a table: the schema at once, rows on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

from footplate.data.resolve import Partition
from footplate.data.tabular import steps as steps_
from footplate.data.tabular.arrow import pa
from footplate.data.tabular.convert import ARROW, infer
from footplate.data.tabular.expressions import evaluate, no_column
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.readers import convert_column, open_reader
from footplate.data.tabular.report import ReadReport
from footplate.domain.tables import POSITIONAL, Expression, Json, conjuncts, fields_of, format_of, steps_of
from footplate.errors import InvalidInput

PATH = "Path"


class Table:
    """A table. `files` are in the order of their rows; `database` is a URL, for definitions of kind sql."""

    def __init__(self, definition: Json, files: Sequence[SourceFile] = (), database: str | None = None) -> None:
        self._form = format_of(definition)
        self._files = files
        self._steps = steps_of(definition)
        partition: str | None = self._form.get("partition_format")
        self._partition = Partition(partition) if partition else None
        self._constant_types = self._partition_types(definition)
        if database is None and not files:
            raise InvalidInput("the dataset has no files", "check its paths: they match nothing now")
        types: Json = definition.get("types") or {}
        own = {name: column_type for name, column_type in types.items() if name not in self._constant_types}
        self._reader = open_reader({**definition, "types": own}, files, database)

    @property
    def inferred(self) -> dict[str, Json]:
        """Types inferred from the data, to be stored with the definition."""
        return {**self._reader.inferred, **(self._constant_types if self._infers() else {})}

    @cached_property
    def source_schema(self) -> Any:
        """All columns before the first step: the path, those of the partition format, those of the files."""
        fields = [pa.field(PATH, pa.string())] if self._form.get("path_column") else []
        fields += [pa.field(name, ARROW[column_type["type"]]) for name, column_type in self._constant_types.items()]
        fields += [f for f in self._reader.schema if f.name not in self._constant_types and f.name != PATH]
        return pa.schema(fields)

    @cached_property
    def schema(self) -> Any:
        names = list(self.source_schema.names)
        for step in self._steps:
            self._check_filter(step, names)
            names = steps_.columns_after(step, names)
        return pa.schema([self.source_schema.field(name) for name in names])

    def batches(self, report: ReadReport | None = None) -> Iterator[Any]:
        """Yield the rows, in the order of files and lines, in non-empty batches."""
        report = report or ReadReport()
        final = self.schema  # also checks that every step is valid
        stream = self._source_rows(report)
        for step in self._steps:
            stream = steps_.apply(step, stream)
        for batch in stream:
            if batch.num_rows:
                yield batch.select(final.names)

    def _check_filter(self, step: Json, names: list[str]) -> None:
        if step["do"] == "filter":
            for name in sorted(fields_of(step["expression"])):
                if name not in names:
                    raise no_column(name, names)

    # ── rows of the sources ───────────────────────────────────────────────────────────────────────────────────────────

    def _source_rows(self, report: ReadReport) -> Iterator[Any]:
        needed = self._needed_columns()
        own = [name for name in needed if name in self._reader.schema.names and name not in self._constant_types]
        filters = self._leading_filters()
        for index in range(len(self._files) or 1):
            constants = self._constants(index, report)
            if not self._may_hold(filters, constants):
                continue
            pushed = [part for part in filters if fields_of(part) <= set(own)]
            for batch in self._reader.read(index, own or self._reader.schema.names[:1], pushed, report):
                yield pa.record_batch(
                    [pa.repeat(constants[n], batch.num_rows) if n in constants else batch.column(n) for n in needed],
                    needed,
                )

    def _needed_columns(self) -> list[str]:
        used = frozenset(self.schema.names).union(
            *(fields_of(step["expression"]) for step in self._steps if step["do"] == "filter")
        )
        return [name for name in self.source_schema.names if name in used]

    def _leading_filters(self) -> list[Expression]:
        """Return the conditions on every row before the first step that depends on row positions."""
        conditions: list[Expression] = []
        for step in self._steps:
            if step["do"] in POSITIONAL:
                break
            if step["do"] == "filter":
                conditions.extend(conjuncts(step["expression"]))
        return conditions

    def _may_hold(self, filters: list[Expression], constants: dict[str, Any]) -> bool:
        """Return whether a file can have rows that pass, judging by the columns of its path, before it is opened."""
        decidable = [part for part in filters if fields_of(part) and fields_of(part) <= set(constants)]
        arrays = {name: pa.array([value.as_py()], value.type) for name, value in constants.items()} if decidable else {}
        return all(evaluate(part, arrays, 1)[0].as_py() for part in decidable)

    # ── what a path says ──────────────────────────────────────────────────────────────────────────────────────────────

    def _partition_types(self, definition: Json) -> dict[str, Json]:
        """Return the types of the partition's columns: requested, stored, or inferred as those of the files are."""
        if self._partition is None:
            return {}
        types = {
            name: {"type": "datetime" if name in self._partition.times else "string"}
            for name in self._partition.columns
        }
        if self._infers():
            stored: dict[str, Json] | None = definition.get("inferred")
            paths = [self._partition.values(file.name) for file in self._files] if stored is None else []
            for name in set(types) - self._partition.times:
                if stored is None:
                    types[name] = infer(pa.array([values.get(name) for values in paths], pa.string()))
                else:
                    types[name] = stored.get(name, types[name])
        requested: dict[str, Json] = definition.get("types") or {}
        return {name: requested.get(name, column_type) for name, column_type in types.items()}

    def _infers(self) -> bool:
        return self._form["kind"] == "delimited" and bool(self._form.get("infer_types", True))

    def _constants(self, index: int, report: ReadReport) -> dict[str, Any]:
        constants: dict[str, Any] = {}
        if not self._files:
            return constants
        name = self._files[index].name
        if self._form.get("path_column"):
            constants[PATH] = pa.scalar(name, pa.string())
        if self._partition is not None:
            values = self._partition.values(name)
            if not values:
                raise InvalidInput(
                    f"the path {name!r} does not match the partition format {self._partition.form!r}",
                    "the format covers the path from the first partition key to its end, file name included",
                )
            for key, column_type in self._constant_types.items():
                value = _partition_array(values[key], key in self._partition.times)
                constants[key] = convert_column(value, column_type, key, name, report)[0]
        return constants


def _partition_array(value: Any, is_time: bool) -> Any:
    if not is_time:
        return pa.array([value], pa.string())
    return pa.array([value if value is None else datetime.fromtimestamp(value, timezone.utc)], ARROW["datetime"])
