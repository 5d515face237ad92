"""One reader for each kind of tabular data, with requested or inferred types."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.convert import ARROW, convert, infer
from footplate.data.tabular.delimited import DelimitedFiles
from footplate.data.tabular.expressions import evaluate, no_column
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.report import ReadReport
from footplate.domain.tables import Expression, Json, fields_of, format_of
from footplate.errors import InvalidInput

SAMPLE = 8 * 1024 * 1024
"""Bytes sampled to infer column types: all of most tables, the beginning of large ones."""

_TYPED = {
    "parquet": ("footplate.data.tabular.parquet", "ParquetFiles"),
    "json_lines": ("footplate.data.tabular.json_lines", "JsonLines"),
    "sql": ("footplate.data.tabular.sql", "Query"),
}


class Reader(Protocol):
    """A reader. `schema` has all columns of the files; `inferred` the types inferred from them, to be stored."""

    schema: Any
    inferred: dict[str, Json]

    def read(self, index: int, columns: list[str], filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        """Yield batches of the file at `index` with these columns. May leave out rows that `filters` exclude."""
        ...


class TypedSource(Protocol):
    """Rows that already have types."""

    def schema(self) -> Any: ...

    def read(self, index: int, schema: Any, filters: list[Expression], report: ReadReport) -> Iterator[Any]: ...


def open_reader(definition: Json, files: Sequence[SourceFile], database: str | None) -> Reader:
    form = format_of(definition)
    if form["kind"] == "delimited":
        return _Delimited(definition, files)
    module, name = _TYPED[form["kind"]]
    make = getattr(importlib.import_module(module), name)
    types: dict[str, Json] = definition.get("types") or {}
    if form["kind"] == "sql":
        if database is None:
            raise InvalidInput("the dataset is a query, but no database is given", "name a SQL datastore")
        return _Typed(types, make(database, form), files)
    return _Typed(types, make(files, form, list(types)), files)


class _Delimited:
    """Text from the files, with each column converted to its type."""

    def __init__(self, definition: Json, files: Sequence[SourceFile]) -> None:
        form = format_of(definition)
        self._files = files
        self._text = DelimitedFiles(files, form)
        if not self._text.names:
            raise InvalidInput(f"{files[0].name} is empty", "a delimited file has at least one line")
        requested: dict[str, Json] = definition.get("types") or {}
        _check_types(requested, self._text.names)
        infers = form.get("infer_types", True)
        self.inferred = self._infer_types(requested, definition.get("inferred")) if infers else {}
        self._types = {
            name: requested.get(name) or self.inferred.get(name) or {"type": "string"} for name in self._text.names
        }
        self.schema = pa.schema([(name, ARROW[column_type["type"]]) for name, column_type in self._types.items()])

    def read(self, index: int, columns: list[str], filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        file = self._files[index].name
        for name in self._text.extra_columns(index):
            report.left_out(name, file)
        tested = sorted({name for part in filters for name in fields_of(part)})
        for batch in self._text.read(index, columns):
            # Convert the filters' columns first, and the others only for the rows that pass.
            converted = {name: self._convert(batch, name, file, report) for name in tested}
            if filters:
                masks = [evaluate(part, converted, batch.num_rows) for part in filters]
                passing = functools.reduce(pc.and_, masks)
                batch = batch.filter(passing)  # noqa: PLW2901
                converted = {name: values.filter(passing) for name, values in converted.items()}
            if batch.num_rows:
                arrays = [converted[n] if n in converted else self._convert(batch, n, file, report) for n in columns]
                yield pa.record_batch(arrays, columns)

    def _convert(self, batch: Any, name: str, file: str, report: ReadReport) -> Any:
        return convert_column(batch.column(name), self._types[name], name, file, report)

    def _infer_types(self, requested: dict[str, Json], stored: dict[str, Json] | None) -> dict[str, Json]:
        if stored is not None:
            return stored
        batches = list(self._sample())
        if not batches:
            return {}
        table = pa.Table.from_batches(batches)
        return {name: infer(table.column(name)) for name in table.schema.names if name not in requested}

    def _sample(self) -> Iterator[Any]:
        budget = SAMPLE
        for index in range(len(self._files)):
            for batch in self._text.sample(index, budget):
                yield batch
                budget -= batch.nbytes
                if budget <= 0:
                    return


class _Typed:
    """Typed columns, converted where the user requested another type."""

    def __init__(self, types: dict[str, Json], source: TypedSource, files: Sequence[SourceFile]) -> None:
        self._types = types
        self._source = source
        self._files = files
        self._own = source.schema()
        _check_distinct(self._own.names)
        _check_types(types, self._own.names)
        self.inferred: dict[str, Json] = {}
        self.schema = pa.schema(
            [(f.name, ARROW[types[f.name]["type"]] if f.name in types else f.type) for f in self._own]
        )

    def read(self, index: int, columns: list[str], filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        schema = pa.schema([self._own.field(name) for name in columns])
        usable = [part for part in filters if not fields_of(part) & set(self._types)]
        name = self._files[index].name if self._files else "the query's result"
        for batch in self._source.read(index, schema, usable, report):
            arrays = [
                convert_column(batch.column(c), self._types[c], c, name, report)
                if c in self._types
                else batch.column(c)
                for c in columns
            ]
            yield pa.record_batch(arrays, columns)


def convert_column(values: Any, wanted: Json, column: str, file: str, report: ReadReport) -> Any:
    """Convert a column of a file, and report the values that do not fit."""
    converted = convert(values, wanted)
    if converted.misfits:
        report.misfits(column, wanted["type"], converted.misfits, converted.example, file)
    return converted.values


def _check_distinct(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(
                f"{names.count(name)} columns are named {name!r}",
                "give each its own name, in a query as in: SELECT a.id, b.id AS other_id",
            )


def _check_types(types: dict[str, Json], names: list[str]) -> None:
    for name in types:
        if name not in names:
            raise no_column(name, names)
