"""Immutable values, like frozen dataclasses, for modules that the first line of a script waits for.

On a cluster every agent is a new process. There, `dataclass` takes half a millisecond for each class, because it
compiles the methods from text, and 4 ms for its own imports. The methods of a `Value` are compiled with this file.

    class Place(Value):
        address: str
        ports: Tuple[int, ...] = ()

Functions of `dataclasses` (`fields`, `replace`, `is_dataclass`) accept values, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Type, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # the type checker reads it; at run time it would do nothing

    def dataclass_transform(**_):
        return lambda kind: kind


T = TypeVar("T")
_REQUIRED = object()
_NO_FIELDS: Dict[str, Any] = {}


class _Factory:
    def __init__(self, make: Callable[[], Any], repr: bool) -> None:
        self.make, self.repr = make, repr


def field(*, default_factory: Callable[[], T], repr: bool = True) -> T:
    """Describe a field whose default is made for each value; without `repr` it is left out of the value's text."""
    return cast("T", _Factory(default_factory, repr))


class _DataclassFields:
    """`__dataclass_fields__` of each class, made when something requests it: few processes do."""

    def __init__(self) -> None:
        self._made: Dict[type, Any] = {}

    def __get__(self, _: Any, kind: Type[Value]) -> Any:
        if kind not in self._made:
            self._made[kind] = _describe(kind)
        return self._made[kind]


def _describe(kind: Type[Value]) -> Any:
    import dataclasses  # noqa: PLC0415  # this module exists in order not to wait for it

    hints = {name: hint for base in reversed(kind.__mro__) for name, hint in _annotations(base).items()}
    rows: List[Any] = []
    for name, default in kind.value_fields.items():
        has_factory = isinstance(default, _Factory)
        specifier = dataclasses.field(default_factory=default.make, repr=default.repr) if has_factory else default
        rows.append((name, hints[name]) if default is _REQUIRED else (name, hints[name], specifier))
    return cast("Any", dataclasses.make_dataclass(kind.__name__, rows, frozen=True)).__dataclass_fields__


def _annotations(kind: type) -> Dict[str, Any]:
    """Return the annotations of the class itself, as written."""
    annotations = vars(kind).get("__annotations__")
    if annotations is None and "__annotate_func__" in vars(kind):  # from Python 3.14 on they are made on request
        annotations = kind.__annotations__
    return annotations or {}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value:
    """A base class: the annotations of a subclass are the fields of its values."""

    value_fields = _NO_FIELDS  # name → default, in order
    __dataclass_fields__ = _DataclassFields()

    def __init_subclass__(cls) -> None:
        fields = dict(cls.value_fields)
        for name in _annotations(cls):
            fields[name] = vars(cls).get(name, _REQUIRED)
        cls.value_fields = fields
        cls.__match_args__ = tuple(fields)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields, values = self.value_fields, self.__dict__
        values.update(zip(fields, args))
        if len(args) > len(fields) or not values.keys().isdisjoint(kwargs):
            raise TypeError(f"{type(self).__name__}() got more than one value for a field, or too many values")
        values.update(kwargs)
        for name, default in fields.items():
            if name not in values:
                if default is _REQUIRED:
                    raise TypeError(f"{type(self).__name__}() lacks {name!r}")
                values[name] = default.make() if default.__class__ is _Factory else default
        if len(values) != len(fields):
            unknown = ", ".join(repr(name) for name in values if name not in fields)
            raise TypeError(f"{type(self).__name__}() has no field {unknown}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: a {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: a {type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.value_fields))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(self._show_fields())})"

    def _show_fields(self) -> Iterator[str]:
        for name, default in self.value_fields.items():
            if default.__class__ is not _Factory or default.repr:
                yield f"{name}={self.__dict__[name]!r}"


def replace(value: T, **changes: Any) -> T:
    """Return a copy of a value or dataclass with these fields changed; the same as that of `dataclasses`."""
    return type(value)(**{**vars(value), **changes})
