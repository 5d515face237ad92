"""Files with one JSON object per line. Arrow reads blocks of lines; Python reads the blocks that Arrow rejects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from footplate.data.tabular.arrow import arrow_json, pa
from footplate.data.tabular.convert import nested_type
from footplate.data.tabular.files import SourceFile, as_text
from footplate.data.tabular.report import ReadReport
from footplate.domain.tables import Expression, Json
from footplate.errors import InvalidInput

BLOCK = 4 * 1024 * 1024
SAMPLE = 2 * BLOCK


class JsonLines:
    """JSON lines files. `typed_fields` are fields with a type from the user: columns even if the sample lacks them."""

    def __init__(self, files: Sequence[SourceFile], options: Json, typed_fields: list[str]) -> None:
        self._files = files
        self._typed_fields = typed_fields
        self._encoding: str = options.get("encoding", "utf8")
        self._drop_invalid = options.get("invalid_lines", "error") == "drop"

    def schema(self) -> Any:
        """Return the fields of the first records of the files; of all records if the files are small."""
        seen: dict[str, list[Any]] = {}
        for record in self._sample():
            for name, value in record.items():
                seen.setdefault(name, []).append(value)
        for name in self._typed_fields:
            seen.setdefault(name, [])
        if not seen:
            raise InvalidInput(f"{self._files[0].name} has no records", "a JSON lines file has an object on each line")
        return pa.schema([(name, _type_of(values)) for name, values in seen.items()])

    def _sample(self) -> Iterator[dict[str, Any]]:
        budget = SAMPLE
        for index, file in enumerate(self._files):
            with file.translating_errors(), file.head(budget) as stream:
                for number, lines in self._blocks(stream, file.name):
                    yield from self._records(index, number, lines)
                    budget -= sum(map(len, lines))
                    if budget <= 0:
                        return

    def read(self, index: int, schema: Any, filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        """Yield batches of one file in this schema. Fields that are not in it are left out, and reported."""
        file = self._files[index]
        with file.translating_errors(), file.open() as stream:
            for number, lines in self._blocks(stream, file.name):
                table = _read_with_arrow(lines, schema)
                for name in _extra_fields(table.schema, schema) if table is not None else ():
                    report.left_out(name, file.name)
                chosen = None if table is None else table.select(schema.names)
                if chosen is None or not chosen.schema.equals(schema):  # an object has fields that its type lacks
                    yield self._read_with_python(index, number, lines, schema, report)
                else:
                    yield from chosen.combine_chunks().to_batches()

    def _blocks(self, stream: Any, name: str) -> Iterator[tuple[int, list[str]]]:
        """Yield lists of lines, each with the number of its first line."""
        number, size = 1, 0
        lines: list[str] = []
        try:
            for line in as_text(stream, self._encoding):
                lines.append(line)
                size += len(line)
                if size >= BLOCK:
                    yield number, lines
                    number, lines, size = number + len(lines), [], 0
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{name} is not {self._encoding}: {error.reason} at byte {error.start}",
                "give its encoding, as in encoding='latin1'",
            ) from None
        if lines:
            yield number, lines

    def _read_with_python(self, index: int, number: int, lines: list[str], schema: Any, report: ReadReport) -> Any:
        file = self._files[index].name
        records = list(self._records(index, number, lines))
        for name in {name for record in records for name in record} - set(schema.names):
            report.left_out(name, file)
        return pa.record_batch(
            [
                _column([record.get(field.name) for record in records], field.type, field.name, file, report)
                for field in schema
            ],
            schema=schema,
        )

    def _records(self, index: int, number: int, lines: list[str]) -> Iterator[dict[str, Any]]:
        for at, line in enumerate(lines, number):
            text = line.strip()
            if not text:
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                record = error
            if isinstance(record, dict):
                yield cast("dict[str, Any]", record)
            elif not self._drop_invalid:
                why = f"{record}" if isinstance(record, Exception) else "it is not an object"
                raise InvalidInput(
                    f"line {at} of {self._files[index].name} is not a JSON object: {why}",
                    "correct the line, or drop such lines with invalid_lines='drop'",
                )


def _read_with_arrow(lines: list[str], schema: Any) -> Any:
    if not schema.names:
        return None
    data = "".join(lines).encode()
    try:
        return arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(block_size=len(data) + 1, use_threads=False),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid:
        return None


def _type_of(values: list[Any]) -> Any:
    kinds: set[type[Any]] = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pa.int64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    return nested_type(values) if len(kinds) == 1 and kinds <= {dict, list} else pa.string()


def _extra_fields(found: Any, wanted: Any, above: str = "") -> Iterator[str]:
    """Yield the fields that are not wanted; nested ones as `object.field`."""
    for field in found:
        at = wanted.get_field_index(field.name)
        if at < 0:
            yield above + field.name
            continue
        ours = _element_type(wanted.field(at).type)
        theirs = _element_type(field.type)
        if pa.types.is_struct(ours) and pa.types.is_struct(theirs):
            yield from _extra_fields(theirs, ours, f"{above}{field.name}.")


def _element_type(kind: Any) -> Any:
    """Return the innermost element type of a list; any other type itself."""
    return _element_type(kind.value_type) if pa.types.is_list(kind) else kind


def _column(values: list[Any], wanted: Any, name: str, file: str, report: ReadReport) -> Any:
    """Convert values to the wanted type, one by one if they are not all of it."""
    try:
        if not (pa.types.is_integer(wanted) and any(isinstance(v, (bool, float)) for v in values)):
            return pa.array(values, wanted)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        pass
    fitted = [_fit(value, wanted) for value in values]
    lost = [value for value, fit in zip(values, fitted) if value is not None and fit is None]
    if lost:
        report.misfits(name, _type_name(wanted), len(lost), str(lost[0]), file)
    return pa.array(fitted, wanted)


def _fit(value: Any, wanted: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_string(wanted):
        # Half of a surrogate pair is not a character, and no other program could read it.
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else json.dumps(value)
    if pa.types.is_integer(wanted) and isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= 2**53 else None
    if pa.types.is_floating(wanted) and isinstance(value, int):
        return float(value)
    try:
        return pa.scalar(value, wanted).as_py() if not isinstance(value, bool) or pa.types.is_boolean(wanted) else None
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return None


def _type_name(wanted: Any) -> str:
    if pa.types.is_integer(wanted):
        return "integer"
    if pa.types.is_floating(wanted):
        return "float"
    return "boolean" if pa.types.is_boolean(wanted) else "string"
