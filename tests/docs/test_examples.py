"""Each example runs and prints what it promises."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.shared_home

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., str]


@pytest.fixture
def run(environment: dict[str, str], shared_environments: Path, tmp_path: Path) -> Run:
    """Return a function that copies an example, creates a workspace for it, and runs one of its files."""

    def in_copy(lesson: str, file: str, *arguments: str, seconds: float = 120.0) -> str:
        folder = tmp_path / lesson
        shutil.copytree(EXAMPLES / lesson, folder)
        for argv in (["footplate", "init"], [sys.executable, file, *arguments]):
            done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
            assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return in_copy


def test_hello(run: Run) -> None:
    output = run("01-hello", "submit.py")
    assert "hello from run hello_" in output
    assert "with arguments ['--who', 'world']" in output
    assert "files of the run: ['outputs/greeting.txt']" in output


def test_metrics(run: Run) -> None:
    lines = run("02-metrics", "submit.py").splitlines()
    assert lines == [
        "loss went from 1.0 to 0.019",
        "logged once:  50 sgd",
        "a list:       [784, 128, 10]",
        "rows:         {'fold': [0, 1, 2], 'accuracy': [0.9, 0.91, 0.92]}",
        "a table:      {'label': ['cat', 'dog'], 'count': [120, 80]}",
    ]


def test_register_model(run: Run) -> None:
    output = run("03-register-model", "submit.py", "--learning-rate", "0.5")
    assert "final accuracy 0.945" in output
    assert "registered cloud-classifier, version 1, made by run logistic-regression_" in output
    assert 'downloaded: {"weights": [' in output


def test_interactive(run: Run) -> None:
    output = run("04-interactive", "explore.py")
    assert "this line is also in the log of the run" in output
    assert "best degree: 4" in output


def test_data(run: Run) -> None:
    assert run("05-data", "submit.py").splitlines() == [
        "poems, version 1: ['/sea-fever.txt']",
        "words: 15",
        "unchanged since: True",
    ]


@pytest.mark.slow
@pytest.mark.timeout(1500)  # PyTorch may have to be installed
def test_distributed(run: Run) -> None:
    assert run("06-distributed", "submit.py", seconds=1400.0).splitlines() == [
        "rank 0 of 2 on node 0, rendezvous at 127.0.0.2",
        "rank 1 of 2 on node 1, rendezvous at 127.0.0.2",
        "loss went from 124 to 0.00",
        "idle nodes: 2",
    ]


@pytest.mark.slow
@pytest.mark.timeout(1500)  # scikit-learn may have to be installed
def test_serving(run: Run) -> None:
    """The other frameworks of this lesson run in tests/frameworks/test_serving.py."""
    assert run("07-serving", "serve.py", "scikit_learn", seconds=1400.0).splitlines() == [
        "ScikitLearn answers: predict_proba",
        "points:2 is points:1 in ONNX: True",
    ]


def test_lessons_have_at_most_three_files_and_name_their_command() -> None:
    lessons = sorted(EXAMPLES.glob("[0-9]*/"))
    assert len(lessons) == 7
    for folder in lessons:
        files = [f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
        assert len(files) <= 3
        assert any("\npython " in f.read_text(encoding="utf-8") for f in files)
