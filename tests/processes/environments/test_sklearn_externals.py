"""The hook that provides sklearn.externals.joblib, with small stand-ins for scikit-learn and joblib."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel

NEW = {"sklearn/__init__.py": "", "sklearn/externals/__init__.py": ""}
OLD = {**NEW, "sklearn/externals/joblib.py": "name = 'the copy'\n"}
JOBLIB = {"joblib/__init__.py": "name = 'joblib'\n", "joblib/pickles.py": "class Wrapper: pass\n"}


def build(wheels: Path, root: Path, files: dict[str, str], *lines: str) -> Interpreter:
    make_wheel(wheels, "scikit_learn", "1.0", files=files)
    make_wheel(wheels, "joblib", "1.0", files=JOBLIB)
    spec = EnvironmentSpec(builder="venv", requirements=lines)
    return VenvBuilder().build(VenvBuilder().lock(spec, ResolverSettings(root), print), root, print)


@pytest.fixture
def python(wheels: Path, tmp_path: Path) -> Interpreter:
    return build(wheels, tmp_path / "e", NEW, "scikit-learn", "joblib")


def run(python: Interpreter, code: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.defpath}
    return subprocess.run([*python.argv, "-c", code], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "statement", ["from sklearn.externals import joblib", "import sklearn.externals.joblib as joblib"]
)
def test_joblib_is_found_by_its_old_name(python: Interpreter, statement: str) -> None:
    done = run(python, f"{statement}\nimport joblib as real\nprint(joblib is real, real.__spec__.name, real.__name__)")
    assert done.stdout == "True joblib joblib\n", done.stderr
    assert done.stderr.startswith("<string>:1: FutureWarning: scikit-learn has no sklearn.externals.joblib since")
    assert "import joblib" in done.stderr and done.stderr.count("Warning") == 1


def test_modules_inside_exist_once(python: Interpreter) -> None:
    """Saved models name classes of joblib by their old module."""
    saved = b"csklearn.externals.joblib.pickles\nWrapper\n."
    code = f"import pickle, joblib.pickles; print(pickle.loads({saved!r}) is joblib.pickles.Wrapper)"
    done = run(python, code)
    assert done.stdout == "True\n", done.stderr


def test_a_package_that_is_not_installed_is_named(python: Interpreter) -> None:
    assert "No module named 'six'" in run(python, "from sklearn.externals import six").stderr
    assert "No module named 'sklearn.externals.other'" in run(python, "import sklearn.externals.other").stderr


def test_old_versions_keep_their_own_copy(wheels: Path, tmp_path: Path) -> None:
    python = build(wheels, tmp_path / "e", OLD, "scikit-learn", "joblib")
    done = run(python, "from sklearn.externals import joblib; print(joblib.name)")
    assert (done.stdout, done.stderr) == ("the copy\n", "")


def test_other_environments_have_no_hook(wheels: Path, tmp_path: Path) -> None:
    python = build(wheels, tmp_path / "e", NEW, "joblib")
    assert not list(Path(python.argv[0]).parent.parent.rglob("footplate_*"))
