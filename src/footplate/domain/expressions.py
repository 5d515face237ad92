"""Conditions as plain data, so that a filter can be kept in a definition and carried out anywhere.

    {"op": "and", "args": [{"op": ">", "args": [{"field": "Size"}, {"value": 1000}]}, …]}

Operators: == != < <= > >= and or not isin is_null. A field that is missing, or is compared with something of another
type, makes a comparison false, never an error: rows differ, and a filter chooses among them.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Mapping, Sequence

from footplate.errors import InvalidInput

COMPARISONS: Dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MISSING = object()


def is_true(expression: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the expression holds for something with these facts."""
    return value_of(expression, facts) is True


def value_of(expression: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    if "field" in expression:
        return facts.get(str(expression["field"]), _MISSING)
    if "value" in expression:
        return expression["value"]
    return _applied(str(expression.get("op")), [value_of(each, facts) for each in expression.get("args", ())])


def _applied(op: str, values: Sequence[Any]) -> bool:
    if op in COMPARISONS and len(values) == 2:
        return _compared(op, values[0], values[1])
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
    raise InvalidInput(
        f"{op!r} is no operator of an expression", f"use {' '.join(COMPARISONS)} and or not isin is_null"
    )


def _compared(op: str, left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return False
    try:
        return bool(COMPARISONS[op](left, right))
    except TypeError:
        return False
