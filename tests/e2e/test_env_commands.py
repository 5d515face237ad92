"""`footplate env`, against a real server and wheels that are built here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from footplate.cli import env
from footplate.environments import caches as environment_caches
from support import indexes
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    for version in ("1.0", "2.0"):
        make_wheel(folder, "tiny", version)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    return folder


def test_file_becomes_a_lock_and_a_built_environment(footplate: Any, wheels: Path) -> None:
    footplate.write("requirements.txt", "tiny<2", "azureml-defaults")
    locked = footplate.json("env", "lock", "requirements.txt")
    assert locked["content"]["requirements"].startswith("tiny==1.0")
    done = footplate("env", "build", "requirements.txt")
    assert Path(done.stdout.strip()).exists()
    assert "the environment is complete" in done.stderr
    (built,) = footplate.json("env", "list")
    assert (built["digest"], built["packages"], built["python"]) == (locked["digest"], 1, PYTHON)
    shown = footplate("env", "show", locked["digest"][:8]).stdout
    assert "tiny==1.0" in shown
    assert built["path"] in shown
    assert "would remove" in footplate("env", "gc", "--days", "0", "--dry-run").stdout
    caches = {one["name"]: one["size"] for one in footplate.json("env", "list", "--caches")}
    assert caches["wheels"] > 0 and set(caches) == set(env.CACHES) == set(environment_caches.ALL)
    shown = footplate("env", "list").stdout
    assert "downloaded wheels" in shown and "conda packages" not in shown, "those that hold something"
    cleared = footplate.json("env", "gc", "--days", "0")
    assert [one["digest"] for one in cleared["environments"]] == [locked["digest"]]
    assert footplate.json("env", "list") == []
    done = footplate("env", "gc", "--cache", "wheels", "--cache", "bytecode")
    assert "cleared wheels" in done.stdout and "removed 0 environments; freed" in done.stderr
    assert "cleared" not in footplate("env", "gc", "--caches").stdout, "nothing is left in them"


def test_lock_stays_until_a_refresh(footplate: Any, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with indexes.serve(wheels) as index:
        footplate.write("requirements.txt", f"--index-url {index.url}", "tiny")
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        before = footplate.json("env", "lock", "requirements.txt")
        make_wheel(wheels, "tiny", "3.0")
        assert footplate.json("env", "lock", "requirements.txt") == before
        after = footplate.json("env", "lock", "requirements.txt", "--refresh")
    changes = footplate.json("env", "diff", before["digest"], after["digest"])["changes"]
    assert changes == [{"what": "tiny", "before": "2.0", "after": "3.0"}]


def test_conda_file_reports_its_mapping_and_unmappable_packages(footplate: Any) -> None:
    footplate.write("env.yml", "dependencies:", f"- python={PYTHON}", "- tiny=1.0")
    done = footplate("env", "lock", "env.yml")
    assert "warning: conda packages are installed from PyPI: tiny=1.0 → tiny==1.0.*" in done.stderr
    footplate.write("bad.yml", "dependencies:", f"- python={PYTHON}", "- tiny", "- ffmpeg=4.2")
    assert "'ffmpeg=4.2' is not a Python package" in footplate("env", "lock", "bad.yml", code=1).stderr


def submit(footplate: Any, wanted: str) -> str:
    argv = [sys.executable, "submit.py", wanted]
    done = subprocess.run(argv, cwd=footplate.folder, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.split()[-1]


def test_diff_compares_two_runs(footplate: Any) -> None:
    footplate.write(
        "submit.py",
        "import sys",
        "from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace",
        "from azureml.core.conda_dependencies import CondaDependencies",
        "env = Environment('mine')",
        f"packages = CondaDependencies.create(pip_packages=[sys.argv[1]], python_version='{PYTHON}')",
        "env.python.conda_dependencies = packages",
        "config = ScriptRunConfig('.', 'train.py', environment=env)",
        "run = Experiment(Workspace.from_config(), 'diff').submit(config)",
        "run.wait_for_completion(raise_on_error=True)",
        "print(run.id)",
    )
    footplate.write("train.py", "import tiny; print(tiny.version)")
    ids = [submit(footplate, wanted) for wanted in ("tiny==1.0", "tiny==2.0")]
    table = footplate("env", "diff", *ids).stdout.splitlines()
    assert [line.split() for line in table] == [["WHAT", "BEFORE", "AFTER"], ["tiny", "1.0", "2.0"]]
    assert "the same" in footplate("env", "diff", ids[0], ids[0]).stderr


def test_catalogue_is_listed(footplate: Any) -> None:
    assert "footplate env list --curated" in footplate("env", "list").stderr
    shown = footplate("env", "list", "--curated").stdout
    assert "AzureML-TensorFlow-2.2-GPU" in shown and "Footplate-Horovod" in shown
    found = {one["name"]: one for one in footplate.json("env", "list", "--curated")}
    assert found["Footplate-Minimal"]["nearest"] is None
    assert Path(footplate("env", "build", "footplate-minimal").stdout.strip()).exists()


def test_rerun_uses_the_lock_after_the_index_has_changed(footplate: Any, wheels: Path) -> None:
    (wheels / "tiny-2.0-py3-none-any.whl").unlink()
    footplate.write("requirements.txt", "tiny")
    footplate.write("train.py", "import sys, tiny; print(tiny.version, *sys.argv[1:])")
    first = footplate("run", "-r", "requirements.txt", "--wait", "train.py", "--lr", "1")
    assert first.stdout.strip() == "1.0 --lr 1"
    before = footplate.json("runs", "list")[0]
    make_wheel(wheels, "tiny", "5.0")
    footplate.write("train.py", "raise SystemExit('not the source of then')")
    assert footplate.json("env", "lock", "requirements.txt", "--refresh")["content"]["requirements"].startswith(
        "tiny==5"
    )
    assert len(footplate.json("env", "gc", "--days", "0")["environments"]) == 1
    again = footplate("runs", "rerun", before["id"], "--wait", "--tag", "why=check")
    assert again.stdout.strip() == "1.0 --lr 1"
    after = footplate.json("runs", "show", "latest")
    assert (after["lock"], after["snapshot"]) == (before["lock"], before["snapshot"])
    assert after["properties"]["footplate.rerun_of"] == before["id"] and after["tags"] == {"why": "check"}
    assert "the same" in footplate("env", "diff", before["id"], after["id"]).stderr
    other = footplate("runs", "rerun", after["id"], "--wait", "--", "--lr", "2")
    assert other.stdout.strip() == "1.0 --lr 2"


def test_rerun_of_an_unsuitable_run_is_rejected(footplate: Any) -> None:
    footplate.write("requirements.txt", "tiny==9")
    footplate.write("train.py", "")
    footplate("run", "-r", "requirements.txt", "--wait", "train.py", code=1)
    said = footplate("runs", "rerun", "latest", code=1).stderr
    assert "cannot be rerun: it ended before its environment was locked" in said
    assert "hint: submit its configuration" in said
