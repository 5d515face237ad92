"""The hook that makes TensorFlow 2 look like version 1, with a small stand-in for TensorFlow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel

FILES = {
    "tensorflow/__init__.py": "version = 2\n",
    "tensorflow/compat/__init__.py": "",
    "tensorflow/compat/v1.py": "state = []\nplaceholder = 'of version 1'\n"
    "def disable_v2_behavior(): state.append('disabled')\n",
}


def lock_of(root: Path) -> Lock:
    spec = EnvironmentSpec(builder="venv", requirements=("tensorflow==1.13.1",))
    return VenvBuilder().lock(spec, ResolverSettings(root), print)


@pytest.fixture
def python(wheels: Path, tmp_path: Path) -> Interpreter:
    make_wheel(wheels, "tensorflow", "2.11.0", files=FILES)
    return VenvBuilder().build(lock_of(tmp_path / "e"), tmp_path / "e", print)


def run(python: Interpreter, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.defpath, **variables}
    return subprocess.run([*python.argv, "-c", code], env=environ, capture_output=True, text=True, check=False)


def test_the_run_is_warned(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "tensorflow", "2.11.0", files=FILES)
    (warning,) = lock_of(tmp_path / "e").warnings
    assert warning.startswith("tensorflow==1.13.1: TensorFlow 1 has no wheels for Python 3.8 or newer")
    assert "FOOTPLATE_TENSORFLOW1=0" in warning


def test_tensorflow_is_its_own_version_1(python: Interpreter) -> None:
    code = "import tensorflow as tf; from tensorflow import placeholder; print(tf.placeholder, tf.state, tf.version)"
    done = run(python, code)
    assert done.stdout == "of version 1 ['disabled'] 2\n", done.stderr


def test_modules_that_are_gone_are_explained(python: Interpreter) -> None:
    for code in ("import tensorflow.contrib.layers", "import tensorflow as tf; tf.contrib.layers"):
        assert "TensorFlow 2 replaces TensorFlow 1 in this environment" in run(python, code).stderr


def test_a_variable_turns_it_off(python: Interpreter) -> None:
    done = run(python, "import tensorflow as tf; print(hasattr(tf, 'placeholder'))", FOOTPLATE_TENSORFLOW1="0")
    assert done.stdout == "False\n", done.stderr
