"""Reads the part of YAML that run configurations and conda files are written in.

That is: block mappings and sequences, nested; plain and quoted texts on one line; comments; lists and mappings in
brackets on one line; texts of several lines after `|`. Everything else (anchors, tags, folded texts, several documents,
numbers that only some readers take for numbers) is refused by its line. What is accepted means what YAML 1.1 says.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from footplate.sdk.config.yaml_brackets import Cursor
from footplate.sdk.config.yaml_scalars import QUOTE_IT, UNPRINTABLE, Place, YamlError, scalar
from footplate.sdk.exceptions import UserErrorException


def loads(text: str, name: str = "the YAML text") -> Any:
    """The data in `text`. Raises YamlError, which names the line, for what is not in the part of YAML read here."""
    reader = _Reader(text, name)
    try:
        return reader.read()
    except RecursionError:
        raise YamlError(f"{name} is nested too deeply to be read", reader.line, "is it a file for this?") from None


def load_file(path: str) -> Any:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise YamlError(f"{path} is not UTF-8: {error.reason}", hint="save it as UTF-8") from error
    except OSError as error:
        hint = f"give the path of a file; a relative one begins at {os.getcwd()}"
        raise UserErrorException(f"file {path!r} cannot be read: {error.strerror}", error, hint=hint) from error
    return loads(text, path)


class _Line:
    """A line that is neither empty nor a comment: its number, its indentation, and the text after it."""

    def __init__(self, number: int, indent: int, text: str) -> None:
        self.number = number
        self.indent = indent
        self.text = text


class _Reader:
    """Recursive descent over lines. `_at` is the next line; `_rest` replaces its text after a `- ` was taken off."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        text = text.replace("\r\n", "\n")
        self._ended = text.endswith("\n")
        self._lines = text.split("\n")
        if self._ended:
            self._lines.pop()
        for number, line in enumerate(self._lines, 1):
            odd = UNPRINTABLE.search(line)
            if odd:
                self._refuse(number, f"has the character {odd.group()!r}", 'write it as "\\x…" in double quotes')
        self._at = 0
        self._rest: Optional[_Line] = None

    @property
    def line(self) -> int:
        return self._at + 1

    def read(self) -> Any:
        if self._lines and re.fullmatch(r"---( +#.*)? *", self._first_line()):
            self._at += 1
        line = self._peek()
        if line is None:
            return None
        value = self._block(line.indent)
        left = self._peek()
        if left is not None:
            self._refuse(left.number, f"does not belong to what is above it: {left.text!r}", "correct its indentation")
        return value

    def _first_line(self) -> str:
        while self._at < len(self._lines) - 1 and not _without_comment(self._lines[self._at].strip(" ")):
            self._at += 1
        return self._lines[self._at]

    def _peek(self) -> Optional[_Line]:
        if self._rest is not None:
            return self._rest
        while self._at < len(self._lines):
            raw, number = self._lines[self._at], self._at + 1
            text = raw.lstrip(" ")
            if text.startswith("\t"):
                self._refuse(number, "is indented with a tab", "indent with spaces")
            if text and not text.startswith("#"):
                if raw.startswith(("---", "...")) and raw[3:4].strip() == "":
                    self._refuse(number, "begins another document", "keep one document in a file")
                return _Line(number, len(raw) - len(text), text.rstrip(" "))
            self._at += 1
        return None

    def _advance(self) -> None:
        self._rest = None
        self._at += 1

    # ── blocks ──

    def _block(self, indent: int) -> Any:
        line = self._peek()
        assert line is not None
        if _is_item(line.text):
            return self._sequence(indent)
        if self._key(line) is not None:
            return self._mapping(indent)
        self._advance()
        value = self._value(line, line.text, indent)
        self._no_continuation(indent - 1)
        return value

    def _sequence(self, indent: int) -> List[Any]:
        found: List[Any] = []
        while True:
            line = self._peek()
            if line is None or line.indent < indent or (line.indent == indent and not _is_item(line.text)):
                return found
            if line.indent > indent:
                self._refuse(line.number, "is indented further than what is above it", "correct its indentation")
            found.append(self._item(line, indent))

    def _item(self, line: _Line, indent: int) -> Any:
        inner = line.text[1:].lstrip(" ")
        if _without_comment(inner) == "":
            self._advance()
            return self._nested(indent)
        inside = _Line(line.number, line.indent + len(line.text) - len(inner), inner)
        if _is_item(inner) or self._key(inside) is not None:
            self._rest = inside
            return self._block(inside.indent)
        self._advance()
        value = self._value(line, inner, indent)
        self._no_continuation(indent)
        return value

    def _mapping(self, indent: int) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        while True:
            line = self._peek()
            if line is None or line.indent < indent or (line.indent == indent and _is_item(line.text)):
                return found
            if line.indent > indent:
                self._refuse(line.number, "is indented further than what is above it", "correct its indentation")
            split = self._key(line)
            if split is None:
                self._refuse(line.number, f"has no key: {line.text!r}", "write it as `key: value`")
            key, rest = split
            if key in found:
                self._refuse(line.number, f"has the key {key!r} for a second time", "remove one of the two")
            self._advance()
            found[key] = self._entry(line, rest, indent)

    def _entry(self, line: _Line, rest: str, indent: int) -> Any:
        if _without_comment(rest) != "":
            value = self._value(line, rest, indent)
            self._no_continuation(indent)
            return value
        following = self._peek()
        if following is not None and following.indent == indent and _is_item(following.text):
            return self._sequence(indent)
        return self._nested(indent)

    def _nested(self, indent: int) -> Any:
        """The block below a `key:` or a `-`, or None when there is none."""
        line = self._peek()
        return None if line is None or line.indent <= indent else self._block(line.indent)

    def _no_continuation(self, indent: int) -> None:
        line = self._peek()
        if line is not None and line.indent > indent and line.indent > 0:
            self._refuse(
                line.number, "continues a text or stands below a value", "write the text on one line, or use |"
            )

    def _key(self, line: _Line) -> Optional[Tuple[str, str]]:
        """The key of a `key: value` line and what follows the colon; None when the line is not one."""
        text = line.text
        if text[0] in "\"'":
            cursor = Cursor(Place(self._name, line.number), text)
            key: Any = cursor.quoted()
            rest = text[cursor.at :].lstrip(" ")
            return (str(key), rest[1:].lstrip(" ")) if re.match(r":( |$)", rest) else None
        if text[0] in "?" and text[1:2] in ("", " "):
            self._refuse(line.number, "begins with `? `", "write the key as `key: value`")
        if text[0] in "[{|>":
            return None
        found = re.match(r"(.*?)(?<! ) *:( +|$)", _without_comment(text))
        if found is None or not found.group(1):
            return None
        key = scalar(Place(self._name, line.number), found.group(1))
        if not isinstance(key, str):
            self._refuse(line.number, f"has the key {found.group(1)!r}, which YAML reads as {key!r}", QUOTE_IT)
        return key, text[found.end() :]

    # ── values ──

    def _value(self, line: _Line, text: str, indent: int) -> Any:
        if text[0] == "|":
            return self._literal(line, text, indent)
        if text[0] in "[{\"'":
            cursor = Cursor(Place(self._name, line.number), text)
            value = cursor.value()
            rest = text[cursor.at :]
            if rest and not re.match(r" +(#|$)", rest):
                self._refuse(line.number, f"goes on after the value: {rest.strip()!r}", QUOTE_IT)
            return value
        return scalar(Place(self._name, line.number), _without_comment(text))

    def _literal(self, line: _Line, text: str, indent: int) -> str:
        header = re.fullmatch(r"\|([-+]?)( +#.*)? *", text)
        if header is None:
            self._refuse(line.number, f"has {text!r}", "after | only + or - may follow, and the text on the next lines")
        body = self._literal_lines(indent)
        whole = "\n".join(body)
        stripped = whole.rstrip("\n") if body else ""
        if header.group(1) == "-" or not body:
            return stripped
        at_end = self._at >= len(self._lines) and not self._ended
        if header.group(1) == "+":
            return whole + ("" if at_end else "\n")
        if not stripped:
            return ""
        return stripped + ("" if at_end and whole == stripped else "\n")

    def _literal_lines(self, indent: int) -> List[str]:
        start = self._at
        while self._at < len(self._lines) and not self._lines[self._at].strip(" "):
            self._at += 1
        first = self._lines[self._at] if self._at < len(self._lines) else ""
        width = len(first) - len(first.lstrip(" "))
        if width <= max(indent, 0):
            width = max(indent, 0) + 1
        for number in range(start, self._at):
            if len(self._lines[number]) > width or (width <= len(self._lines[number]) and not first.strip()):
                self._refuse(number + 1, "has more spaces than the text that follows it", "leave the line empty")
        while self._at < len(self._lines):
            raw = self._lines[self._at]
            if raw.strip(" ") and len(raw) - len(raw.lstrip(" ")) < width:
                break
            self._at += 1
        return [raw[width:] for raw in self._lines[start : self._at]]

    def _refuse(self, number: int, problem: str, hint: str) -> NoReturn:
        Place(self._name, number).refuse(problem, hint)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _without_comment(text: str) -> str:
    """A plain text up to its comment. `#` begins one at the start or after a space."""
    return re.split(r"(?:^|(?<= ))#", text, maxsplit=1)[0].rstrip(" ")
