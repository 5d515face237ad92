"""The definition of a tabular dataset as plain JSON: the source of its rows, and the steps that they pass.

    {"sources": […],                                        as for every dataset
     "format": {"kind": "delimited" | "parquet" | "json_lines" | "sql", … options of the kind},
     "types": {column: {"type": "datetime", "formats": […]}, …},    given by the user; the rest is inferred
     "inferred": {column: {"type": …}, …},                  inferred when the dataset was made, so that it is stable
     "steps": [{"do": "keep", "columns": […]}, {"do": "filter", "expression": …}, {"do": "take", "count": 10}, …],
     "timestamps": {"fine": column, "coarse": column}}

A condition is plain data, too, so that a filter can be stored in a definition and evaluated anywhere. Its fields are
columns, or for files their properties.

    {"op": "and", "args": [{"op": ">", "args": [{"field": "Size"}, {"value": 1000}]}, …]}

Operators: == != < <= > >= and or not isin is_null; for the columns of a table also starts_with ends_with contains
length + - * /. `{"time": "2020-01-31T10:00:00"}` is a time in UTC. A comparison with a missing field of a file, or with
a value of another type, is false and never an error: files differ, and a filter selects among them.
"""

from __future__ import annotations

import math
import numbers
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


Json = Dict[str, Any]

KINDS = ("delimited", "parquet", "json_lines", "sql")
TYPES = ("string", "integer", "float", "boolean", "datetime")
HEADERS = ("none", "first", "combine", "same")
"""Headers: no file has one · the first file has one · each has its own, columns are joined by name · all have the same.
"""

STEPS = ("keep", "drop", "filter", "skip", "take", "sample", "split")
POSITIONAL = frozenset(("skip", "take", "sample", "split"))
"""Steps that depend on earlier rows: a filter must not be moved across them."""


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def keep(columns: Sequence[str]) -> Json:
    return {"do": "keep", "columns": _names(columns)}


def drop(columns: Sequence[str]) -> Json:
    return {"do": "drop", "columns": _names(columns)}


def where(expression: Expression) -> Json:
    return {"do": "filter", "expression": expression}


def skip(count: int) -> Json:
    return {"do": "skip", "count": _count(count, "skip")}


def take(count: int) -> Json:
    return {"do": "take", "count": _count(count, "take")}


def sample(probability: float, seed: int) -> Json:
    """Keep each row with this probability. The same seed selects the same rows on every machine."""
    return {"do": "sample", "probability": share(probability, "probability"), "seed": seed}


def split(fraction: float, seed: int, first: bool) -> Json:
    """Keep the first or the second part of a random split: with one seed, the two parts have every row exactly once."""
    return {"do": "split", "percentage": share(fraction, "percentage"), "seed": seed, "first": first}


def _names(columns: Sequence[str]) -> List[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise InvalidInput("no columns are named", "name at least one")
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name!r} is not the name of a column", "give names as text")
        if names.count(name) > 1:
            raise InvalidInput(f"column {name!r} is named {names.count(name)} times", "name each column once")
    return names


def _count(count: Any, what: str) -> int:
    try:
        whole = -1 if isinstance(count, bool) else operator.index(count)  # also numpy's integers
    except TypeError:
        whole = -1
    if whole < 0:
        raise InvalidInput(f"{what}({count!r}) is not a number of rows or files", "give a whole number, 0 or more")
    return whole


def share(value: Any, what: str) -> float:
    """Return a number from 0 to 1, or raise InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise InvalidInput(f"{what} is {value!r}", "give a number from 0 to 1")
    return float(value)


# ── Types ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def column_type(name: str, formats: Sequence[str] = (), decimal_mark: str = ".") -> Json:
    if name not in TYPES:
        raise InvalidInput(f"there is no column type {name!r}", f"the types are {', '.join(TYPES)}")
    column: Json = {"type": name}
    if formats:
        column["formats"] = list(formats)
    if decimal_mark != ".":
        column["decimal_mark"] = decimal_mark
    return column


# ── Whole definitions ─────────────────────────────────────────────────────────────────────────────────────────────────


def steps_of(definition: Mapping[str, Any]) -> List[Json]:
    """Return the steps, after checking that this version knows each of them."""
    steps: List[Json] = list(definition.get("steps") or ())
    for step in steps:
        if step.get("do") not in STEPS:
            raise InvalidInput(
                f"this version knows no step {step.get('do')!r} of a tabular dataset",
                "update Footplate on this machine",
            )
    return steps


def format_of(definition: Mapping[str, Any]) -> Json:
    form: Json = definition.get("format") or {}
    if form.get("kind") not in KINDS:
        raise InvalidInput(
            f"this version knows no tabular data of kind {form.get('kind')!r}", f"the kinds are {', '.join(KINDS)}"
        )
    return form
