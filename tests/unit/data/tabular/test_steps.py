from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.data.tabular.arrow import pa
from footplate.data.tabular.engine import Table
from footplate.data.tabular.steps import apply
from footplate.domain import tables
from footplate.errors import InvalidInput
from support.table_tools import delimited, field, op, rows, where, written

Sizes = st.lists(st.integers(1, 7), max_size=6)


def batches(sizes: list[int]) -> list[Any]:
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return [pa.record_batch([pa.array(range(a, b), pa.int64())], ["n"]) for a, b in itertools.pairwise(ends)]


def done(step: dict[str, Any], sizes: list[int]) -> list[int]:
    return [n for batch in apply(step, iter(batches(sizes))) for n in batch.column("n").to_pylist()]


@given(Sizes, st.integers(0, 50))
def test_skip_and_take_are_slices(sizes: list[int], count: int) -> None:
    everything = list(range(sum(sizes)))
    assert done(tables.skip(count), sizes) == everything[count:]
    assert done(tables.take(count), sizes) == everything[:count]


@given(Sizes, st.floats(0, 1), st.integers(0, 2**32))
def test_splits_are_complete_and_disjoint_for_any_batch_size(sizes: list[int], share: float, seed: int) -> None:
    first = done(tables.split(share, seed, first=True), sizes)
    second = done(tables.split(share, seed, first=False), sizes)
    assert sorted(first + second) == list(range(sum(sizes)))
    assert first == done(tables.split(share, seed, first=True), [1] * sum(sizes))


@given(Sizes, st.floats(0, 1), st.integers(0, 2**32))
def test_a_sample_is_determined_by_its_seed(sizes: list[int], probability: float, seed: int) -> None:
    once = done(tables.sample(probability, seed), sizes)
    assert once == done(tables.sample(probability, seed), [sum(sizes)] if sizes else [])
    assert set(once) <= set(range(sum(sizes)))


def test_sample_sizes_are_about_right() -> None:
    assert 2_800 < len(done(tables.sample(0.3, 7), [10_000])) < 3_200
    assert len(done(tables.sample(1, 7), [100])) == 100
    assert done(tables.sample(0, 7), [100]) == []


@pytest.mark.parametrize("bad", [-1, 1.5, True, "3", None])
def test_counts_are_whole_numbers(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="is not a number of rows"):
        tables.take(bad)


def test_numpy_numbers_are_accepted() -> None:
    assert tables.take(np.int64(3)) == tables.take(3) and type(tables.take(np.int64(3))["count"]) is int  # type: ignore[arg-type]
    assert tables.sample(np.float32(0.5), 1) == tables.sample(0.5, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-0.1, 1.1, "0.5", float("nan"), True])
def test_shares_are_from_0_to_1(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="give a number from 0 to 1"):
        tables.sample(bad, 1)


def test_columns_are_kept_in_the_requested_order_and_dropped(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "a,b,c\n1,2,3\n")
    assert rows(Table(delimited(tables.keep(["c", "a"])), [file])) == [{"c": 3, "a": 1}]
    assert rows(Table(delimited(tables.drop("b")), [file])) == [{"a": 1, "c": 3}]
    assert rows(Table(delimited(tables.drop(["b", "unknown"])), [file])) == [{"a": 1, "c": 3}]
    with pytest.raises(InvalidInput, match="the column 'd' does not exist"):
        _ = Table(delimited(tables.keep("d")), [file]).schema
    with pytest.raises(InvalidInput, match="column 'a' is named 2 times"):
        tables.keep(["a", "b", "a"])


def test_steps_apply_in_order(tmp_path: Path) -> None:
    file = written(tmp_path, "n.csv", "n\n" + "".join(f"{i}\n" for i in range(10)))
    odd = where(op(">", field("n"), 4))
    assert [r["n"] for r in rows(Table(delimited(tables.take(6), odd), [file]))] == [5]
    assert [r["n"] for r in rows(Table(delimited(odd, tables.take(2), tables.skip(1)), [file]))] == [6]


def test_a_filter_cannot_use_a_column_that_was_dropped_before(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "a,b\n1,2\n3,4\n")
    late = delimited(where(op(">", field("a"), 1)), tables.drop(["a"]))
    assert rows(Table(late, [file])) == [{"b": 4}]
    early = delimited(tables.drop(["a"]), where(op(">", field("a"), 1)))
    with pytest.raises(InvalidInput, match="the column 'a' does not exist"):
        rows(Table(early, [file]))


def test_only_needed_columns_are_converted(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "a,b\n1,x\n")
    kept = {**delimited(tables.keep(["a"])), "inferred": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    assert rows(Table(kept, [file])) == [{"a": 1}]


def test_an_unknown_step_is_an_error_with_a_hint() -> None:
    with pytest.raises(InvalidInput, match="knows no step 'pivot'"):
        tables.steps_of({"steps": [{"do": "pivot"}]})
