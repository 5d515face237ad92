"""Column types of tables, and treatment of file headers."""

from __future__ import annotations

import enum
from typing import Any, Dict, Mapping, NoReturn, Optional, Sequence, Union

from footplate.domain.tables.tabular import column_type
from footplate.sdk.exceptions import UserErrorException


class DataType:
    """Types for `set_column_types`: `{'price': DataType.to_float(), 'when': DataType.to_datetime('%d.%m.%Y')}`."""

    def __init__(self, definition: Dict[str, Any]) -> None:
        self.definition = definition

    @staticmethod
    def to_string() -> DataType:
        return DataType(column_type("string"))

    @staticmethod
    def to_long() -> DataType:
        return DataType(column_type("integer"))

    @staticmethod
    def to_float(decimal_mark: str = ".") -> DataType:
        """`decimal_mark` separates the fraction: '.' or ','."""
        if decimal_mark not in (".", ","):
            raise UserErrorException(f"decimal_mark is {decimal_mark!r}", hint="use '.' or ','")
        return DataType(column_type("float", decimal_mark=decimal_mark))

    @staticmethod
    def to_bool() -> DataType:
        return DataType(column_type("boolean"))

    @staticmethod
    def to_datetime(formats: Union[str, Sequence[str], None] = None) -> DataType:
        """`formats`: time formats such as `'%d.%m.%Y %H:%M'`, tried in turn; ISO 8601 if none is given."""
        given = [formats] if isinstance(formats, str) else list(formats or ())
        for form in given:
            if not isinstance(form, str) or "%" not in form:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"{form!r} is not a time format", hint="write it as in '%Y-%m-%d %H:%M:%S'")
        return DataType(column_type("datetime", given))

    @staticmethod
    def to_stream(workspace: Any = None, escaped: bool = False) -> NoReturn:
        raise UserErrorException(
            "a column of links to files cannot be read", hint="create a file dataset of the files and read them there"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and other.definition == self.definition

    def __hash__(self) -> int:
        return hash(repr(self.definition))

    def __repr__(self) -> str:
        return f"DataType({self.definition!r})"


class PromoteHeadersBehavior(enum.Enum):
    """How the headers of several delimited files are combined."""

    NO_HEADERS = 0
    ONLY_FIRST_FILE_HAS_HEADERS = 1
    COMBINE_ALL_FILES_HEADERS = 2
    ALL_FILES_HAVE_SAME_HEADERS = 3


_HEADERS = {
    False: "none",
    True: "same",
    PromoteHeadersBehavior.NO_HEADERS: "none",
    PromoteHeadersBehavior.ONLY_FIRST_FILE_HAS_HEADERS: "first",
    PromoteHeadersBehavior.COMBINE_ALL_FILES_HEADERS: "combine",
    PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS: "same",
}


def header_term(header: Any) -> str:
    """Translate a user's `header=` to the definition's term."""
    if isinstance(header, int) and not isinstance(header, bool) and header in range(len(PromoteHeadersBehavior)):
        header = PromoteHeadersBehavior(header)
    if not isinstance(header, (bool, PromoteHeadersBehavior)):
        raise UserErrorException(f"header is {header!r}", hint="use True, False or a PromoteHeadersBehavior")
    return _HEADERS[header]


def types_to_json(types: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """Translate `set_column_types` to plain data."""
    definitions: Dict[str, Any] = {}
    for name, wanted in (types or {}).items():
        if not isinstance(wanted, DataType):
            raise UserErrorException(
                f"the type of column {name!r} is {wanted!r}", hint="use a DataType, as in DataType.to_string()"
            )
        definitions[str(name)] = wanted.definition
    return definitions
