"""Azure's `Environment`, `CondaDependencies` and their sections, line by line, through Azure's own import paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from azureml.core import Environment


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Dockerfile").write_text("FROM from-a-file\n")
    Path("env.yml").write_text("channels: [conda-forge]\ndependencies: [numpy, {pip: [six]}]\n")
    Path("requirements.txt").write_text("six==1.16.0\n")


def test_conda_that_is_not_there_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Environment.from_existing_conda_environment("mine", "base") is None
