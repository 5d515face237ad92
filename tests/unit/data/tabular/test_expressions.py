from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from footplate.data.tabular.arrow import pa
from footplate.data.tabular.expressions import evaluate
from footplate.domain.tables import conjuncts, fields_of, is_true, literal
from footplate.errors import InvalidInput
from support.table_tools import field, op

COLUMNS = {
    "n": pa.array([1, 2, None], pa.int64()),
    "m": pa.array([2, 1, 1], pa.int64()),
    "t": pa.array(["ab", "bc", None]),
    "b": pa.array([True, False, None]),
    "when": pa.array([datetime(2020, 1, 1), datetime(2021, 1, 1), None], pa.timestamp("us")),
    "zoned": pa.array([datetime(2020, 1, 1, tzinfo=timezone.utc)] * 3, pa.timestamp("us", "Europe/Berlin")),
    "day": pa.array([date(2020, 1, 1), date(2021, 1, 1), None]),
    "money": pa.array([Decimal("1.50"), Decimal("2.50"), None]),
    "kind": pa.array(["x", "y", None]).dictionary_encode(),
    "half": pa.array([np.float16(0.5), np.float16(1.5), None]),
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (op(">", field("n"), field("m")), [False, True, False]),
        (op("<", 1, field("n")), [False, True, False]),
        (op("==", op("+", field("n"), field("m")), 3), [True, True, False]),
        (op(">", op("/", field("n"), 0), 5), [True, True, False]),
        (op("contains", field("t"), "b"), [True, True, False]),
        (op("ends_with", field("t"), "c"), [False, True, False]),
        (op("==", op("length", field("t")), 2), [True, True, False]),
        (op("==", op("length", field("kind")), 1), [True, True, False]),
        (op(">", op("+", field("half"), 1), 2), [False, True, False]),
        (field("b"), [True, False, False]),
        (op("not", field("b")), [False, True, True]),
        (op(">=", field("when"), {"time": "2020-06-01T00:00:00"}), [False, True, False]),
        (op(">=", field("when"), "2020-06-01"), [False, True, False]),
        (op("==", field("zoned"), {"time": "2020-01-01T00:00:00"}), [True, True, True]),
        (op("<", field("day"), {"time": "2020-06-01T00:00:00"}), [True, False, False]),
        (op(">", field("money"), 2), [False, True, False]),
        (op("==", field("kind"), "y"), [False, True, False]),
        (op("isin", field("n"), [1, 5]), [True, False, False]),
        (op("isin", field("n"), []), [False, False, False]),
        (op("isin", field("when"), [{"time": "2021-01-01T00:00:00"}]), [False, True, False]),
        (op("<", field("n"), 10**30), [True, True, False]),
        (op("==", 1, 1), [True, True, True]),
    ],
)
def test_values(expression: dict[str, Any], expected: list[bool]) -> None:
    assert evaluate(expression, COLUMNS, 3).to_pylist() == expected


@pytest.mark.parametrize("name", ["n", "t", "f", "f4", "kind", "money", "when", "b"])
@pytest.mark.parametrize("null", [[], [None]])
def test_membership_in_many_values_equals_that_in_few(name: str, null: list[None]) -> None:
    columns = {
        **COLUMNS,
        "f": pa.array([0.5, float("nan"), None]),
        "f4": pa.array([0.5, 0.1, None], pa.float32()),
    }
    some = {"n": [2, 7], "f": [0.5, 3], "f4": [0.1, 0.5], "money": [1.5], "b": [True], "when": ["2020-01-01"]}
    choices = [*some.get(name, ["ab", "x"]), *null]
    few = evaluate(op("isin", field(name), choices), columns, 3)
    assert evaluate(op("isin", field(name), choices * 10), columns, 3).equals(few)
    assert few[2].as_py() is bool(null) and few.null_count == 0


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (op(">", field("t"), 3), "column 't' is string and cannot be compared with 3"),
        (op(">", field("n"), "x"), "column 'n' is int64 and cannot be compared with 'x'"),
        (op(">", field("when"), "soon"), "column 'when' is .* and cannot be compared with 'soon'"),
        (op(">", field("zz"), 3), "the column 'zz' does not exist"),
        (op("<", field("n"), {"value": None}), "< cannot compare with None"),
        (field("n"), "column 'n' is int64, not boolean"),
        (op("contains", field("n"), "1"), "column 'n' is int64, but contains needs text"),
        (op("contains", field("t"), 1), "contains needs text, not 1"),
        (op("starts_with", field("t"), field("kind")), "starts_with needs text, not column 'kind'"),
        (op("==", op("length", field("n")), 1), "column 'n' is int64, but length needs text"),
        (op("==", op("+", field("t"), field("n")), 3), "cannot be computed"),
        (op("frobnicate", field("n")), "'frobnicate' is not an operator"),
    ],
)
def test_impossible_expressions_are_named(expression: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        evaluate(expression, COLUMNS, 3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, {"value": 3}),
        (np.int64(3), {"value": 3}),
        (np.float32(0.5), {"value": 0.5}),
        (float("nan"), {"value": None}),
        (date(2020, 1, 31), {"time": "2020-01-31T00:00:00"}),
        (np.datetime64("2020-01-31"), {"time": "2020-01-31T00:00:00"}),
        (np.datetime64("2020-01-31T10:00", "ns"), {"time": "2020-01-31T10:00:00"}),
        (np.datetime64("NaT"), {"value": None}),
        (datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))), {"time": "2020-01-01T10:00:00"}),
    ],
)
def test_literals(value: Any, expected: dict[str, Any]) -> None:
    assert literal(value) == expected


def test_values_that_are_not_literals() -> None:
    with pytest.raises(InvalidInput, match=r"\[1\] cannot be compared"):
        literal([1])


def test_parts_and_fields() -> None:
    whole = op("and", op("and", op(">", field("a"), 1), field("b")), op("not", field("c")))
    assert [sorted(fields_of(part)) for part in conjuncts(whole)] == [["a"], ["b"], ["c"]]


def test_times_of_files_are_seconds() -> None:
    assert is_true(op(">", field("LastModifiedTime"), {"time": "1970-01-01T00:01:00"}), {"LastModifiedTime": 61.0})
