"""Old requirements: packages of their time, with a Python that can run jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.pythons import end_of_life
from footplate.environments.venv import VenvBuilder


@pytest.mark.parametrize(
    ("asked", "day"), [((3, 6, 2), "2021-12-23"), ((3, 7), "2023-06-27"), ((3, 8), None), ((3, 12, 1), None)]
)
def test_end_of_life_of_old_pythons(asked: tuple[int, ...], day: str | None) -> None:
    assert end_of_life(asked) == day


def test_a_file_of_2020_gets_packages_of_that_time(tmp_path: Path) -> None:
    """With the real index: numpy's releases broke most packages compiled before them."""
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("six",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path), lambda _: None)
    assert packages(lock) == {"six": "1.16.0"}
    (warning,) = lock.warnings
    assert warning.startswith("Python 3.6.2 cannot run jobs, which need at least 3.8: the run uses Python 3.")
    assert warning.endswith(", the nearest that the packages support, with packages as of 2021-12-23")


def test_a_directory_without_dates_gives_what_it_has(wheels: Path, tmp_path: Path) -> None:
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("tiny",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)
    assert packages(lock) == {"tiny": "2.0"} and len(lock.warnings) == 1
