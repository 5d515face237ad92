"""Commands of a team: two people on machines of their own, and the owner, against a real server over TCP."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers import TeamServer


class Machine:
    """A machine of one person: a home folder and a project folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)

    def run(self, *arguments: str, entered: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        return self._call("-m", "footplate", *arguments, entered=entered, code=code)

    def python(self, code: str) -> str:
        return self._call("-c", code).stdout

    def _call(self, *arguments: str, entered: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FOOTPLATE_")}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.project, env={**kept, "FOOTPLATE_HOME": str(self.home)}, input=entered,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def server() -> Iterator[TeamServer]:
    server = TeamServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def owner(server: TeamServer, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("owner"))
    machine.run("login", server.address, "--token", entered=server.TOKEN)
    machine.run("init", "--server", server.address, "--name", "vision")
    return machine


@pytest.fixture(scope="module")
def anna(server: TeamServer, owner: Machine, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    owner.run("people", "add", "anna")
    owner.run("roles", "grant", "anna", "contributor", "-w", "vision")
    token = owner.run("tokens", "create", "first", "--for", "anna", "--days", "1").stdout
    machine = Machine(tmp_path_factory.mktemp("anna"))
    machine.run("login", server.address, "--token", entered=token)
    machine.run("init", "--server", server.address, "--name", "vision")
    return machine


def test_a_person_works_with_a_token_stored_privately(owner: Machine, anna: Machine) -> None:
    assert stat.S_IMODE(os.stat(anna.home / "credentials.json").st_mode) == 0o600
    who = anna.json("whoami")
    assert (who["name"], who["kind"], list(who["roles"].values())) == ("anna", "person", ["contributor"])
    (anna.project / "train.py").write_text("print('trained')")
    anna.run("run", "--wait", "train.py")
    [run] = anna.json("runs", "list")
    assert (run["status"], run["created_by"]) == ("Completed", "anna")
    script = "from azureml.core import Run, Workspace; w = Workspace.from_config(); "
    script += f"print(*w.get_run('{run['id']}').get_details()['logFiles'].values(), sep='\\n')"
    links = anna.python(script).split()
    assert any(b"trained" in urllib.request.urlopen(link, timeout=60).read() for link in links)
    [entry] = owner.json("audit", "--action", "submit_run")
    assert (entry["who"], entry["detail"], entry["source"]) == ("anna", run["id"], "127.0.0.1")


def test_a_person_changes_no_run_of_the_owner(owner: Machine, anna: Machine) -> None:
    (owner.project / "own.py").write_text("print('own')")
    owner.run("run", "--wait", "own.py")
    run = owner.json("runs", "list", "-e", "own")[0]["id"]
    assert anna.json("runs", "show", run)["id"] == run
    refused = anna.run("runs", "tag", run, "mine", code=1).stderr
    assert "anna may not send" in refused and "footplate whoami" in refused
    assert anna.run("people", "list", code=1).stderr.startswith("error: anna may not")
    [entry] = owner.json("audit", "--refused", "--run", run)
    assert (entry["who"], entry["action"], entry["status"]) == ("anna", "change_run", 403)


def test_a_person_is_led_to_the_sign_in_of_the_page(anna: Machine, server: TeamServer) -> None:
    refused = anna.run("ui", "--no-browser", code=1).stderr
    assert f"open {server.address}/sign-in" in refused and "footplate tokens create browser" in refused


def test_a_revoked_token_is_refused_at_once(owner: Machine, anna: Machine, server: TeamServer, tmp_path: Path) -> None:
    new = anna.json("tokens", "create", "ci", "--read-only")
    reader = Machine(tmp_path)
    reader.run("login", server.address, "--token", entered=new["token"])
    assert list(reader.json("whoami", server.address)["roles"].values()) == ["reader"]
    anna.run("tokens", "revoke", new["view"]["id"])
    assert "not valid here" in reader.run("whoami", server.address, code=1).stderr
    assert new["view"]["id"] not in [each["id"] for each in anna.json("tokens", "list")]
    reader.run("logout", server.address)
    assert json.loads((reader.home / "credentials.json").read_text()) == {}
