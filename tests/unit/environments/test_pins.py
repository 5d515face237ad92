"""Pinned requirements: with pip, setuptools and wheel; old ones with packages of their time."""

from __future__ import annotations

import pytest

from footplate.environments.pythons import end_of_life


@pytest.mark.parametrize(
    ("asked", "day"), [((3, 6, 2), "2021-12-23"), ((3, 7), "2023-06-27"), ((3, 8), None), ((3, 12, 1), None)]
)
def test_end_of_life_of_old_pythons(asked: tuple[int, ...], day: str | None) -> None:
    assert end_of_life(asked) == day
