"""Conditions in Python syntax: `(ds['year'] >= 2020) & (ds.file_metadata['Size'] > 1000)`."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, Iterable, Sequence

from footplate.domain.tables import literal
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import translating


def _binary(operation: str) -> Callable[[Expression, Any], Expression]:
    """Return a method that combines an expression with a value or another expression."""
    return lambda self, other: Expression({"op": operation, "args": [self.data, _plain(other)]})


def _unary(operation: str) -> Callable[[Expression], Expression]:
    return lambda self: Expression({"op": operation, "args": [self.data]})


class Expression:
    """A condition or value. Compare expressions, and combine them with `&`, `|` and `~`; `data` is plain data
    (`footplate.domain.tables`).
    """

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data = data

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # pyright: ignore
        return _binary("==")(self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]  # pyright: ignore
        return _binary("!=")(self, other)

    __lt__ = _binary("<")
    __le__ = _binary("<=")
    __gt__ = _binary(">")
    __ge__ = _binary(">=")
    __and__ = _binary("and")
    __or__ = _binary("or")
    __add__ = _binary("+")
    __sub__ = _binary("-")
    __mul__ = _binary("*")
    __truediv__ = _binary("/")
    starts_with = _binary("starts_with")
    ends_with = _binary("ends_with")
    contains = _binary("contains")
    __invert__ = _unary("not")
    is_null = _unary("is_null")
    length = _unary("length")  # the number of characters of a text

    def isin(self, values: Iterable[Any]) -> Expression:
        choices = [_plain(value) for value in values]  # values as they are; times are expressions
        return Expression({"op": "isin", "args": [self.data, {"value": [c.get("value", c) for c in choices]}]})

    def __bool__(self) -> bool:
        raise UserErrorException(
            "an expression has no truth value", hint="combine conditions with & and |, each in parentheses"
        )

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore  # == builds an expression

    def __repr__(self) -> str:
        return f"Expression({self.data!r})"


class Fields:
    """`fields['Size']` is an expression. If the names are known, an unknown one is an error."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Expression:
        if self._names and name not in self._names:
            near = difflib.get_close_matches(name, self._names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(self._names)}"
            raise UserErrorException(f"files have no {name!r}", hint=hint)
        return Expression({"field": name})


def _plain(value: Any) -> Dict[str, Any]:
    if isinstance(value, Expression):
        return value.data
    with translating({"invalid": UserErrorException}):
        return literal(value)
