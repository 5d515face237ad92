"""Comparison with pandas: the same values from the same text, and the same rows from the same condition."""

from __future__ import annotations

import csv
import io
import operator
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from footplate.data.tabular.arrow import pa
from footplate.data.tabular.engine import Table
from footplate.data.tabular.expressions import evaluate
from support.table_tools import delimited, field, frame, op, rows, where, written

Text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
Cell = st.one_of(Text, st.sampled_from(["", "NA", "null", " ", '"', "a,b", "x\ny", "1", "1.5", "true"]))
NOTHING_BUT_EMPTY = {"keep_default_na": False, "na_values": [""], "skip_blank_lines": True}


def table_of(text: str, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return frame(Table(delimited(**options), [written(Path(folder), "t.csv", text)]))


def as_csv(header: list[str], records: list[list[str]], **how: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL, **how)
    writer.writerows([header, *records])
    return out.getvalue()


@settings(deadline=None)
@given(st.lists(st.lists(Cell, min_size=3, max_size=3), max_size=8))
def test_quoting(records: list[list[str]]) -> None:
    text = as_csv(["a", "b", "c"], records)
    expected = pd.read_csv(io.StringIO(text), dtype=object, **NOTHING_BUT_EMPTY)
    ours = table_of(text, infer_types=False)
    assert [[None if pd.isna(v) else v for v in row] for row in ours.to_numpy().tolist()] == [
        [None if pd.isna(v) else v for v in row] for row in expected.to_numpy().tolist()
    ]


Number = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, width=64).map(repr),
    st.sampled_from(["", "NA", "1e5", "-0.0", "+3", ".5", "5.", "inf", "-inf"]),
)


@settings(deadline=None)
@given(st.lists(Number, min_size=1, max_size=10))
def test_numbers(values: list[str]) -> None:
    text = as_csv(["x", "one"], [[value, "1"] for value in values])
    expected = pd.read_csv(io.StringIO(text))
    ours = table_of(text)
    if expected["x"].isna().all():
        assert ours["x"].map(lambda v: v in (None, "NA") or pd.isna(v)).all()  # a column without values is text
        return
    assert_frame_equal(ours, expected)


Flag = st.sampled_from(["True", "False", "TRUE", "false", "true"])


@settings(deadline=None)
@given(st.lists(st.one_of(Flag, st.just("")), min_size=1, max_size=8))
def test_booleans(values: list[str]) -> None:
    text = as_csv(["x", "one"], [[value, "1"] for value in values])
    expected = pd.read_csv(io.StringIO(text))["x"]
    ours = table_of(text)["x"]
    if expected.isna().all():
        assert ours.isna().all()
        return
    assert ours.dtype == expected.dtype
    assert [None if pd.isna(v) else bool(v) for v in ours] == [None if pd.isna(v) else bool(v) for v in expected]


Moment = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))


@settings(deadline=None)
@given(st.lists(st.one_of(Moment, st.none()), min_size=1, max_size=8), st.sampled_from(["T", " "]))
def test_times(values: list[datetime | None], sep: str) -> None:
    texts = ["" if value is None else value.isoformat(sep) for value in values]
    ours = table_of(as_csv(["x", "one"], [[text, "1"] for text in texts]))["x"]
    if any(values):
        assert ours.dtype == "datetime64[ns]"
        assert [None if pd.isna(v) else v.to_pydatetime() for v in ours] == values


COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Comparison = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(sorted(COMPARE)), st.integers(-3, 3))


def conditions() -> Any:
    leaf = Comparison.map(lambda c: (op(c[1], field(c[0]), c[2]), lambda df: COMPARE[c[1]](df[c[0]], c[2])))
    null = st.sampled_from(["a", "b"]).map(lambda c: (op("is_null", field(c)), lambda df: df[c].isna()))
    return st.recursive(leaf | null, _joined, max_leaves=5)


def _joined(parts: Any) -> Any:
    both = st.tuples(parts, parts)
    return st.one_of(
        both.map(lambda p: (op("and", p[0][0], p[1][0]), lambda df: p[0][1](df) & p[1][1](df))),
        both.map(lambda p: (op("or", p[0][0], p[1][0]), lambda df: p[0][1](df) | p[1][1](df))),
        parts.map(lambda p: (op("not", p[0]), lambda df: ~p[1](df))),
    )


Maybe = st.one_of(st.none(), st.integers(-3, 3))


@settings(deadline=None)
@given(st.lists(st.tuples(Maybe, Maybe), max_size=12), conditions())
def test_conditions_with_missing_values(records: list[tuple[int | None, int | None]], condition: Any) -> None:
    expression, in_pandas = condition
    a, b = ([record[i] for record in records] for i in (0, 1))
    df = pd.DataFrame({"a": pd.Series(a, dtype="float64"), "b": pd.Series(b, dtype="float64")})
    columns = {"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.float64())}
    assert evaluate(expression, columns, len(records)).to_pylist() == in_pandas(df).tolist()


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_nan_is_missing(missing: float | None) -> None:
    columns = {"x": pa.array([1.0, missing, float("nan")])}
    assert evaluate(op("is_null", field("x")), columns, 3).to_pylist() == [False, True, True]
    assert evaluate(op("==", field("x"), {"value": None}), columns, 3).to_pylist() == [False, True, True]
    assert evaluate(op("!=", field("x"), 1.0), columns, 3).to_pylist() == [False, True, True]


def test_a_filter_and_its_negation_partition_the_rows(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "a,b\n1,x\n,y\n3,\n")
    condition = op("or", op(">", field("a"), 1), op("starts_with", field("b"), "x"))
    kept, others = (rows(Table(delimited(where(e)), [file])) for e in (condition, op("not", condition)))
    assert [r["a"] for r in kept] == [1, 3]
    assert [r["a"] for r in others] == [None]
