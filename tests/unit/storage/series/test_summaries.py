"""Merged summaries of pieces equal the summary of the whole."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from footplate.job.journal_format import FLOAT, INT, LIST, ROW, SCALAR, TABLE, MetricColumn
from footplate.storage.series.summaries import SeriesSummary, merge, series_name, summarize

ODD = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
VALUES = st.lists(st.one_of(ODD, st.floats()), min_size=2, max_size=30)


def column(values: list[object], start: float = 0.0) -> MetricColumn:
    return MetricColumn([start + i for i in range(len(values))], [None] * len(values), list(values))


def same(one: SeriesSummary, two: SeriesSummary) -> bool:
    """Compare, with NaN equal to itself."""
    lasts = [s.last for s in (one, two)]
    return replace(one, last=0) == replace(two, last=0) and (lasts[0] == lasts[1] or all(map(math.isnan, lasts)))


@given(VALUES, st.integers(1, 29))
@example([math.nan, 1.0], 1)
@example([1.0, math.nan], 1)
def test_pieces_merge_to_the_summary_of_the_whole(values: list[float], cut: int) -> None:
    cut = min(cut, len(values) - 1)
    whole = summarize({("a", FLOAT): column(list(values))}, {})["a"]
    first = summarize({("a", FLOAT): column(list(values[:cut]))}, {})["a"]
    second = summarize({("a", FLOAT): column(list(values[cut:]), cut)}, {"a": "scalar"})["a"]
    assert same(merge(first, second), whole)
    numbers = [v for v in values if not math.isnan(v)]
    assert whole.min == (min(numbers) if numbers else None)
    assert whole.max == (max(numbers) if numbers else None)
    assert whole.rank == (None if math.isnan(values[-1]) else values[-1])


def test_the_later_point_is_the_last_in_any_order() -> None:
    early, late = (
        SeriesSummary("scalar", 1, 1.0, 10.0, 1.0, 1.0, 1.0),
        SeriesSummary("scalar", 1, 2.0, 20.0, 2.0, 2.0, 2.0),
    )
    assert merge(early, late).last == merge(late, early).last == 2.0
    assert merge(late, early).rank == 2.0


def test_points_of_another_kind_are_counted_as_dropped() -> None:
    columns = {("a", LIST): column([[1]]), ("a", FLOAT): column([1.0, 2.0]), ("b", SCALAR): column(["x"])}
    found = summarize(columns, {})
    assert (found["a"].kind, found["a"].count, found["a"].dropped) == ("list", 1, 2)
    again = summarize({("a", FLOAT): column([5.0])}, {"a": "list"})["a"]
    assert (merge(found["a"], again).count, merge(found["a"], again).dropped) == (1, 3)
    assert (found["b"].last, found["b"].rank, found["b"].min) == ("x", None, None)


def test_rows_and_tables_of_one_name_are_one_table() -> None:
    found = summarize({("a", ROW): column([{"x": 1}]), ("a", TABLE): column([{"x": [2, 3]}])}, {})["a"]
    assert (found.kind, found.count, found.dropped) == ("table", 2, 0)


def test_numbers_of_all_sizes_compare() -> None:
    found = summarize({("a", INT): column([3, -(2**63)]), ("a", SCALAR): column([10**400, True, "x"], 10.0)}, {})["a"]
    assert (found.count, found.min, found.max, found.last) == (5, -(2.0**63), math.inf, "x")


def test_an_invalid_time_does_no_harm() -> None:
    found = summarize({("a", FLOAT): MetricColumn([math.nan], [None], [1.0])}, {})["a"]
    assert found.last_time == 0.0


def test_names_are_repaired_for_the_database() -> None:
    assert series_name("a\0\ud800é") == "a\ufffd?é"
    assert len(series_name("x" * 10_000)) == 500
