"""Files of old days: the packages of their days, with a Python of ours."""

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
def test_when_a_python_ended(asked: tuple[int, ...], day: str | None) -> None:
    assert end_of_life(asked) == day


def test_a_file_of_2020_gets_the_packages_of_its_days(tmp_path: Path) -> None:
    """From the index itself: numpy is the one that broke most of what was compiled before it."""
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("six",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path), lambda _: None)
    assert packages(lock) == {"six": "1.16.0"}
    (warning,) = lock.warnings
    assert warning.startswith("Python 3.6.2 cannot run jobs, which need at least 3.8: the run uses Python 3.")
    assert warning.endswith(", the nearest that the packages support, with packages as of 2021-12-23")


def test_a_folder_that_knows_no_days_gives_what_it_has(wheels: Path, tmp_path: Path) -> None:
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("tiny",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)
    assert packages(lock) == {"tiny": "2.0"} and len(lock.warnings) == 1
