"""Conditions as plain data, so that a filter can be stored in a definition and evaluated anywhere.

    {"op": "and", "args": [{"op": ">", "args": [{"field": "Size"}, {"value": 1000}]}, …]}

Operators: == != < <= > >= and or not isin is_null; for the columns of a table also starts_with ends_with contains
length + - * /. `{"time": "2020-01-31T10:00:00"}` is a time in UTC. A comparison with a missing field of a file, or with
a value of another type, is false and never an error: files differ, and a filter selects among them.
"""

from __future__ import annotations

import math
import operator
from datetime import date, datetime, timezone
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Sequence

from footplate.errors import InvalidInput

COMPARISONS: Dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = ("+", "-", "*", "/")
TEXT_TESTS = ("starts_with", "ends_with", "contains")
Expression = Dict[str, Any]
_MISSING = object()


# ── Making and reading them ───────────────────────────────────────────────────────────────────────────────────────────


def apply(op: str, *args: Expression) -> Expression:
    return {"op": op, "args": list(args)}


def literal(value: Any) -> Expression:
    """Return a constant as data. A time with a zone is converted to UTC; a time without one is taken as UTC."""
    value = _unwrap(value)
    if isinstance(value, datetime):
        plain = value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
        return {"time": plain.isoformat()}
    if isinstance(value, date):
        return {"time": datetime(value.year, value.month, value.day).isoformat()}
    if isinstance(value, float) and math.isnan(value):
        value = None
    if value is None or isinstance(value, (str, int, float)):
        return {"value": value}
    raise InvalidInput(
        f"{value!r} cannot be compared with a column", "use a number, text, a boolean, a date, or another column"
    )


def _unwrap(value: Any) -> Any:
    """Return the Python value of a numpy scalar."""
    if not callable(getattr(value, "item", None)) or isinstance(value, (str, int, float)):
        return value
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        value = value.astype("M8[us]")  # for a finer unit numpy would return a bare number
    return value.item()


def moment(expression: Mapping[str, Any]) -> datetime:
    """Return the time of a `{"time": …}`, without a zone."""
    return datetime.fromisoformat(expression["time"])


def fields_of(expression: Mapping[str, Any]) -> FrozenSet[str]:
    """Return the fields that an expression reads."""
    if "field" in expression:
        return frozenset((str(expression["field"]),))
    arguments: Sequence[Mapping[str, Any]] = expression.get("args", ())
    return frozenset(field for argument in arguments for field in fields_of(argument))


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """Return the parts of an expression that must all hold."""
    if expression.get("op") == "and":
        parts: List[Expression] = expression["args"]
        for part in parts:
            yield from conjuncts(part)
    else:
        yield expression


# ── Carrying them out on one thing ────────────────────────────────────────────────────────────────────────────────────


def is_true(expression: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the expression holds for these facts."""
    return value_of(expression, facts) is True


def value_of(expression: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    if "field" in expression:
        return facts.get(str(expression["field"]), _MISSING)
    if "value" in expression:
        return expression["value"]
    if "time" in expression:
        return moment(expression).replace(tzinfo=timezone.utc).timestamp()
    return _evaluate(str(expression.get("op")), [value_of(each, facts) for each in expression.get("args", ())])


def _evaluate(op: str, values: Sequence[Any]) -> bool:
    if op in COMPARISONS and len(values) == 2:
        return _compare(op, values[0], values[1])
    if op == "and":
        return all(value is True for value in values)
    if op == "or":
        return any(value is True for value in values)
    if op == "not" and len(values) == 1:
        return values[0] is not True
    if op == "isin" and len(values) == 2:
        return values[0] in values[1]
    if op == "is_null" and len(values) == 1:
        return values[0] is None or values[0] is _MISSING
    raise InvalidInput(f"{op!r} is not an operator", f"use {' '.join(COMPARISONS)} and or not isin is_null")


def _compare(op: str, left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return False
    try:
        return bool(COMPARISONS[op](left, right))
    except TypeError:
        return False
