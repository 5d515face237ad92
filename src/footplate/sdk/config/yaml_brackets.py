"""Quoted texts, and lists and mappings in brackets: the parts of YAML that are read character by character."""

from __future__ import annotations

import re
from typing import Any, Dict, List

from footplate.sdk.config.yaml_scalars import QUOTE_IT, Place, scalar

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "0": "\0", " ": " "}
_ESCAPES.update({"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"})
_CODES = {"x": 2, "u": 4, "U": 8}


class Cursor:
    """Reads quoted texts and what is in brackets, character by character, within one line."""

    def __init__(self, place: Place, text: str) -> None:
        self._place = place
        self._text = text
        self.at = 0

    def value(self) -> Any:
        character = self._text[self.at : self.at + 1]
        if character == "[":
            return self._list()
        if character == "{":
            return self._dict()
        return self.quoted() if character in ("'", '"') else self._plain()

    def _list(self) -> List[Any]:
        found: List[Any] = []
        self._take("[")
        while not self._closes("]"):
            found.append(self.value())
            self._separator("]")
        return found

    def _dict(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        self._take("{")
        while not self._closes("}"):
            key: Any = self._flow_key()
            if not isinstance(key, str) or key in found:
                self._place.refuse(f"has the key {key!r} in braces", "keys are texts, each of them once")
            self._spaces()
            found[key] = None if self._text[self.at : self.at + 1] in (",", "}") else self.value()
            self._separator("}")
        return found

    def _flow_key(self) -> Any:
        quoted = self._text[self.at : self.at + 1] in ("'", '"')
        found = re.compile(r"([^,\[\]{}:\"']*):(?=[ ,}])").match(self._text, self.at)
        if quoted:
            key: Any = self.quoted()
            self._spaces()
            self._take(":")
            if self._text[self.at : self.at + 1] != " ":
                self._place.refuse("lacks a space after a colon", "write {key: value}")
            return key
        if found is None:
            self._place.refuse("has something in braces that is not `key: value`", "write {key: value}")
        self.at = found.end()
        return scalar(self._place, found.group(1).strip(" "))

    def _plain(self) -> Any:
        found = re.compile(r"[^,\[\]{}]*").match(self._text, self.at)
        text = found.group().strip(" ") if found else ""
        if not text:
            self._place.refuse("lacks a value between brackets or commas", "write [a, b] or {key: value}, on one line")
        if "?" in text or (text[0] in "-:" and text[1:2] in ("", " ")) or text[-1] == ":":
            self._place.refuse(f"has {text!r} in brackets", QUOTE_IT)
        self.at = found.end() if found else self.at
        return scalar(self._place, text)

    def quoted(self) -> str:
        quote = self._text[self.at]
        self.at += 1
        parts: List[str] = []
        while True:
            character = self._text[self.at : self.at + 1]
            if character == "":
                self._place.refuse("has a quote that is not closed", "close it on its line; use | for several")
            self.at += 1
            if character == quote == "'" and self._text[self.at : self.at + 1] == "'":
                self.at += 1
            elif character == quote:
                return "".join(parts)
            elif character == "\\" and quote == '"':
                character = self._escape()
            parts.append(character)

    def _escape(self) -> str:
        kind = self._text[self.at : self.at + 1]
        self.at += 1
        if kind in _ESCAPES and kind:
            return _ESCAPES[kind]
        digits = self._text[self.at : self.at + _CODES.get(kind, 0)]
        if (
            kind not in _CODES
            or not re.fullmatch(f"[0-9a-fA-F]{{{_CODES[kind]}}}", digits)
            or int(digits, 16) > 0x10FFFF
        ):
            self._place.refuse(
                f"has \\{kind}{digits} in double quotes", "write \\\\ for a backslash, or use single quotes"
            )
        self.at += len(digits)
        return chr(int(digits, 16))

    def _take(self, character: str) -> None:
        if self._text[self.at : self.at + 1] != character:
            self._place.refuse(f"lacks {character!r} after {self._text[: self.at]!r}", "write it on one line")
        self.at += 1

    def _spaces(self) -> None:
        while self._text[self.at : self.at + 1] == " ":
            self.at += 1
        if self._text[self.at : self.at + 1] == "#" and self._text[self.at - 1] == " ":
            self._place.refuse("has a comment within brackets", "write what is in brackets on one line")

    def _closes(self, bracket: str) -> bool:
        self._spaces()
        closes = self._text[self.at : self.at + 1] == bracket
        self.at += closes
        return closes

    def _separator(self, bracket: str) -> None:
        self._spaces()
        if self._text[self.at : self.at + 1] != bracket:
            self._take(",")
