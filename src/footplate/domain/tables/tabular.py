"""The definition of a tabular dataset as plain JSON: the source of its rows, and the steps that they pass.

    {"sources": […],                                        as for every dataset
     "format": {"kind": "delimited" | "parquet" | "json_lines" | "sql", … options of the kind},
     "types": {column: {"type": "datetime", "formats": […]}, …},    given by the user; the rest is inferred
     "inferred": {column: {"type": …}, …},                  inferred when the dataset was made, so that it is stable
     "steps": [{"do": "keep", "columns": […]}, {"do": "filter", "expression": …}, {"do": "take", "count": 10}, …],
     "timestamps": {"fine": column, "coarse": column}}

The expression of a filter is one of `domain.tables.expressions`, whose fields are columns.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any, Dict, List, Mapping, Sequence

from footplate.domain.tables.expressions import Expression
from footplate.errors import InvalidInput

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
