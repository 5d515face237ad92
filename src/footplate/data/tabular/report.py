"""Problems that did not stop a read: values that do not fit their column's type, columns that were left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from footplate.errors import InvalidInput

_WORDS = {
    "integer": "a whole number",
    "float": "a number",
    "boolean": "a boolean",
    "datetime": "a time",
    "string": "text",
}


@dataclass
class _Misfit:
    kind: str
    count: int
    example: str
    file: str


@dataclass
class ReadReport:
    """Collects problems while a table is read. `strict` turns the first misfit into an error."""

    strict: bool = False
    _misfits: dict[str, _Misfit] = field(default_factory=lambda: {})
    _left_out: dict[str, str] = field(default_factory=lambda: {})

    def misfits(self, column: str, kind: str, count: int, example: str, file: str) -> None:
        if self.strict:
            raise InvalidInput(
                f"{example!r:.200} in column {column!r} of {file} is not {_WORDS[kind]}",
                "set the column's type, as in set_column_types={'NAME': DataType.to_string()}, "
                "or read with on_error='null'",
            )
        misfit = self._misfits.setdefault(column, _Misfit(kind, 0, example, file))
        misfit.count += count

    def left_out(self, column: str, file: str) -> None:
        self._left_out.setdefault(column, file)

    def warnings(self) -> list[str]:
        """Return one sentence for each incomplete column."""
        sentences: list[str] = []
        for column, misfit in self._misfits.items():
            values = "value is" if misfit.count == 1 else "values are"
            sentences.append(
                f"column {column!r}: {misfit.count} {values} not {_WORDS[misfit.kind]} and became null, "
                f"the first is {misfit.example!r:.200} in {misfit.file}"
            )
        for column, file in self._left_out.items():
            sentences.append(
                f"column {column!r} of {file} is left out: columns are taken from the first rows, which lack it"
            )
        return sentences
