"""Conditions in Python syntax: `(ds['year'] >= 2020) & (ds.file_metadata['Size'] > 1000)`."""

from __future__ import annotations

import difflib
from typing import Any, Dict, Iterable, Sequence

from footplate.domain.tables.expressions import literal
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import translating


class Expression:
    """A condition or value. Compare expressions, and combine them with `&`, `|` and `~`; `data` is plain data
    (`footplate.domain.tables.expressions`).
    """

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data = data

    def _with(self, op: str, other: Any) -> Expression:
        return Expression({"op": op, "args": [self.data, _plain(other)]})

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # pyright: ignore
        return self._with("==", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]  # pyright: ignore
        return self._with("!=", other)

    def __lt__(self, other: Any) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._with(">=", other)

    def __and__(self, other: Expression) -> Expression:
        return self._with("and", other)

    def __or__(self, other: Expression) -> Expression:
        return self._with("or", other)

    def __invert__(self) -> Expression:
        return Expression({"op": "not", "args": [self.data]})

    def isin(self, values: Iterable[Any]) -> Expression:
        return Expression({"op": "isin", "args": [self.data, {"value": [_choice(v) for v in values]}]})

    def is_null(self) -> Expression:
        return Expression({"op": "is_null", "args": [self.data]})

    def starts_with(self, text: str) -> Expression:
        return self._with("starts_with", text)

    def ends_with(self, text: str) -> Expression:
        return self._with("ends_with", text)

    def contains(self, text: str) -> Expression:
        return self._with("contains", text)

    def length(self) -> Expression:
        """Return the number of characters of a text."""
        return Expression({"op": "length", "args": [self.data]})

    def __add__(self, other: Any) -> Expression:
        return self._with("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._with("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._with("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._with("/", other)

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


def _choice(value: Any) -> Any:
    """Return one of several values unchanged, unless it is a time."""
    plain = _plain(value)
    return plain.get("value", plain)
