"""The tested environments of the catalogue, built from the index and used for training. GPU ones are only resolved."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import curated
from footplate.environments.base import Interpreter, ResolverSettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TRAIN = {
    "Footplate-Minimal": "import sys; print(sys.version_info[:2])",
    "Footplate-Sklearn-1.7-CPU": """
import numpy, pandas
from sklearn.linear_model import LogisticRegression
table = pandas.DataFrame(numpy.eye(4))
assert LogisticRegression().fit(table, [0, 1, 0, 1]).score(table, [0, 1, 0, 1]) == 1.0
""",
    "Footplate-ONNX-1.23-CPU": """
import numpy, onnxruntime
from sklearn.linear_model import LogisticRegression
from skl2onnx import to_onnx
x = numpy.eye(4, dtype=numpy.float32)
model = to_onnx(LogisticRegression().fit(x, [0, 1, 0, 1]), x)
labels = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": x})[0]
assert labels.tolist() == [0, 1, 0, 1]
""",
    "Footplate-PyTorch-2.13-CPU": """
import torch
layer = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
losses = []
for _ in range(20):
    loss = ((layer(torch.eye(2)) - 1) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
""",
    "Footplate-TensorFlow-2.21-CPU": """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
losses = model.fit(tf.eye(4), tf.ones((4, 1)), epochs=20, verbose=0).history["loss"]
assert losses[-1] < losses[0]
""",
}


IMPORT = {
    "AzureML-sklearn-1.5": "import sklearn, mlflow, numpy; assert numpy.__version__.startswith('1.22.')",
    "AzureML-Chainer-7.0.0-CPU": "import chainer; assert chainer.__version__ == '7.0.0'",
    "AzureML-TensorFlow-2.0-GPU": """
import tensorflow as tf
assert tf.__version__ == "2.2.0" and tf.reduce_sum(tf.ones(3)).numpy() == 3
""",
    "AzureML-TensorFlow-1.13-GPU": """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 2])
with tf.Session() as session:
    assert session.run(tf.reduce_sum(x), {x: [[1, 2]]}) == 3
""",
}
"""Entries of Azure that are built: small ones, and those that once contained a wrong framework."""


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def lock_of(name: str, root: Path, cpu_builds: bool = False) -> Lock:
    entry = curated.get(name)
    options = {"curated": name}
    spec = EnvironmentSpec(builder="venv", python=entry.python, requirements=entry.requirements, options=options)
    return environments.resolve(spec, ResolverSettings(root, cpu_builds=cpu_builds), lambda _: None)


def run(interpreter: Interpreter, code: str) -> None:
    done = subprocess.run(
        [*interpreter.argv, "-W", "ignore", "-c", code],
        env={**os.environ, **interpreter.variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", TRAIN)
def test_curated_environment_trains(name: str, root: Path) -> None:
    lock = lock_of(name, root)
    run(environments.load("venv").build(lock, root, lambda _: None), TRAIN[name])


@pytest.mark.parametrize("name", IMPORT)
def test_azures_environment_imports_its_framework(name: str, root: Path) -> None:
    lock = lock_of(name, root, cpu_builds=True)
    run(environments.load("venv").build(lock, root, lambda _: None), IMPORT[name])


@pytest.mark.parametrize("name", [entry.name for entry in curated.tested.ALL])
def test_gpu_environment_can_be_resolved_as_pinned(name: str, root: Path) -> None:
    found = packages(lock_of(name, root))
    for line in curated.get(name).requirements:
        package, version = line.split("==")
        assert found[package.split("[")[0]].split("+")[0] == version
