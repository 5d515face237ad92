"""Code on the path of a job runs on the oldest and the newest interpreter available."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.interpreters import interpreters

SOURCE = Path(__file__).parents[3] / "src"
ROOMS = ("domain", "content", "job")


@pytest.fixture(params=["oldest", "newest"])
def interpreter(request):
    found = interpreters()
    if not found:
        pytest.skip("no other Python on this machine")
    return found[0 if request.param == "oldest" else -1]


@pytest.fixture
def run(interpreter, tmp_path):
    def start(*command: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PYTHONPATH": str(SOURCE), "FOOTPLATE_EXITS": str(tmp_path), "FOOTPLATE_RANK": "1"}
        return subprocess.run(
            [interpreter, "-W", "error", *command],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return start


def test_every_module_can_be_imported(run):
    modules = ["footplate.errors"]
    for room in ROOMS:
        modules += [f"footplate.{room}.{path.stem}" for path in (SOURCE / "footplate" / room).glob("*.py")]
    done = run("-c", "".join(f"import {module}\n" for module in modules if not module.endswith("__init__")))
    assert done.returncode == 0, done.stderr


IMPORT_AGENT = """
import importlib, pkgutil, sys
sys.path.append(sys.argv[1])
for room in ("node", "environments", "data"):
    package = importlib.import_module("footplate." + room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of a distribution that comes as a tool
            assert not error.name.startswith("footplate"), error
"""


def test_an_agent_can_be_imported_without_other_packages(run):
    done = run("-I", "-S", "-c", IMPORT_AGENT, str(SOURCE))
    assert done.returncode == 0, done.stderr


SCRIPT = """
import math, os, signal, sys
from footplate.job.journal import Journal
journal = Journal("journals")
for number in range(5000):
    journal.log("loss", number / 3, number)
journal.log("epoch", 7)
journal.log("note", "done")
journal.log("nan", math.nan)
journal.log_table("table", {"a": [1, 2.5]})
if os.fork() == 0:
    journal.log("child", 1.0)
    os._exit(0)
os.wait()
if sys.argv[1] == "/kill":
    os.kill(os.getpid(), signal.SIGKILL)
journal.close()
raise ValueError(sys.argv[1])
"""


@pytest.mark.parametrize("how", ["/raise", "/kill"])
def test_a_script_can_log(run, tmp_path, points, how, monkeypatch):
    monkeypatch.setenv("HOW", how)
    (tmp_path / "train.py").write_text(SCRIPT)
    done = run(str(SOURCE / "footplate" / "job" / "bootstrap.py"), "train.py", "$HOW")
    found = points(tmp_path / "journals")
    assert [p.value for p in found if p.name == "loss"] == [number / 3 for number in range(5000)]
    assert {p.name: p.value for p in found if p.name in ("epoch", "note", "table", "child")} == {
        "epoch": 7,
        "note": "done",
        "table": {"a": [1, 2.5]},
        "child": 1.0,
    }
    if how == "/kill":
        assert done.returncode == -signal.SIGKILL
        return
    assert done.returncode == 1
    assert "bootstrap.py" not in done.stderr
    ending = json.loads((tmp_path / "rank_1.json").read_text())
    assert (ending["code"], ending["exception"], ending["exception_message"]) == (1, "ValueError", how)


def test_a_folder_is_stored_and_restored(run, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text("x")
    (tmp_path / "source" / "x.pyc").write_text("x")
    (tmp_path / "source" / ".gitignore").write_text("*.py[co]\n")
    done = run(
        "-c",
        "from footplate.content import blobs, git, restore, source_tree, stat_cache\n"
        "store = blobs.BlobFolder('blobs')\n"
        "for _ in range(2):\n"
        "    scanned = source_tree.scan('source', cache=stat_cache.StatCache.for_folder('cache', 'source'))\n"
        "    snapshot = source_tree.store(scanned, store)\n"
        "restore.materialize(store.open(snapshot).read(), store.copy_to, 'out')\n"
        "restore.zip_to(store.open(snapshot).read(), store.open, 'out.zip')\n"
        "git.provenance('source')\n",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".gitignore", "train.py"]
