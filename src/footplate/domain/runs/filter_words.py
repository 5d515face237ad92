"""The words of a filter: names, numbers, quoted text and signs, each with its column."""

from __future__ import annotations

import re
from typing import List, NamedTuple

from footplate.errors import InvalidInput

_PATTERN = re.compile(
    r"""\s*(?:
      (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.:\-/]))
    | (?P<name>[^\W\d][\w./:\-]*|[\d.][\w./:\-]*)
    | (?P<sign>==|!=|<=|>=|&&|\|\||[=<>~(),!])
    )""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Word(NamedTuple):
    """`kind`: string, number, name or sign. The text of a string is without quotes."""

    kind: str
    text: str
    column: int


def split(text: str) -> List[Word]:
    words: List[Word] = []
    at = 0
    while text[at:].strip():
        match = _PATTERN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            what = "the quote is not closed" if text[column] in "'\"" else f"unexpected {text[column]!r}"
            raise InvalidInput(
                f"the filter is wrong: {what}\n  {text}\n  {' ' * column}^",
                "write for example metrics.loss < 0.2 and tags.model == 'large'",
            )
        kind = str(match.lastgroup)
        word = match[kind]
        words.append(Word(kind, _ESCAPED.sub(r"\1", word[1:-1]) if kind == "string" else word, match.start(kind)))
        at = match.end()
    return words


def quote(text: str) -> str:
    """Return text in quotes, as `split` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
