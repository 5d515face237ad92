"""Orders: which fields, where a run belongs, and cursors that fit."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from footplate.domain.runs.run_filter import Field
from footplate.errors import InvalidInput
from footplate.storage.queries.run_order import Position, is_after, read_cursor, read_order, sort, write_cursor


@pytest.mark.parametrize(
    ("text", "ascending", "field"),
    [
        ("created", True, Field("created")),
        ("metric:val loss", True, Field("metrics", "val loss")),
        ('max(metrics."val loss")', True, Field("metrics", "val loss", "max")),
        ("best(metrics.loss)", True, Field("metrics", "loss", "min")),
        ("best(metrics.loss)", False, Field("metrics", "loss", "max")),
        ("params.lr", False, Field("params", "lr")),
    ],
)
def test_an_order_is_a_field_as_in_a_filter(text: str, ascending: bool, field: Field) -> None:
    assert read_order(text, ascending).field == field


@pytest.mark.parametrize("text", ["", "age", "metric:", "params", "status", "best(params.lr)", "params.lr > 3"])
def test_other_orders_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_order(text, True)


def test_numbers_come_before_text_and_text_before_nothing() -> None:
    order = read_order("params.lr", True)
    assert order.place((0.1, "0.1"), True, 5) == Position(0, (0.1, "0.1", 5))
    assert order.place((None, "big"), True, 5) == Position(1, ("big", 5))
    assert order.place((None, None), True, 5) == Position(2, (5,))
    assert order.place((None, None), False, 5) == Position(3, (5,))


@pytest.mark.parametrize("ascending", [True, False])
def test_phases_keep_their_order_in_both_directions(ascending: bool) -> None:
    numbers = [Position(0, (1.0, 3)), Position(0, (2.0, 1))]
    missing = [Position(1, (2,)), Position(1, (4,))]
    in_order = [*numbers, *missing] if ascending else [*numbers[::-1], *missing[::-1]]
    assert sort([*missing, *numbers], ascending) == in_order
    for before, after in itertools.pairwise(in_order):
        assert is_after(after, before, ascending) and not is_after(before, after, ascending)


def test_a_cursor_is_read_as_it_was_written() -> None:
    phases = read_order("params.lr", True).phases
    for position in (Position(0, (0.5, "0.5", 3)), Position(1, ("é", 3)), Position(3, (3,))):
        assert read_cursor(write_cursor("params.lr", True, position), "params.lr", True, phases) == position


@pytest.mark.parametrize(
    "written",
    [
        None, [], ["params.lr", True], ["params.lr", True, 9, [1]], ["params.lr", True, 0, []],
        ["params.lr", True, 0, ["x", "x", 1]], ["params.lr", True, 0, [1.0, 2.0, 1]], ["params.lr", True, 3, [True]],
        ["params.lr", False, 3, [1]], ["params.lr", True, 3, 1], ["params.lr", True, -1, [1]],
    ],
)  # fmt: skip
def test_a_forged_cursor_is_refused(written: Any) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(written).encode()).decode()
    with pytest.raises(InvalidInput, match="not a cursor of this query"):
        read_cursor(cursor, "params.lr", True, read_order("params.lr", True).phases)
