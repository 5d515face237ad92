"""Partition formats: columns that are read off a file's path.

`/{department}/{day:yyyy/MM/dd}/data.csv` on `…/Accounts/2019/01/31/data.csv` gives `department = "Accounts"` and
`day = 2019-01-31`. A format describes the end of the path; `*` stands for any part of a name, `**` for any folders.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Dict, List, Pattern, Tuple, Union

from footplate.errors import InvalidInput

Value = Union[str, datetime]

_KEY = re.compile(r"\{([^{}:]+)(?::([^{}]+))?\}")
_CLOCK = re.compile(r"yyyy|MM|dd|HH|mm|ss")
_FIELDS = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
_WILD = re.compile(r"(\*\*/?|\*)")
_HINT = "write it as in: '/{department}/{day:yyyy/MM/dd}/data.csv'"


class PartitionFormat:
    """A format, ready to read paths. `columns` are in the order of the format; `dated` are those that are times."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: List[str] = []
        self.dated: Dict[str, List[str]] = {}
        self._pattern = self._compile(text)

    def read(self, path: str) -> Dict[str, Value]:
        """The values of one path; InvalidInput when the path does not end as the format says."""
        found = self._pattern.search("/" + path.lstrip("/"))
        if found is None:
            raise InvalidInput(
                f"the path {path!r} does not end as the partition format {self.text!r} says",
                "the format goes from the first partition key to the end of the path, file name included",
            )
        groups = found.groups()
        values: Dict[str, Value] = {}
        at = 0
        for column in self.columns:
            size = len(self.dated.get(column, ("",)))
            parts = groups[at : at + size]
            at += size
            values[column] = self._time(column, parts, path) if column in self.dated else parts[0]
        return values

    def _time(self, column: str, parts: Tuple[str, ...], path: str) -> datetime:
        fields = {"year": 1900, "month": 1, "day": 1}
        fields.update(zip(self.dated[column], map(int, parts)))
        try:
            return datetime(**fields)  # pyright: ignore[reportArgumentType]
        except ValueError as error:
            raise InvalidInput(
                f"the path {path!r} has no time for {column!r}: {error}", "correct the name of the file or the format"
            ) from None

    def _compile(self, text: str) -> Pattern[str]:
        pieces: List[str] = []
        at = 0
        for key in _KEY.finditer(text):
            pieces.append(self._plain(text[at : key.start()]))
            pieces.append(self._key(key.group(1).strip(), key.group(2)))
            at = key.end()
        pieces.append(self._plain(text[at:]))
        if not self.columns:
            raise InvalidInput(f"the partition format {text!r} has no {{column}}", _HINT)
        begin = "" if text.startswith("/") else "(?:^|/)"
        return re.compile(begin + "".join(pieces) + "$")

    def _key(self, name: str, clock: str) -> str:
        if name in self.columns:
            raise InvalidInput(f"the partition format {self.text!r} has {name!r} twice", "give each its own name")
        self.columns.append(name)
        if not clock:
            return "([^/]+?)"
        fields: List[str] = []
        pieces: List[str] = []
        at = 0
        for part in _CLOCK.finditer(clock):
            pieces.append(re.escape(clock[at : part.start()]))
            pieces.append(r"(\d{4})" if part.group() == "yyyy" else r"(\d{1,2})")
            fields.append(_FIELDS[part.group()])
            at = part.end()
        pieces.append(re.escape(clock[at:]))
        if not fields or len(set(fields)) < len(fields):
            raise InvalidInput(
                f"{clock!r} in the partition format {self.text!r} is no time", "use yyyy, MM, dd, HH, mm, ss, each once"
            )
        self.dated[name] = fields
        return "".join(pieces)

    def _plain(self, text: str) -> str:
        if "{" in text or "}" in text:
            raise InvalidInput(f"the partition format {self.text!r} has a brace without its partner", _HINT)
        return "".join(_translate(piece) for piece in _WILD.split(text))


def _translate(piece: str) -> str:
    if piece.startswith("**"):
        return "(?:[^/]+/)*"
    return "[^/]*" if piece == "*" else re.escape(piece)
