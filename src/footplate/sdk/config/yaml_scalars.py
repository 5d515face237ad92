"""What a text without quotes stands for in YAML 1.1, and when it needs quotes. Shared by reader and writer."""

from __future__ import annotations

import re
from typing import Any, NoReturn, Optional

from footplate.sdk.exceptions import UserErrorException

_BOOLEANS = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS = ("~", "null", "Null", "NULL", "")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,299})", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)
_UNCLEAR = re.compile(
    r"[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*|"  # other bases, underscores
    r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|"  # minutes and seconds
    r"([-+]?[0-9][0-9_]*)?\.[0-9_]*([eE][-+][0-9]+)?|"
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\s].*)?|"  # dates
    r"=|<<",
    re.ASCII,
)
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_START = re.compile(r"[^\s,\[\]{}#&*!|>'\"%@`?:\-]|[?:\-](?=[^\s,\[\]{}])")
_HINTS = {
    "&": "write the value out where it is used: anchors are not read here",
    "*": "write the value out where it is used: aliases are not read here; a text that begins with * needs quotes",
    "!": "leave the tag out; a text that begins with ! needs quotes",
    ">": "use | for a text of several lines; a text that begins with > needs quotes",
    "%": "leave directives out; a text that begins with % needs quotes",
    "?": "write the key as `key: value`",
}
QUOTE_IT = "put the text in quotes"


class YamlError(UserErrorException):
    """`line` is where the reading stopped, counted from 1."""

    def __init__(self, message: str, line: int = 0, hint: Optional[str] = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


class Place:
    """A line of a text, for messages."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number

    def refuse(self, problem: str, hint: str) -> NoReturn:
        raise YamlError(f"line {self.number} of {self.name} {problem}", self.number, hint)


def is_plain(text: str) -> bool:
    """Whether the text, written without quotes, is read as that text."""
    if not _START.match(text) or re.search(r":( |$)| #|[\t\n]|^---|^\.\.\.| $", text) or UNPRINTABLE.search(text):
        return False
    words = text in _NULLS or text in _BOOLEANS
    return not words and not any(pattern.fullmatch(text) for pattern in (_INTEGER, _FLOAT, _UNCLEAR))


def scalar(place: Place, text: str) -> Any:
    """A text without quotes, or the number, boolean or null that it stands for."""
    if text in _NULLS:
        return None
    if not _START.match(text):
        place.refuse(f"has a value that begins with {text[0]!r}: {text!r}", _HINTS.get(text[0], QUOTE_IT))
    if "\t" in text or re.search(r":( |$)| #", text):
        place.refuse(f"has a text that needs quotes: {text!r}", QUOTE_IT)
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace(".", "") if text[-1] in "fFnN" else text)
    if _UNCLEAR.fullmatch(text):
        place.refuse(f"has {text!r}, which not every reader of YAML takes for the same", QUOTE_IT)
    return text
