"""A team server on PostgreSQL: the whole loop over TCP, the database killed in the middle, and run tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import Experiment, Model, Run, Workspace
from footplate.api import ApiClient
from footplate.client.transport import Transport
from footplate.domain import azure_variables
from footplate.errors import NotAllowed
from footplate.services.access.tokens import TokenService
from footplate.storage import Storage
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, submit
from support.postgres import PostgresServer

pytestmark = pytest.mark.postgres

STEADY = """
    import time
    from azureml.core import Run
    run = Run.get_context()
    for i in range(200):
        print(f"line {i}", flush=True)
        run.log("value", float(i))
        time.sleep(0.03)
    with open("outputs/model.bin", "wb") as file:
        file.write(bytes(range(256)) * 100)
    run.upload_file("mine/model.bin", "outputs/model.bin")
    run.register_model("from-inside", "mine/model.bin")
"""


class TeamServer:
    def __init__(self, home: Path, database: str) -> None:
        self.home, self.database = home, database
        options = ["--home", str(home), "--host", "127.0.0.1", "--port", "0", "--database", database]
        environment = {**os.environ, "FOOTPLATE_HOME": str(home)}
        self.process = subprocess.Popen([sys.executable, "-m", "footplate.server", *options], env=environment)
        wait_until(lambda: (home / "server.json").exists() or self.process.poll() is not None, 60)
        self.url = json.loads((home / "server.json").read_text())["url"]
        self.token = (home / "token").read_text().strip()

    def job_variables(self, run: str) -> dict[str, str]:
        """Return the variables of a job whose agent is on another machine, including its own token."""
        store = Storage.open(self.home, self.database)
        try:
            token = TokenService(store).token_of(run, 1)
            spec, home = store.runs.record(run).spec, store.runs.home(run)
            azure = azure_variables.job_variables(run, spec, home, self.url, token, time.time() + 600.0, 0)
        finally:
            store.close()
        return {**azure, "FOOTPLATE_ENDPOINT": self.url, "FOOTPLATE_TOKEN": token, "FOOTPLATE_RUN_ID": run}


@pytest.fixture
def team(own_postgres: PostgresServer) -> Iterator[TeamServer]:
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        server = TeamServer(Path(folder) / "h", own_postgres.new_database())
        yield server
        server.process.terminate()
        server.process.wait(timeout=60)


@pytest.fixture
def remote(team: TeamServer, project: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    config = {"subscription_id": "s", "resource_group": "g", "workspace_name": "team-ws", "server": team.url}
    (project / ".azureml" / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("FOOTPLATE_TOKEN", team.token)
    return Workspace.from_config()


def assert_whole(run: Run, tmp_path: Path) -> None:
    assert run.get_status() == "Completed", run.get_details()
    lines = bytes_of(run, "user_logs/std_log.txt", tmp_path).decode().splitlines()
    assert lines == [f"line {i}" for i in range(200)]
    assert run.get_metrics()["value"] == [float(i) for i in range(200)]
    assert bytes_of(run, "outputs/model.bin", tmp_path) == bytes(range(256)) * 100


def test_whole_loop_works_on_postgres(remote: Workspace, project: Path, tmp_path: Path) -> None:
    run = submit(remote, project, STEADY, arguments=[])
    run.tag("colour", "green")
    wait_until(lambda: run.get_status() == "Running")
    wait_until(lambda: "user_logs/std_log.txt" in run.get_file_names())
    wait_until(lambda: b"line 3\n" in bytes_of(run, "user_logs/std_log.txt", tmp_path) and run.get_metrics())
    assert run.get_status() == "Running", "seen while it ran"
    finish(run)
    assert_whole(run, tmp_path)
    experiment = Experiment(remote, "ops")
    assert [found.id for found in experiment.get_runs(tags={"colour": "green"})] == [run.id]
    assert list(experiment.get_runs(tags={"colour": "blue"})) == []
    model = Model(remote, "from-inside")
    assert (model.version, model.run_id) == (1, run.id)
    again = run.register_model("from-outside", "outputs/model.bin")
    assert Path(again.download(str(tmp_path / "target"))).read_bytes() == bytes(range(256)) * 100

    canceled = submit(remote, project, "import time\ntime.sleep(600)")
    wait_until(lambda: canceled.get_status() == "Running")
    canceled.cancel()
    assert finish(canceled).get_status() == "Canceled"


@pytest.mark.parametrize("away", [0.0, 6.0])
def test_postgres_killed_in_the_middle_of_a_run(
    remote: Workspace, own_postgres: PostgresServer, project: Path, tmp_path: Path, away: float
) -> None:
    run = submit(remote, project, STEADY)
    wait_until(lambda: run.get_status() == "Running")
    time.sleep(0.7)
    own_postgres.kill()
    time.sleep(away)
    own_postgres.start_again()
    finish(run)
    assert_whole(run, tmp_path)


def test_postgres_killed_while_runs_are_submitted(
    remote: Workspace, own_postgres: PostgresServer, project: Path
) -> None:
    """Decisions that were pending when the database went away are made afterwards: no run is forgotten."""
    runs = [submit(remote, project, f"print({n})") for n in range(6)]
    own_postgres.kill()
    time.sleep(1)
    own_postgres.start_again()
    for run in runs:
        assert finish(run).get_status() == "Completed"


def test_run_token_changes_only_its_run(team: TeamServer, remote: Workspace, tmp_path: Path) -> None:
    experiment = Experiment(remote, "ops")
    mine, other = (experiment.start_logging(snapshot_directory=None) for _ in range(2))
    api = ApiClient(Transport(team.url, team.job_variables(mine.id)["FOOTPLATE_TOKEN"], patience=0))
    assert api.runs.get(mine.id).id == mine.id
    assert api.files.append_log(mine.id, "a\nb.txt", b"said", 0) == 4
    assert api.runs.get(other.id).id == other.id, "a run reads its workspace"
    for request in (lambda: api.runs.cancel(other.id), api.server.stop):
        with pytest.raises(NotAllowed, match=f"the token of run {mine.id} does not reach") as refusal:
            request()
        assert refusal.value.hint
    with pytest.raises(NotAllowed, match="not valid here") as refusal:
        ApiClient(Transport(team.url, "forged" * 8, patience=0)).runs.get(mine.id)
    assert "FOOTPLATE_TOKEN" in (refusal.value.hint or "")
    mine.complete()
    other.complete()


def test_script_uses_tcp_with_its_own_token(team: TeamServer, remote: Workspace, project: Path, tmp_path: Path) -> None:
    """Simulate a job on another machine: the same script, with the TCP address and the run's token."""
    run = Experiment(remote, "ops").start_logging(snapshot_directory=None)
    code = """
        from azureml.core import Run
        run = Run.get_context()
        run.tag("seen", "yes")
        open("model.txt", "w").write("weights")
        run.upload_file("mine/model.txt", "model.txt")
        model = run.register_model("over-tcp", "mine/model.txt")
        child = run.child_run("small")
        child.complete()
        print(model.version, child.id)
    """
    script = tmp_path / "job.py"
    script.write_text("\n".join(line[8:] for line in code.splitlines()))
    environment = {
        **os.environ,
        **team.job_variables(run.id),
        "FOOTPLATE_JOURNALS": str(tmp_path / "journals"),
        "FOOTPLATE_RANK": "0",
        "FOOTPLATE_NODE": "0",
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    version, child = done.stdout.split()
    assert version == "1" and Model(remote, "over-tcp").run_id == run.id
    assert [found.id for found in run.get_children()] == [child]
    assert run.get_tags()["seen"] == "yes"
    run.complete()
