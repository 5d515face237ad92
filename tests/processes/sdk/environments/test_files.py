from __future__ import annotations

import stat
from pathlib import Path

import pytest

from footplate.sdk.environments.environment import Environment

CONDA = """\
#!/bin/sh
[ "$*" = "env export --no-builds --name mine" ] || { echo "EnvironmentLocationNotFound: $*" >&2; exit 1; }
printf 'name: mine\\nchannels:\\n  - conda-forge\\ndependencies:\\n  - numpy=1.26.4\\n  - pip:\\n    - six==1.16.0\\n'
printf 'prefix: /opt/conda/envs/mine\\n'
"""


def test_an_environment_from_an_existing_conda_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "conda"
    program.write_text(CONDA)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CONDA_EXE", str(program))
    made = Environment.from_existing_conda_environment("other", "mine")
    assert made is not None and made.name == "other"
    assert next(made.python.conda_dependencies.conda_packages) == "numpy=1.26.4"
    assert list(made.python.conda_dependencies.pip_packages) == ["six==1.16.0"]
    assert made.python.conda_dependencies.get_python_version() is not None


def test_a_failed_conda_export_is_none_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    program = tmp_path / "conda"
    program.write_text(CONDA)
    program.chmod(0o755)
    monkeypatch.setenv("CONDA_EXE", str(program))
    assert Environment.from_existing_conda_environment("other", "gone") is None
    assert "EnvironmentLocationNotFound" in caplog.text
    monkeypatch.setenv("CONDA_EXE", str(tmp_path / "no-conda"))
    assert Environment.from_existing_conda_environment("other", "mine") is None
    assert "no-conda" in caplog.text
