"""The words of a tabular dataset: where its rows come from, and the steps that they go through, as plain JSON.

    {"sources": […],                                        as for every dataset
     "format": {"kind": "delimited" | "parquet" | "json_lines" | "sql", … options of the kind},
     "types": {column: {"type": "datetime", "formats": […]}, …},    what the user said; the rest is inferred
     "inferred": {column: {"type": …}, …},                  what was seen when the dataset was made, so that it stays
     "steps": [{"do": "keep", "columns": […]}, {"do": "filter", "where": expression}, {"do": "take", "count": 10}, …],
     "timestamps": {"fine": column, "coarse": column}}

An expression is a list whose first element names an operation: `[">", ["column", "age"], ["value", 3]]`.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, cast

from footplate.errors import InvalidInput

Json = Dict[str, Any]
Expression = List[Any]

KINDS = ("delimited", "parquet", "json_lines", "sql")
TYPES = ("string", "integer", "float", "boolean", "datetime")
HEADERS = ("none", "first", "combine", "same")
"""No file has a header · the first has · each has its own, and columns are joined by name · all have the same."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/")
TEXT_TESTS = ("starts_with", "ends_with", "contains")
LOGIC = ("and", "or", "not")
STEPS = ("keep", "drop", "filter", "skip", "take", "sample", "split")
POSITIONAL = frozenset(("skip", "take", "sample", "split"))
"""Steps for which it matters which rows came before: no filter may be moved across them."""


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def keep(columns: Sequence[str]) -> Json:
    return {"do": "keep", "columns": _names(columns)}


def drop(columns: Sequence[str]) -> Json:
    return {"do": "drop", "columns": _names(columns)}


def where(expression: Expression) -> Json:
    return {"do": "filter", "where": expression}


def skip(count: int) -> Json:
    return {"do": "skip", "count": _count(count, "skip")}


def take(count: int) -> Json:
    return {"do": "take", "count": _count(count, "take")}


def sample(probability: float, seed: int) -> Json:
    """Each row with this probability. The same seed gives the same rows, whatever the machine."""
    return {"do": "sample", "probability": share(probability, "probability"), "seed": seed}


def split(fraction: float, seed: int, first: bool) -> Json:
    """The first or the second part of a random split: the two of one seed have every row exactly once between them."""
    return {"do": "split", "fraction": share(fraction, "percentage"), "seed": seed, "part": 1 if first else 2}


def _names(columns: Sequence[str]) -> List[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise InvalidInput("no columns are named", "name at least one")
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name!r} is not the name of a column", "give names as text")
    return names


def _count(count: Any, what: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidInput(f"{what}({count!r}) is no number of rows", "give a whole number, 0 or more")
    return count


def share(value: Any, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} is {value!r}", "give a number from 0 to 1")
    return float(value)


# ── Types ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def column_type(name: str, formats: Sequence[str] = (), decimal_mark: str = ".") -> Json:
    if name not in TYPES:
        raise InvalidInput(f"there is no column type {name!r}", f"the types are {', '.join(TYPES)}")
    found: Json = {"type": name}
    if formats:
        found["formats"] = list(formats)
    if decimal_mark != ".":
        found["decimal_mark"] = decimal_mark
    return found


# ── Expressions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def column(name: str) -> Expression:
    return ["column", name]


def literal(value: Any) -> Expression:
    """A constant as JSON. Times are kept in UTC without a zone; a zone that they had is converted."""
    if isinstance(value, datetime):
        plain = value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
        return ["datetime", plain.isoformat()]
    if isinstance(value, date):
        return ["datetime", datetime(value.year, value.month, value.day).isoformat()]
    unwrap: Any = getattr(value, "item", None)  # numpy's scalars
    if callable(unwrap) and not isinstance(value, (str, int, float, bool)):
        value = unwrap()
    if isinstance(value, float) and math.isnan(value):
        return ["value", None]
    if value is None or isinstance(value, (str, int, float, bool)):
        return ["value", value]
    raise InvalidInput(
        f"{value!r} cannot be compared with a column", "use a number, text, a boolean, a date, or another column"
    )


def time_of(operand: Expression) -> datetime:
    return datetime.fromisoformat(operand[1])


def both(left: Optional[Expression], right: Expression) -> Expression:
    return right if left is None else ["and", left, right]


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The parts of an expression that must all hold."""
    if expression[0] == "and":
        for part in expression[1:]:
            yield from conjuncts(part)
    else:
        yield expression


def columns_of(expression: Any) -> FrozenSet[str]:
    """The columns that an expression reads."""
    if not isinstance(expression, list) or not expression:
        return frozenset()
    parts = cast("List[Any]", expression)
    if parts[0] == "column":
        return frozenset((str(parts[1]),))
    if parts[0] in ("value", "datetime"):
        return frozenset()
    found: FrozenSet[str] = frozenset()
    return found.union(*(columns_of(part) for part in parts[1:]))


# ── Whole definitions ─────────────────────────────────────────────────────────────────────────────────────────────────


def steps_of(definition: Mapping[str, Any]) -> List[Json]:
    """The steps, each one known to this version."""
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


def with_step(definition: Mapping[str, Any], step: Json) -> Json:
    """The definition with one step more; the one given is not changed."""
    return {**definition, "steps": [*(definition.get("steps") or ()), step]}
