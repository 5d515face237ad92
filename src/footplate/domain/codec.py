"""Frozen dataclasses to JSON and back, with errors that name the field.

One rule for every spec and record: what `to_json` writes, `from_json` reads; a key that is missing takes the field's
default, so an older peer can be read; a key that nobody knows is refused when `strict`, so that a misspelled field of a
request is an error and not silence.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import typing
from typing import Any, Dict, Mapping, Tuple, Type, TypeVar, Union, cast

from footplate.errors import InvalidInput

T = TypeVar("T")
_WORDS: Dict[Any, str] = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
_PLAIN = frozenset([str, int, float, bool, type(None)])
_hints: Dict[type, Dict[str, Any]] = {}


def to_json(value: Any) -> Any:
    if type(value) in _PLAIN:  # most values are; asking the questions below of each costs more than all the rest
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in cast("Tuple[Any, ...]", value)]
    return value


def from_json(kind: Type[T], data: Any, *, strict: bool = False, where: str = "") -> T:
    """Build the dataclass `kind` from plain JSON data."""
    return cast(T, _decode(kind, data, where or kind.__name__, strict))


def _decode(kind: Any, data: Any, where: str, strict: bool) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if origin is Union:
        options = typing.get_args(kind)
        if data is None and type(None) in options:
            return None
        inner = [o for o in options if o is not type(None)]
        return _decode(inner[0], data, where, strict) if len(inner) == 1 else data
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(cast(type, kind), data, where, strict)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError:
            raise _wrong(where, data, "one of " + ", ".join(repr(m.value) for m in kind)) from None
    if origin in (tuple, list):
        if not isinstance(data, (list, tuple)):
            raise _wrong(where, data, "a list")
        item = typing.get_args(kind)[0]
        values = [_decode(item, v, f"{where}[{i}]", strict) for i, v in enumerate(cast("Tuple[Any, ...]", data))]
        return tuple(values) if origin is tuple else values
    if origin is dict:
        if not isinstance(data, Mapping):
            raise _wrong(where, data, "an object")
        value_kind = typing.get_args(kind)[1]
        pairs = cast("Mapping[Any, Any]", data).items()
        return {str(k): _decode(value_kind, v, f"{where}.{k}", strict) for k, v in pairs}
    return _decode_scalar(kind, data, where)


def _decode_dataclass(kind: type, data: Any, where: str, strict: bool) -> Any:
    if not isinstance(data, Mapping):
        raise _wrong(where, data, "an object")
    values = cast("Mapping[str, Any]", data)
    if kind not in _hints:
        _hints[kind] = typing.get_type_hints(kind)
    hints, fields = _hints[kind], dataclasses.fields(kind)
    known = {f.name for f in fields}
    for key in values:
        if strict and key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise InvalidInput(
                f"{where} has no field {key!r}",
                f"did you mean {near[0]!r}?" if near else f"the fields are {sorted(known)}",
            )
    arguments = {k: _decode(hints[k], values[k], f"{where}.{k}", strict) for k in known if k in values}
    try:
        return kind(**arguments)
    except TypeError:
        bare = [f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        missing = [name for name in bare if name not in values]
        raise InvalidInput(f"{where} lacks {', '.join(missing)}", "send every field that has no default") from None


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind in _WORDS and (not isinstance(data, kind) or (kind is not bool and isinstance(data, bool))):
        raise _wrong(where, data, _WORDS[kind])
    return data


def _wrong(where: str, data: Any, wanted: str) -> InvalidInput:
    return InvalidInput(f"{where} is {data!r}, which is not {wanted}", f"give {wanted}")
