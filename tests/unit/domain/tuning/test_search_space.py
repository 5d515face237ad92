"""Search spaces: what is refused, what is drawn, and how a grid is walked."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.tuning import search_space
from footplate.errors import InvalidInput


def draws(expression: Any, count: int = 300) -> list[Any]:
    generator = random.Random(7)
    return [search_space.draw({"p": expression}, generator)["p"] for _ in range(count)]


def test_loguniform_takes_exponents() -> None:
    values = draws(["loguniform", [-6, -1]])
    assert all(math.exp(-6) <= value <= math.exp(-1) for value in values)
    assert sum(value < math.exp(-3.5) for value in values) == pytest.approx(150, abs=40)


@pytest.mark.parametrize(
    "kind, arguments", [("quniform", [1, 9, 2]), ("qloguniform", [0, 3, 2]), ("qnormal", [5, 2, 2])]
)
def test_quantized_values_are_multiples_of_the_step(kind: str, arguments: list[float]) -> None:
    values = draws([kind, arguments])
    assert {value % 2 for value in values} == {0} and all(isinstance(value, int) for value in values)
    assert len(set(values)) > 3


def test_quantized_values_print_with_the_digits_of_the_step() -> None:
    assert [str(search_space.quantize(number * 0.1 + 0.01, 0.1)) for number in (3, 6, 7)] == ["0.3", "0.6", "0.7"]
    assert str(search_space.quantize(1.3e-6, 5e-7)) == "1.5e-06"


def test_randint_excludes_its_upper_bound() -> None:
    assert set(draws(["randint", [3]])) == {0, 1, 2}


def test_a_condition_decides_whether_a_parameter_is_drawn() -> None:
    space = {
        "optimizer": ["choice", ["sgd", "adam"]],
        "momentum": ["when", ["optimizer", ["sgd"], ["uniform", [0.5, 1.0]]]],
    }
    generator = random.Random(1)
    drawn = [search_space.draw(space, generator) for _ in range(50)]
    assert {("momentum" in point) == (point["optimizer"] == "sgd") for point in drawn} == {True}
    assert {point["optimizer"] for point in drawn} == {"sgd", "adam"}


def test_the_same_seed_draws_the_same_values() -> None:
    space = {"a": ["normal", [0, 1]], "b": ["lognormal", [0, 1]]}
    assert search_space.draw(space, random.Random(3)) == search_space.draw(space, random.Random(3))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_grid_has_every_combination_once(sizes: list[int]) -> None:
    space = {f"p{n}": ["choice", list(range(size))] for n, size in enumerate(sizes)}
    walked = list(search_space.grid(space))
    assert len(walked) == search_space.grid_size(space, 1000) == math.prod(sizes)
    assert walked == [{f"p{n}": value for n, value in enumerate(point)} for point in product(*map(range, sizes))]


def test_a_grid_leaves_out_parameters_whose_condition_fails() -> None:
    space = {"a": ["choice", [1, 2]], "b": ["when", ["a", [2], ["choice", ["x", "y"]]]]}
    assert list(search_space.grid(space)) == [{"a": 1}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    assert search_space.grid_size(space, 1000) == 3


def test_a_huge_conditional_grid_is_counted_up_to_a_limit() -> None:
    space: dict[str, Any] = {f"p{n}": ["choice", list(range(10))] for n in range(12)}
    space["last"] = ["when", ["p0", [1], ["choice", [1, 2]]]]
    assert search_space.grid_size(space, 1000) == 1001


def test_a_grid_of_anything_but_choices_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'lr' is uniform, and a grid needs choices"):
        search_space.grid_size({"lr": ["uniform", [0, 1]]}, 1000)


def test_names_without_dashes_get_them() -> None:
    values = {"learning_rate": 0.1, "--kernel": "rbf", "-n": 3}
    assert search_space.to_arguments(values) == ["--learning_rate", "0.1", "--kernel", "rbf", "-n", "3"]


@pytest.mark.parametrize(
    "space, words",
    [
        ({}, "the search space is empty"),
        ({"a": "choice"}, "parameter 'a': 'choice' is not an expression"),
        ({"a": ["choose", [1]]}, "is not an expression"),
        ({"a": ["choice", []]}, "'a' has no options"),
        ({"a": ["uniform", [1]]}, r"uniform got \[1\]"),
        ({"a": ["uniform", [2, 1]]}, "uniform from 2 to 1"),
        ({"a": ["uniform", [0, math.nan]]}, "uniform got nan"),
        ({"a": ["uniform", [True, 2]]}, "uniform got True"),
        ({"a": ["normal", [0, 0]]}, "sigma of normal is 0"),
        ({"a": ["quniform", [0, 1, 0]]}, "q of quniform is 0"),
        ({"a": ["loguniform", [0, 1000]]}, "too large"),
        ({"a": ["lognormal", [0, 100]]}, "too large"),
        ({"a": ["randint", [0]]}, "randint got 0"),
        ({"b": ["when", ["a", [1], ["choice", [1]]]]}, "'b' depends on 'a', which does not come before it"),
        ({"a": ["choice", [1]], "b": ["when", ["a", [], ["choice", [1]]]]}, "when got 'a' and"),
        ({"a": ["choice", [1]], "b": ["when", ["a", [2], ["choice", [1]]]]}, "'a' is one of .2., which it never is"),
        ({"": ["choice", [1]]}, "'' is not the name of a parameter"),
        ({3: ["choice", [1]]}, "3 is not the name of a parameter"),
        ({"--a": ["choice", [1]], "a": ["choice", [1]]}, "parameters '--a' and 'a' are the same argument"),
    ],
)
def test_a_space_that_nothing_can_be_drawn_from_is_refused(space: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        search_space.check_space(space)
    assert refused.value.hint
