"""The summary of a series: number of points, last, smallest and largest value. Pure.

A piece of a journal is summarized here, and merged into the summary of everything before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from footplate.job import journal_format

WORDS: Mapping[int, str] = {
    journal_format.FLOAT: "scalar",
    journal_format.INT: "scalar",
    journal_format.SCALAR: "scalar",
    journal_format.LIST: "list",
    journal_format.ROW: "table",
    journal_format.TABLE: "table",
    journal_format.ARTIFACT: "artifact",
}
"""The kinds in the API. All points of a name have the same kind: the first one logged decides.

A row is a table with one row: log_row and log_table with the same name make one table.
"""

_LONGEST_NAME = 500
_LONGEST_LAST = 1000


@dataclass(frozen=True)
class SeriesSummary:
    kind: str
    count: int
    last: Any = None  # scalars only
    last_time: float = 0.0
    last_step: float | None = None
    rank: float | None = None
    min: float | None = None
    max: float | None = None
    dropped: int = 0


def summarize(
    columns: Mapping[tuple[str, int], journal_format.MetricColumn], kinds: Mapping[str, str], by_step: bool = False
) -> dict[str, SeriesSummary]:
    """Return one summary for each name, in the order of their first points. `kinds`: decided by earlier pieces.

    `by_step`: the last point is that of the highest step, then time, then value, as for MLflow.
    """
    summaries: dict[str, SeriesSummary] = {}
    for (raw, number), column in columns.items():
        name = series_name(raw)
        kind = WORDS[number]
        piece = _of_column(kind, column, by_step)
        decided = kinds.get(name) or (summaries[name].kind if name in summaries else kind)
        if kind != decided:
            piece = SeriesSummary(decided, 0, last_time=-math.inf, dropped=piece.count)
        summaries[name] = merge(summaries[name], piece, by_step) if name in summaries else piece
    return summaries


def merge(old: SeriesSummary, new: SeriesSummary, by_step: bool = False) -> SeriesSummary:
    """Merge two summaries; the later of the two last points stays the last."""
    is_later = _place(new) >= _place(old) if by_step else new.last_time >= old.last_time
    last = new if new.count and (is_later or not old.count) else old
    return replace(
        last,
        kind=old.kind,
        count=old.count + new.count,
        dropped=old.dropped + new.dropped,
        min=_pick(min, old.min, new.min),
        max=_pick(max, old.max, new.max),
    )


def series_name(raw: str) -> str:
    """Return the name in a form that both databases can store and index."""
    return raw.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:_LONGEST_NAME]


def _of_column(kind: str, column: journal_format.MetricColumn, by_step: bool) -> SeriesSummary:
    at = max(range(len(column.times)), key=lambda at: _order(column, at)) if by_step else -1
    when = column.times[at]
    when = when if when == when else 0.0
    if kind != "scalar":
        return SeriesSummary(kind, len(column.values), last_time=when)
    numbers = comparable(column.values)
    last = column.values[at]
    rank = comparable([last])
    return SeriesSummary(
        kind,
        len(column.values),
        last[:_LONGEST_LAST] if isinstance(last, str) else last,
        when,
        column.steps[at],
        rank[0] if rank else None,
        min(numbers) if numbers else None,
        max(numbers) if numbers else None,
    )


def _order(column: journal_format.MetricColumn, at: int) -> tuple[float, float, float]:
    step, value = column.steps[at], column.values[at]
    return -math.inf if step is None else step, column.times[at], value if value == value else -math.inf


def _place(summary: SeriesSummary) -> tuple[float, float, float]:
    step, last = summary.last_step, summary.last
    value = last if isinstance(last, (int, float)) and last == last else -math.inf
    return -math.inf if step is None else step, summary.last_time, value


def comparable(values: Sequence[Any]) -> list[float]:
    """Return the comparable numbers: no NaN, no text, no bool; integers too large for a float are infinite."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return [v for v in values if v == v]
    return [_as_float(v) for v in values if type(v) in (int, float) and v == v]


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _pick(choose: Any, old: float | None, new: float | None) -> float | None:
    return old if new is None else new if old is None else choose(old, new)
