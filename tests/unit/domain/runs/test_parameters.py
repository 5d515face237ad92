from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.orders import Program
from footplate.domain.runs.parameters import as_number, parameters_of, parse_parameters


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--lr 0.1 --epochs=5", {"lr": "0.1", "epochs": "5"}),
        ("--learning-rate 1e-3 --shuffle", {"learning-rate": "1e-3", "shuffle": "true"}),
        ("--shuffle --lr -1", {"shuffle": "true", "lr": "-1"}),
        ("-n 5 data.csv", {"n": "5"}),
        ("--layers 64 32 --name net", {"layers": "64 32", "name": "net"}),
        ("--data in.csv out.csv", {"data": "in.csv"}),
        ("model.depth=3 +extra=1", {"model.depth": "3", "extra": "1"}),
        ("--lr 1 --lr 2", {"lr": "2"}),
        ("--equation a=b --empty=", {"equation": "a=b", "empty": ""}),
        ("train -- --lr 1", {"lr": "1"}),
        ("-1 -.5 -- -", {}),
    ],
)
def test_arguments_become_parameters(words, expected):
    assert parse_parameters(words.split()) == expected


def test_commands_have_parameters_too():
    assert parameters_of(Program(command="python -m pkg.train --note 'a b' --lr 2")) == {
        "m": "pkg.train",
        "note": "a b",
        "lr": "2",
    }
    assert parameters_of(Program(command="echo 'open")) == {}
    assert parameters_of(None) == {}


@given(st.dictionaries(st.from_regex(r"[a-z][a-z_\-]{0,9}", fullmatch=True), st.text(max_size=20)))
def test_any_value_is_kept_after_an_equals_sign(values):
    assert parse_parameters([f"--{name}={value}" for name, value in values.items()]) == values


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-3", 0.001), (" -2 ", -2.0), ("", None), ("nan", None), ("inf", None), ("1_000", None), (None, None)],
)
def test_only_finite_numbers_count_as_numbers(text, number):
    assert as_number(text) == number
