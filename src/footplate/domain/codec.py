"""Values and frozen dataclasses to JSON and back, with errors that name the field.

One rule for every spec and record: `from_json` reads what `to_json` writes. A missing key takes the field's default, so
an older peer can be read. With `strict`, an unknown key is refused, so that a misspelled field of a request is an
error.

Every record that the server reads or returns passes through here, so each type is inspected once: it becomes a
*reader*, a function that converts the data.
"""

from __future__ import annotations

import collections.abc
import enum
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, TypeVar, Union, cast

from footplate.domain.values import Value
from footplate.errors import InvalidInput

T = TypeVar("T")
_WORDS: Dict[Any, str] = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
_PLAIN = frozenset([str, int, float, bool, type(None)])
_MAPPINGS = (dict, collections.abc.Mapping)  # not typing's own, whose checks take five times as long

_Where = Any  # a name, or a pair: the enclosing place, and the name of a field or an index
_Reader = Callable[[Any, _Where, bool], Any]  # data, its place in the document, whether unknown keys are refused
_readers: Dict[Any, _Reader] = {}
_names: Dict[type, Tuple[str, ...]] = {}


def _has_fields(kind: Any) -> bool:
    return (kind.__class__ is type and issubclass(kind, Value)) or hasattr(kind, "__dataclass_fields__")


def _field_names(kind: Any) -> Tuple[str, ...]:
    """Return the names of a value's or dataclass's fields without importing `dataclasses`, which takes a while."""
    return tuple(kind.value_fields if issubclass(kind, Value) else kind.__dataclass_fields__)


# ── Values to JSON ────────────────────────────────────────────────────────────────────────────────────────────────────


def to_json(value: Any) -> Any:
    kind: Any = value.__class__
    if kind in _PLAIN:  # most values are plain; the checks below cost more than everything else
        return value
    names = _names.get(kind)
    if names is None and _has_fields(kind):
        names = _names[kind] = _field_names(kind)
    if names is not None:
        return {n: v if type(v := getattr(value, n)) in _PLAIN else to_json(v) for n in names}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, _MAPPINGS):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {str(k): v if type(v) in _PLAIN else to_json(v) for k, v in pairs}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in cast("Tuple[Any, ...]", value)]
    return value


# ── JSON to values ────────────────────────────────────────────────────────────────────────────────────────────────────


def from_json(kind: Type[T], data: Any, *, strict: bool = False, where: str = "") -> T:
    """Build the dataclass `kind` from plain JSON data."""
    return cast(T, _reader(kind)(data, where or kind.__name__, strict))


def prepare(*kinds: type) -> None:
    """Inspect these types, and all types in their fields, now: a process that is forked later need not."""
    for kind in kinds:
        _reader(kind)
    while any(reader.inspect() for reader in list(_readers.values()) if isinstance(reader, _DataclassReader)):
        pass


def _reader(kind: Any) -> _Reader:
    reader = _readers.get(kind)
    if reader is None:
        reader = _readers[kind] = _make_reader(kind)
    return reader


def _make_reader(kind: Any) -> _Reader:
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return _as_it_is
    if origin is Union:
        inner = [option for option in options if option is not type(None)]
        return _optional(_reader(inner[0])) if len(inner) == 1 else _as_it_is
    if _has_fields(kind):
        return _DataclassReader(cast(type, kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(kind)
    if origin in (tuple, list):
        return _sequence(_reader(options[0]), cast("Callable[[List[Any]], Any]", origin))
    if origin is dict:
        return _mapping(options[1], _reader(options[1]))
    return _scalar(kind)


def _as_it_is(data: Any, where: _Where, strict: bool) -> Any:
    return data


def _optional(inner: _Reader) -> _Reader:
    return lambda data, where, strict: None if data is None else inner(data, where, strict)


def _enum(kind: Type[enum.Enum]) -> _Reader:
    def read(data: Any, where: _Where, strict: bool) -> Any:
        try:
            return kind(data)
        except ValueError:
            raise _wrong(where, data, "one of " + ", ".join(repr(m.value) for m in kind)) from None

    return read


def _sequence(item: _Reader, make: Callable[[List[Any]], Any]) -> _Reader:
    def read(data: Any, where: _Where, strict: bool) -> Any:
        if not isinstance(data, (list, tuple)):
            raise _wrong(where, data, "a list")
        values = cast("Tuple[Any, ...]", data)
        return make([item(value, (where, index), strict) for index, value in enumerate(values)])

    return read


def _mapping(kind: Any, item: _Reader) -> _Reader:
    def read(data: Any, where: _Where, strict: bool) -> Any:
        if not isinstance(data, _MAPPINGS):
            raise _wrong(where, data, "an object")
        pairs = cast("Mapping[Any, Any]", data).items()
        return {str(k): v if type(v) is kind else item(v, (where, str(k)), strict) for k, v in pairs}

    return read


def _scalar(kind: Any) -> _Reader:
    words = _WORDS.get(kind)

    def read(data: Any, where: _Where, strict: bool) -> Any:
        if type(data) is kind or words is None:
            return data
        if kind is float and isinstance(data, int) and not isinstance(data, bool):
            return float(data)
        if not isinstance(data, kind) or isinstance(data, bool):
            raise _wrong(where, data, words)
        return data

    return read


class _DataclassReader:
    """A reader of a dataclass. It inspects the fields on first use: by then every name in their types is defined."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._fields: Optional[Dict[str, Tuple[Any, _Reader]]] = None

    def inspect(self) -> bool:
        """Make the readers of the fields; return whether there were none yet."""
        if self._fields is not None:
            return False
        hints = typing.get_type_hints(self._kind)
        self._fields = {name: (hints[name], _reader(hints[name])) for name in _field_names(self._kind)}
        return True

    def __call__(self, data: Any, where: _Where, strict: bool) -> Any:
        if not isinstance(data, _MAPPINGS):
            raise _wrong(where, data, "an object")
        self.inspect()
        values = cast("Mapping[str, Any]", data)
        fields = cast("Dict[str, Tuple[Any, _Reader]]", self._fields)
        if strict:
            self._refuse_unknown(values, fields, where)
        arguments = {
            name: v if type(v := values[name]) is kind else reader(v, (where, name), strict)
            for name, (kind, reader) in fields.items()
            if name in values
        }
        try:
            return self._kind(**arguments)
        except TypeError:
            raise self._lacking(values, where) from None

    def _refuse_unknown(self, values: Mapping[str, Any], fields: Mapping[str, Any], where: _Where) -> None:
        for key in values:
            if key not in fields:
                import difflib  # noqa: PLC0415  # only an error needs it

                near = difflib.get_close_matches(key, fields, 1)
                raise InvalidInput(
                    f"{_path(where)} has no field {key!r}",
                    f"did you mean {near[0]!r}?" if near else f"the fields are {sorted(fields)}",
                )

    def _lacking(self, values: Mapping[str, Any], where: _Where) -> InvalidInput:
        import dataclasses  # noqa: PLC0415  # only an error needs it

        missing = [
            field.name
            for field in dataclasses.fields(self._kind)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        names = ", ".join(name for name in missing if name not in values)
        return InvalidInput(f"{_path(where)} lacks {names}", "send every field that has no default")


def _wrong(where: _Where, data: Any, expected: str) -> InvalidInput:
    return InvalidInput(f"{_path(where)} is {data!r}, which is not {expected}", f"give {expected}")


def _path(where: _Where) -> str:
    """Return the place as text; only an error needs it."""
    if isinstance(where, str):
        return where
    around, name = where
    return _path(around) + (f"[{name}]" if isinstance(name, int) else f".{name}")
