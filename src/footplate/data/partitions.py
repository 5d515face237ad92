"""Columns encoded in paths, described by a format such as `{country}/{day:yyyy/MM/dd}/part.csv`."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from footplate.errors import InvalidInput

_FIELD = re.compile(r"\{([^{}:]+)(?::([^{}]+))?\}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TIMES = (
    ("yyyy", r"\d{4}", "year"),
    ("MM", r"\d{2}", "month"),
    ("dd", r"\d{2}", "day"),
    ("HH", r"\d{2}", "hour"),
    ("mm", r"\d{2}", "minute"),
    ("ss", r"\d{2}", "second"),
)


class Partition:
    """A partition format. It describes the end of a path, from the segment with the first column on."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.columns: list[str] = []
        self.times: set[str] = set()
        start = form.find("{")
        if start < 0 or not _FIELD.search(form):
            raise InvalidInput(f"partition_format is {form!r}, which has no column", "write e.g. '{year}/data.csv'")
        begin = form.rfind("/", 0, start) + 1  # `year={year}`: the text before the column is not part of it
        self._pattern = re.compile(r"(?:.*/)?" + self._translate(form[begin:]), re.DOTALL)

    def values(self, path: str) -> dict[str, Any]:
        """Return the columns of this path, or none if it does not match. Times are seconds since the epoch."""
        match = self._pattern.fullmatch(path)
        if match is None:
            return {}
        return {c: _moment(c, match) if c in self.times else match[f"c_{c}"] for c in self.columns}

    def _translate(self, form: str) -> str:
        pattern, at = "", 0
        for field in _FIELD.finditer(form):
            pattern += _literal(form[at : field.start()]) + self._column(field[1], field[2])
            at = field.end()
        return pattern + _literal(form[at:])

    def _column(self, name: str, form: str | None) -> str:
        if not _NAME.fullmatch(name) or name in self.columns:
            raise InvalidInput(
                f"partition_format {self.form!r} has an invalid or repeated column {name!r}",
                "give each column its own name",
            )
        self.columns.append(name)
        if form is None:
            return rf"(?P<c_{name}>[^/]+)"
        self.times.add(name)
        text = re.escape(form)
        for token, pattern, part in _TIMES:
            text = text.replace(token, rf"(?P<{part}_{name}>{pattern})", 1)
        return text


def _literal(text: str) -> str:
    """Translate literal text. `*` matches any part of a path segment, as in the paths of datasets."""
    return r"[^/]*".join(re.escape(piece) for piece in text.split("*"))


def _moment(column: str, match: re.Match[str]) -> float | None:
    parts = {part: int(match[f"{part}_{column}"]) for _, _, part in _TIMES if f"{part}_{column}" in match.groupdict()}
    try:
        return datetime(**{"year": 1970, "month": 1, "day": 1, **parts}, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
