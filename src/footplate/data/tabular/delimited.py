"""Delimited files as batches of text. Types are inferred elsewhere, so no value is lost here.

Arrow's parser reads them. If it fails (a row with too few fields, a record larger than a block), Python's parser
continues at the same row: it is slower, but gives precise errors.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from footplate.data.tabular.arrow import arrow_csv, pa
from footplate.data.tabular.files import SourceFile, as_text, codec_of
from footplate.domain.tables import HEADERS, Json
from footplate.errors import InvalidInput

BLOCK = 1024 * 1024  # larger ones are not faster, and Arrow holds dozens of them: 2 MiB take 55 MB more memory
_ROWS = 20_000
_LONGEST_FIELD = 1 << 30
_TAIL = 4096
_LINES = "\n"  # as the separator: every line is one field
_QUOTED_LINE = re.compile(r'"(?:[^"]|"")*"')
_END = "\uf8ffthe end of the file\uf8ff"
"""Appended after the last line for Python's parser: an unclosed quote swallows it."""


@dataclass(frozen=True)
class Layout:
    """Layout of a file: the names of its fields, and the number of records before its data."""

    names: list[str]
    skip: int


class DelimitedFiles:
    def __init__(self, files: Sequence[SourceFile], options: Json) -> None:
        self._files = files
        self._separator: str = options.get("separator", ",")
        if len(self._separator) != 1 or self._separator in '\r"' or not self._separator.isascii():
            raise InvalidInput(
                f"{self._separator!r} is not a valid separator", "give one ASCII character, as in ',' or '\\t'"
            )
        self._header: str = options.get("header", "same")
        if self._header not in HEADERS:
            raise InvalidInput(f"{self._header!r} is not a header behaviour", f"use {', '.join(HEADERS)}")
        self._encoding: str = options.get("encoding", "utf8")
        self._empty_is_null = not options.get("empty_as_string", False)
        codec_of(self._encoding)
        self.names: list[str] = []  # until they are known, a file without a header numbers its own
        self.names = self._all_names()

    def read(self, index: int, columns: list[str]) -> Iterator[Any]:
        """Yield batches of one file with these columns as text. A column that the file lacks is null."""
        file = self._files[index]
        layout = self._layout_at(index)
        if layout is not None:
            with file.translating_errors():
                yield from self._rows(file.open, file.name, layout, columns, whole=True)

    def extra_columns(self, index: int) -> list[str]:
        """Return columns that only this file has, and that the shared header therefore leaves out."""
        layout = self._layout_at(index)
        return [] if layout is None else [name for name in layout.names if name not in self.names]

    def sample(self, index: int, limit: int) -> Iterator[Any]:
        """Yield the first rows of one file, all columns, from about its first `limit` bytes."""
        file = self._files[index]
        with file.translating_errors(), self._head(file, limit) as stream:
            layout = self._layout(stream, index)
        if layout is not None:
            yield from self._rows(lambda: self._head(file, limit), file.name, layout, self.names, whole=False)

    def _head(self, file: SourceFile, limit: int) -> Any:
        wide = codec_of(self._encoding) in ("utf-16", "utf-32")  # line ends cannot be found in the bytes
        return file.open() if wide else file.head(limit)

    # ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _all_names(self) -> list[str]:
        names: dict[str, None] = {}
        for index, file in enumerate(self._files):
            with file.translating_errors(), self._head(file, BLOCK) as stream:
                layout = self._layout(stream, index)
            if layout is not None:
                names.update(dict.fromkeys(layout.names))
                if self._header != "combine":
                    break
        return list(names)

    def _layout_at(self, index: int) -> Layout | None:
        with self._files[index].translating_errors(), self._files[index].open() as stream:
            return self._layout(stream, index)

    def _layout(self, stream: Any, index: int) -> Layout | None:
        """Return the layout, or None for a file without a single record."""
        text = as_text(stream, self._encoding)
        try:
            for number, record in enumerate(self._parser(text), 1):
                if not record:
                    continue
                if self._header == "none" or (self._header == "first" and index > 0):
                    # The names of the first file, and numbered ones for further columns.
                    further = [f"Column{at}" for at in range(len(self.names) + 1, len(record) + 1)]
                    return Layout([*self.names, *further], 0)
                return Layout(_distinct(record), number)
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._reading_error(self._files[index].name, error) from None
        return None

    # ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _rows(self, opened: Any, name: str, layout: Layout, columns: list[str], whole: bool) -> Iterator[Any]:
        """Yield rows. `whole`: the stream has all of the file, so a quote that is still open at its end is an error."""
        done, last = 0, None
        try:
            if self._separator == _LINES:
                raise pa.ArrowInvalid("its separator must differ from the end of a line")
            for batch in self._read_with_arrow(opened, layout, columns):
                yield _select_columns(batch, columns)
                done, last = done + batch.num_rows, batch if batch.num_rows else last
        except (pa.ArrowInvalid, UnicodeDecodeError):
            for batch in self._read_with_python(opened, name, layout, columns, done, whole):
                yield _select_columns(batch, columns)
            return
        if whole and last is not None:
            # Arrow takes everything after an open quote as the value of the last field. In any other field the record
            # would be too short, and go to Python's parser.
            value = last.column(layout.names[-1])[-1].as_py() or ""
            if ("\n" in value or "\r" in value) and not _ends_with_quote(opened):
                raise _unclosed_quote_error(name, value)

    def _read_with_arrow(self, opened: Any, layout: Layout, columns: list[str]) -> Iterator[Any]:
        present = [name for name in layout.names if name in columns or name == layout.names[-1]]
        codec = codec_of(self._encoding)
        with opened() as stream:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(
                    column_names=layout.names,
                    skip_rows_after_names=layout.skip,
                    block_size=BLOCK,
                    encoding="utf8" if codec == "utf-8-sig" else codec,
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=present,
                    column_types=dict.fromkeys(present, pa.string()),
                    null_values=[""],
                    strings_can_be_null=self._empty_is_null,
                ),
            )
            with reader:
                yield from reader

    def _read_with_python(
        self, opened: Any, name: str, layout: Layout, columns: list[str], done: int, whole: bool
    ) -> Iterator[Any]:
        positions = [(i, field) for i, field in enumerate(layout.names) if field in columns] or [(0, layout.names[0])]
        with opened() as stream, as_text(stream, self._encoding) as text:
            lines = itertools.chain(text, [_END] if whole else [])
            rows = self._records(self._parser(lines), name, layout)
            for _ in itertools.islice(rows, done):
                pass
            while block := list(itertools.islice(rows, _ROWS)):
                yield pa.record_batch(
                    [pa.array([self._field(row, i) for row in block], pa.string()) for i, _ in positions],
                    [field for _, field in positions],
                )

    def _parser(self, lines: Iterable[str]) -> Any:
        return _LineParser(lines) if self._separator == _LINES else csv.reader(lines, delimiter=self._separator)

    def _field(self, row: list[str], index: int) -> str | None:
        value = row[index] if index < len(row) else None
        return None if value == "" and self._empty_is_null else value

    def _records(self, reader: Any, name: str, layout: Layout) -> Iterator[list[str]]:
        width = len(layout.names)
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            for number, row in enumerate(reader, 1):
                if row and row[-1].endswith(_END):
                    if row == [_END]:
                        return
                    raise _unclosed_quote_error(name, row[-1])
                if number <= layout.skip or not row:
                    continue
                if len(row) > width and any(row[width:]):
                    raise InvalidInput(
                        f"line {reader.line_num} of {name} has {len(row)} fields instead of {width}",
                        f"is {self._separator!r} the separator? a field that contains it must be quoted",
                    )
                yield row
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._reading_error(name, error) from None
        finally:
            csv.field_size_limit(before)

    def _reading_error(self, name: str, error: Exception) -> InvalidInput:
        if isinstance(error, UnicodeDecodeError):
            return InvalidInput(
                f"{name} is not {self._encoding}: {error.reason} at byte {error.start}",
                "give its encoding, as in encoding='latin1' or encoding='windows1252'",
            )
        return InvalidInput(f"{name} cannot be read as delimited text: {error}", "is it a text file?")


class _LineParser:
    """Lines as records of one field, in the form of `csv.reader`. Quotes around a whole line are removed."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.line_num = 0

    def __iter__(self) -> Iterator[list[str]]:
        for line in self._lines:
            self.line_num += 1
            text = line.rstrip("\r\n")
            if _QUOTED_LINE.fullmatch(text):
                text = text[1:-1].replace('""', '"')
            yield [text] if text else []


def _ends_with_quote(opened: Any) -> bool:
    """Return whether the last character is a quote, in any encoding: blanks and zeros around it do not count."""
    tail = b""
    with opened() as stream:
        while piece := stream.read(BLOCK):
            tail = (tail + piece)[-_TAIL:]
    return tail.rstrip(b"\0\r\n\t ").endswith(b'"')


def _unclosed_quote_error(name: str, value: str) -> InvalidInput:
    return InvalidInput(
        f"{name} has an unclosed quote before {value[:40]!r}",
        "close it, or double a quote that belongs to the value; is the file truncated?",
    )


def _select_columns(batch: Any, columns: list[str]) -> Any:
    """Return these columns in this order, null where the file lacks one."""
    have = set(batch.schema.names)
    nulls = pa.nulls(batch.num_rows, pa.string()) if have.issuperset(columns) is False else None
    return pa.record_batch([batch.column(name) if name in have else nulls for name in columns], columns)


def _distinct(record: list[str]) -> list[str]:
    """Return distinct column names: an empty one is named by its position, a repeated one gets a number."""
    names: list[str] = []
    originals = set(record)
    seen: set[str] = set()
    for position, text in enumerate(record, 1):
        base = text or f"Column{position}"
        name = base
        for number in itertools.count(1):
            if name not in seen and (name == text or name not in originals):
                break
            name = f"{base}.{number}"
        names.append(name)
        seen.add(name)
    return names
