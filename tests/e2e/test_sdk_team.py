"""The same SDK against a server on TCP that shares nothing with the client but its address and a token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import (
    AzureMLException,
    Dataset,
    Datastore,
    Experiment,
    Model,
    OutputFileDatasetConfig,
    ScriptRunConfig,
    UserErrorException,
    Workspace,
)
from footplate.testing.waiting import wait_until
from support.servers import TeamServer


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = TeamServer()
    yield server.address
    server.stop()


@pytest.fixture
def team(address: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    config = {"subscription_id": "s", "resource_group": project.parent.name, "workspace_name": "team-ws"}
    (project / ".azureml" / "config.json").write_text(json.dumps({**config, "server": address}))
    monkeypatch.setenv("FOOTPLATE_TOKEN", TeamServer.TOKEN)
    return Workspace.from_config()


def test_training_loop_works_over_tcp(team: Workspace, project: Path, home: Path, address: str):
    source = project / "source"
    (source / "deep").mkdir(parents=True)
    for at in range(20):
        (source / "deep" / f"{at}.txt").write_text(str(at))
    (source / "train.py").write_text("import os\nopen('outputs/x.txt', 'w').write(str(len(os.listdir('deep'))))\n")
    experiment = Experiment(team, "remote")
    run = experiment.submit(ScriptRunConfig(str(source), "train.py"))
    assert run.get_portal_url() == f"{address.rstrip('/')}/w/{run.experiment.workspace.id}/runs/{run.id}"
    run.wait_for_completion(show_output=True)
    run.download_file("outputs/x.txt", "here.txt")
    assert Path("here.txt").read_text() == "20"
    restored = zipfile.ZipFile(run.restore_snapshot(path="restored"))
    assert len(restored.namelist()) == 21 and restored.read("deep/7.txt") == b"7"
    assert not (home / "blobs").exists() and not (home / "server.json").exists(), "no server of our own was needed"

    with experiment.start_logging(snapshot_directory=None) as mine:
        print("said here")
        mine.log("m", 1.5)
        Path("outputs/y.txt").write_text("y")
    assert mine.get_metrics() == {"m": 1.5} and "outputs/y.txt" in mine.get_file_names()
    assert mine.get_details_with_logs()["logFiles"]["logs/user_log.txt"] == "said here\n"
    with urllib.request.urlopen(mine.get_details()["logFiles"]["logs/user_log.txt"]) as reply:
        assert reply.read() == b"said here\n"
    model = Model.register(team, "source/deep", "deep")
    assert sorted(p.name for p in Path(model.download("target")).iterdir())[:2] == ["0.txt", "1.txt"]
    again = json.loads(Path(team.write_config("elsewhere")).read_text())
    assert again["server"] == address and Workspace.from_config("elsewhere").id == team.id


def test_job_with_the_config_file_in_its_snapshot_finds_its_workspace(team: Workspace, project: Path):
    """Its token also signs links to the logs of the workspace's runs."""
    with Experiment(team, "remote").start_logging(run_id="before", snapshot_directory=None):
        print("said here")
    (project / "train.py").write_text(
        "import urllib.request\n"
        "from azureml.core import Run, Workspace\n"
        "run, workspace = Run.get_context(), Workspace.from_config()\n"
        "link = workspace.get_run('before').get_details()['logFiles']['logs/user_log.txt']\n"
        "assert urllib.request.urlopen(link).read() == b'said here\\n'\n"
        "assert workspace.id == run.experiment.workspace.id\n"
        "workspace.get_run(run.id).tag('found', workspace.name)\n"
    )
    run = Experiment(team, "remote").submit(ScriptRunConfig(".", "train.py"))
    run.wait_for_completion()
    assert run.get_tags() == {"found": "team-ws"}


def test_wrong_token_is_rejected(team: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FOOTPLATE_TOKEN", "another")
    with pytest.raises(UserErrorException, match="FOOTPLATE_TOKEN"):
        Workspace.from_config()
    monkeypatch.delenv("FOOTPLATE_TOKEN")
    with pytest.raises(AzureMLException, match="token"):
        Workspace.from_config()


def test_data_moves_over_tcp(team: Workspace, project: Path, tmp_path: Path):
    """The client pins files and the node fetches them; the server touches no data."""
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.txt").write_text("given")
    given = Datastore.register_folder(team, "given", str(tmp_path / "given"))
    dataset = Dataset.File.from_files((given, "**")).register(team, "given")
    assert dataset.to_path() == ["/a.txt"] and dataset.verify()
    (project / "src").mkdir()
    (project / "src" / "read.py").write_text("""
import os, sys
from azureml.core import Dataset, Run
assert open(os.path.join(sys.argv[1], "a.txt")).read() == "given"
workspace = Run.get_context().experiment.workspace
(path,) = Dataset.get_by_name(workspace, "given").download("copy")
assert open(path).read() == "given"
open(os.path.join(sys.argv[2], "made.txt"), "w").write("made")
""")
    made = OutputFileDatasetConfig("made", (given, "made/{run-id}")).register_on_complete("made")
    config = ScriptRunConfig("src", "read.py", [dataset.as_named_input("data").as_mount(), made])
    run = Experiment(team, "remote").submit(config)
    run.wait_for_completion()
    assert Dataset.get_by_name(team, "made").to_path() == ["/made.txt"]
    assert (tmp_path / "given" / "made" / run.id / "made.txt").read_text() == "made"


STAYS = """
import sys, time
from footplate import Experiment, Workspace
run = Experiment(Workspace.from_config(), "killed").start_logging(snapshot_directory=None)
run.log("m", 0.5)
run.flush()
print(run.id, flush=True)
sys.stdin.read()
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace needs root")
def test_killed_client_of_another_machine_fails_its_run(team: Workspace):
    """The client is in a process namespace of its own, so the server cannot see it, as on another machine."""
    argv = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", STAYS]
    client = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout is not None
        run = team.get_run(client.stdout.readline().strip())
        assert run.get_status() == "Running"
        assert not team.session.api.runs.heartbeat(run.id).stop
    finally:
        client.kill()
        client.communicate()
    wait_until(lambda: run.get_status() == "Failed")
    assert "the process is gone: no heartbeat" in str(run.get_details()["error"])
    assert run.get_metrics() == {"m": 0.5}
    assert team.session.api.runs.heartbeat(run.id).stop, "a client that was only silent stops its heartbeats"
