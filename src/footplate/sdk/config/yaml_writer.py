"""Writes data as YAML that every reader of YAML 1.1 reads as the same."""

from __future__ import annotations

import math
import re
from typing import Any, List, Mapping, Sequence, cast

from footplate.sdk.config.yaml_scalars import UNPRINTABLE, YamlError, is_plain


def dumps(data: Any) -> str:
    """Data of mappings, lists, texts, numbers, booleans and None as YAML that `loads` and every other reader read."""
    if isinstance(data, (Mapping, list, tuple)) and data:
        return "\n".join(_block(cast("Any", data), 0)) + "\n"
    return _inline(data) + "\n"


def _block(data: Any, indent: int) -> List[str]:
    return _mapping(cast("Any", data), indent) if isinstance(data, Mapping) else _sequence(data, indent)


def _mapping(data: Mapping[Any, Any], indent: int) -> List[str]:
    lines: List[str] = []
    for key, value in data.items():
        if not isinstance(key, str):
            raise YamlError(f"the key {key!r} is not a text", hint="use str(key)")
        head = f"{' ' * indent}{_text(key)}:"
        if isinstance(value, (Mapping, list, tuple)) and value:
            # A list stands below its key without further indentation, as in the files that Azure writes.
            lines += [head, *_block(value, indent + 2 if isinstance(value, Mapping) else indent)]
        else:
            lines += _entry(head, value, indent)
    return lines


def _sequence(data: Sequence[Any], indent: int) -> List[str]:
    lines: List[str] = []
    for value in data:
        if isinstance(value, (Mapping, list, tuple)) and value:
            inner = _block(cast("Any", value), indent + 2)
            lines += [f"{' ' * indent}- {inner[0][indent + 2 :]}", *inner[1:]]
        else:
            lines += _entry(f"{' ' * indent}-", value, indent)
    return lines


def _entry(head: str, value: Any, indent: int) -> List[str]:
    if value is None and head.endswith(":"):
        return [head]
    if isinstance(value, str) and _may_be_literal(value):
        end = "" if value.endswith("\n") else "-"
        body = value[:-1] if value.endswith("\n") else value
        return [f"{head} |{end}", *(f"{' ' * (indent + 2)}{line}" if line else "" for line in body.split("\n"))]
    return [f"{head} {_inline(value)}"]


def _may_be_literal(text: str) -> bool:
    """Several lines, none of which a reader would have to guess at: no odd characters, no space at the ends."""
    plain = "\n" in text and text == text.strip(" \t\n") + "\n" * text.endswith("\n")
    return plain and not UNPRINTABLE.search(text) and not re.search(r"^[ \t]|[ \t]+$", text, re.MULTILINE)


def _inline(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (Mapping, list, tuple)) and not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    raise YamlError(
        f"{value!r} cannot be written as YAML", hint="use texts, numbers, booleans, None, lists and mappings of them"
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(float(value))
    # Without a point, YAML 1.1 takes 1e-05 for a text.
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)


def _text(text: str) -> str:
    return text if is_plain(text) else '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character in "\n\t":
        return "\\n" if character == "\n" else "\\t"
    if not UNPRINTABLE.match(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
