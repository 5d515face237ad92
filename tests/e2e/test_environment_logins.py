"""A password in an address of an environment: used by server and node, and readable nowhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from footplate import CondaDependencies, Environment, Experiment, ScriptRunConfig, Workspace
from support import indexes
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SECRET = "correct-horse"


def test_password_is_used_and_appears_in_no_record_log_or_file(
    workspace: Workspace, project: Path, home: Path, tmp_path: Path
) -> None:
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    source = project / "source"
    source.mkdir()
    (source / "train.py").write_text("import tiny; print(tiny.version)\n")
    with indexes.serve(tmp_path / "wheels", f"someone:{SECRET}") as index:
        asked = Environment("private")
        asked.python.conda_dependencies = CondaDependencies.create(pip_packages=["tiny"], python_version=PYTHON)
        asked.python.conda_dependencies.set_pip_option(
            f"--index-url {index.url.replace('http://', f'http://someone:{SECRET}@')}"
        )
        run = Experiment(workspace, "logins").submit(ScriptRunConfig(str(source), "train.py", environment=asked))
        run.wait_for_completion(raise_on_error=True)
        # From here on the bare address suffices: for registered environments, for a build, for another run.
        kept = asked.register(workspace)
        assert f"--index-url {index.url}" in list(kept.python.conda_dependencies.pip_options)
        kept.python.conda_dependencies.add_pip_package("tiny==1.0")
        assert kept.build(workspace).wait_for_completion(show_output=False).status == "Succeeded"
        assert json.dumps(run.get_details_with_logs()).count(SECRET) == 0
        assert SECRET not in run.get_environment().python.conda_dependencies.serialize_to_string()
    told = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert told and [str(path) for path in told if SECRET.encode() in path.read_bytes()] == []
    assert (home / "logins.sealed").stat().st_mode & 0o077 == 0
