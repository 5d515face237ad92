"""Column types of tables, and treatment of file headers."""

from __future__ import annotations

import enum
from typing import Any, Dict, Mapping, NoReturn, Optional, Sequence, Union

from footplate.domain.tables import column_type
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained


@explained
class DataType:
    """A type of a column, for `set_column_types`.

    Args:
        definition: The type as plain data; the static methods make it.

    Example:
        types = {
            "price": DataType.to_float(decimal_mark=","),
            "count": DataType.to_long(),
            "zip": DataType.to_string(),
            "sold": DataType.to_bool(),
            "when": DataType.to_datetime("%d.%m.%Y"),
        }
    """

    def __init__(self, definition: Dict[str, Any]) -> None:
        self.definition = definition

    @staticmethod
    def to_string() -> DataType:
        """Read the column as text.

        Returns:
            The type.
        """
        return DataType(column_type("string"))

    @staticmethod
    def to_long() -> DataType:
        """Read the column as whole numbers.

        Returns:
            The type.
        """
        return DataType(column_type("integer"))

    @staticmethod
    def to_float(decimal_mark: str = ".") -> DataType:
        """Read the column as numbers.

        Args:
            decimal_mark: The mark before the fraction, `.` or `,`.

        Returns:
            The type.

        Raises:
            UserErrorException: `decimal_mark` is something else.
        """
        if decimal_mark not in (".", ","):
            raise UserErrorException(f"decimal_mark is {decimal_mark!r}", hint="use '.' or ','")
        return DataType(column_type("float", decimal_mark=decimal_mark))

    @staticmethod
    def to_bool() -> DataType:
        """Read the column as truth values.

        Returns:
            The type.
        """
        return DataType(column_type("boolean"))

    @staticmethod
    def to_datetime(formats: Union[str, Sequence[str], None] = None) -> DataType:
        """Read the column as times.

        Args:
            formats: Time formats such as `%d.%m.%Y %H:%M`, tried in turn; ISO 8601 if none is given.

        Returns:
            The type.

        Raises:
            UserErrorException: A format has no `%`.
        """
        patterns = [formats] if isinstance(formats, str) else list(formats or ())
        for form in patterns:
            if not isinstance(form, str) or "%" not in form:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"{form!r} is not a time format", hint="write it as in '%Y-%m-%d %H:%M:%S'")
        return DataType(column_type("datetime", patterns))

    @staticmethod
    def to_stream(workspace: Any = None, escaped: bool = False) -> NoReturn:
        """Raise an error: a column of links to files cannot be read.

        Args:
            workspace, escaped: Ignored.

        Raises:
            UserErrorException: Always; create a file dataset instead.

        Example:
            try:
                DataType.to_stream(ws)
            except UserErrorException as error:
                print(error.hint)
        """
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
    """How the headers of several delimited files are combined.

    Example:
        header = PromoteHeadersBehavior.ONLY_FIRST_FILE_HAS_HEADERS
    """

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
    for name, data_type in (types or {}).items():
        if not isinstance(data_type, DataType):
            raise UserErrorException(
                f"the type of column {name!r} is {data_type!r}", hint="use a DataType, as in DataType.to_string()"
            )
        definitions[str(name)] = data_type.definition
    return definitions
