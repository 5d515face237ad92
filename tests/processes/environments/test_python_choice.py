"""The Python of an environment whose file requests none, or that of Azure's template."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import pythons
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder
from footplate.errors import InvalidInput
from support.wheels import make_wheel

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


def other_python(root: Path) -> str:
    """Return another version of Python on this machine."""
    found = [python.minor for python in pythons.installed(root) if python.minor != OWN]
    return found[0] if found else pytest.skip("this machine has one Python")


def lock_of(root: Path, *requirements: str, python: str | None = None, **rules: Any) -> Lock:
    spec = EnvironmentSpec(builder="venv", python=python, requirements=requirements)
    return VenvBuilder().lock(spec, ResolverSettings(root / "e", **rules), print)


@pytest.mark.usefixtures("wheels")
def test_our_own_python_serves_where_nothing_else_is_needed(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, "tiny==1.0")
    assert lock.content["python"] == OWN and not lock.warnings


def test_a_pin_without_a_wheel_for_our_python_moves_to_another(wheels: Path, tmp_path: Path) -> None:
    other = other_python(tmp_path)
    make_wheel(wheels, "compiled", "1.0", tag=f"cp{other.replace('.', '')}-none-any")
    lock = lock_of(tmp_path, "compiled==1.0", "tiny==1.0")
    assert lock.content["python"] == other
    (warning,) = lock.warnings
    assert warning.startswith("no Python version was requested, and compiled==1.0 has no ")
    assert f"the run uses Python {other}." in warning


@pytest.mark.parametrize("line", ["compiled==1.0.*", "compiled==1.*"])
def test_a_pin_with_a_wildcard_moves_to_another_python_too(line: str, wheels: Path, tmp_path: Path) -> None:
    other = other_python(tmp_path)
    for version in ("1.0", "1.0.2", "1.3"):
        make_wheel(wheels, "compiled", version, tag=f"cp{other.replace('.', '')}-none-any")
    lock = lock_of(tmp_path, line)
    assert lock.content["python"] == other
    assert lock.warnings[0].startswith("no Python version was requested, and compiled")


def test_a_requested_python_is_not_replaced(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "compiled", "1.0", tag=f"cp{other_python(tmp_path).replace('.', '')}-none-any")
    with pytest.raises(InvalidInput, match="compiled"):
        lock_of(tmp_path, "compiled==1.0", python=OWN)
    with pytest.raises(InvalidInput, match="compiled"):
        lock_of(tmp_path, "compiled==1.0", interpreters="exact")


@pytest.mark.usefixtures("wheels")
def test_a_pin_that_nothing_satisfies_fails_with_the_first_message(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"tiny==9\.0"):
        lock_of(tmp_path, "tiny==9.0")
