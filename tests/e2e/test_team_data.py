"""Data of a team server on another machine: without a shared folder, and with unchanged scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.data import OutputFileDatasetConfig
from footplate.api import ApiClient
from footplate.api.store_files import StoreFilesApi
from footplate.client.transport import Transport
from footplate.data.stores.base import SMALL
from footplate.data.stores.registry import find, open_store
from footplate.domain.codec import to_json
from footplate.domain.data import StoreSpec
from footplate.domain.datasets import through_server
from footplate.errors import NotAllowed, Unavailable
from footplate.node.delivery.server_link import Link
from footplate.services.access.tokens import TokenService
from footplate.storage import Storage
from support.cutting_proxy import CuttingProxy
from support.servers import RcloneS3, TeamServer, can_hide

TRAIN = """
import os, sys
from azureml.core import Dataset, Run
data, made = sys.argv[1:]
assert sorted(os.listdir(data)) == ["a.txt", "deep"], os.listdir(data)
workspace = Run.get_context().experiment.workspace
(path,) = Dataset.get_by_name(workspace, "given").take(1).download("copy")
with open(os.path.join(made, "told.txt"), "w") as out:
    out.write(open(os.path.join(data, "deep", "b.txt")).read() + open(path).read())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[TeamServer]:
    if not can_hide():
        pytest.skip("the server's home cannot be hidden from us: this needs permission to mount")
    server = TeamServer(elsewhere=True)
    yield server
    server.stop()


def workspace_of(server: TeamServer, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    Path(".azureml").mkdir(exist_ok=True)
    config = {"subscription_id": "s", "resource_group": "g", "workspace_name": "team", "server": server.address}
    Path(".azureml/config.json").write_text(json.dumps(config))
    monkeypatch.setenv("FOOTPLATE_TOKEN", TeamServer.TOKEN)
    return Workspace.from_config()


@pytest.fixture
def team(server: TeamServer, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return workspace_of(server, monkeypatch)


def submit(workspace: Workspace, text: str, arguments: list[Any]) -> Any:
    Path("src").mkdir(exist_ok=True)
    Path("src/train.py").write_text(text)
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    config = ScriptRunConfig("src", "train.py", arguments, environment=environment)
    return Experiment(workspace, "team").submit(config)


def check_loop(team: Workspace) -> None:
    """Run the workflow of every notebook: upload, register, train, inspect the results."""
    Path("data/deep").mkdir(parents=True)
    Path("data/a.txt").write_text("a")
    Path("data/deep/b.txt").write_text("b")
    store = team.get_default_datastore()
    store.upload("data", "given", show_progress=False)
    dataset = Dataset.File.from_files((store, "given")).register(team, "given", create_new_version=True)
    assert dataset.to_path() == ["/a.txt", "/deep/b.txt"]
    made = OutputFileDatasetConfig("made").register_on_complete("made")
    run = submit(team, TRAIN, [dataset.as_named_input("data").as_mount(), made])
    run.wait_for_completion()
    (told,) = Dataset.get_by_name(team, "made").download("back")
    assert Path(told).read_text() == "ba"
    assert store.download("all", prefix="given", show_progress=False) == 2
    with dataset.mount() as mounted:
        assert Path(mounted.mount_point, "deep/b.txt").read_text() == "b"
    Path("data/a.txt").write_text("changed")
    store.upload_files(["data/a.txt"], target_path="given", overwrite=True, show_progress=False)
    assert dataset.verify().changed == ["a.txt"]


def test_the_default_datastore_of_a_remote_server(team: Workspace, server: TeamServer) -> None:
    store = team.get_default_datastore()
    assert not os.path.exists(store.folder), "the server's folder is visible from here, so this test proves nothing"  # type: ignore[attr-defined]
    check_loop(team)


def test_an_object_store_as_the_default_datastore(
    home: Path, project: Path, rclone_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = RcloneS3(rclone_program)
    settings = f"""
[store]
kind = s3
bucket = {bucket.BUCKET}
endpoint = {bucket.address}
prefix = team
access_key_id = {bucket.KEY}
secret_access_key = {bucket.SECRET}
"""
    server = TeamServer(settings=settings)
    try:
        team = workspace_of(server, monkeypatch)
        check_loop(team)
        store = team.get_default_datastore()
        assert store.name == "workspaceblobstore" and store.datastore_type == "S3"
        assert bucket.SECRET not in json.dumps(to_json(list(team.session.api.datastores.list(team.id))))
        whole = open_store(StoreSpec("s3", {"bucket": bucket.BUCKET, "endpoint": bucket.address},
                                     {"access_key_id": bucket.KEY, "secret_access_key": bucket.SECRET}))  # fmt: skip
        lie = {entry.path for entry in find(whole, "team")}
        assert f"team/{team.id}/workspaceblobstore/given/a.txt" in lie
    finally:
        server.stop()
        bucket.stop()


def test_a_remote_node_reads_and_writes_through_the_server(team: Workspace, server: TeamServer) -> None:
    """Act like an agent on another machine: with the run's own token, and only on data that the run was given."""
    store = team.get_default_datastore()
    Path("x.txt").write_text("x")
    store.upload_files(["x.txt"], target_path="in", show_progress=False)
    given = submit(team, "", [store.path("in").as_mount()])
    given.wait_for_completion()
    kept = Storage.open(server.home)
    token = TokenService(kept).token_of(given.id, 1)
    kept.close()
    link = Link(Transport(server.address, token), given.id, 0, lambda: True)
    spec = link.data(team.id).stores["workspaceblobstore"]
    assert spec.kind == "server" and spec.credentials == {"token": token}
    opened = open_store(spec)
    assert opened.read("in/x.txt") == b"x" and [entry.path for entry in find(opened, "in")] == ["in/x.txt"]
    opened.put("out/y", b"y")
    assert opened.stat("out/y").size == 1
    elsewhere = ApiClient(Transport(server.address, server.TOKEN)).workspaces.create("elsewhere", "s", "g")
    other = open_store(through_server(server.address, token, elsewhere.id, "workspaceblobstore"))
    for act in (lambda: other.stat("x"), lambda: list(other.list()), lambda: other.put("x", b"x")):
        with pytest.raises(NotAllowed, match="datastores that it names, and those of its workspace"):
            act()


def test_a_cut_upload_is_resumed(team: Workspace, server: TeamServer) -> None:
    proxy = CuttingProxy(server.port, limit=int(1.5 * SMALL))
    try:
        data = os.urandom(4 * SMALL + 7)
        Path("large").write_bytes(data)
        store = open_store(through_server(proxy.address, TeamServer.TOKEN, team.id, "workspaceblobstore"))
        counted = list[int]()
        entry = store.put("deep/large", Path("large"), count=counted.append)
        assert entry.size == sum(counted) == len(data)
        assert store.read("deep/large") == data
        assert proxy.sent < 2 * len(data)

        proxy.limit = SMALL // 2  # the connection is down
        Path("large").write_bytes(data[::-1])
        with pytest.raises(Unavailable):
            store.put("deep/large", Path("large"))
        proxy.limit = None
        assert store.read("deep/large") == data, "the old file stays until the new one is complete"
    finally:
        proxy.stop()


def test_an_upload_of_a_killed_client_is_resumed(team: Workspace, server: TeamServer) -> None:
    size = 6 * SMALL
    Path("large").write_bytes(os.urandom(size))
    proxy = CuttingProxy(server.port)
    try:
        script = """
import sys, os, signal, pathlib
from footplate.data.stores.registry import open_store
from footplate.domain.datasets import through_server
url, token, workspace = sys.argv[1:]
sent = 0
def count(more):
    global sent
    sent += more
    if sent > 20_000_000:
        os.kill(os.getpid(), signal.SIGKILL)
store = open_store(through_server(url, token, workspace, "workspaceblobstore"))
store.put("killed", pathlib.Path("large"), count=count)
"""
        argv = [sys.executable, "-c", script, proxy.address, TeamServer.TOKEN, team.id]
        assert subprocess.run(argv, check=False).returncode == -9
        proxy.sent = 0
        store = open_store(through_server(proxy.address, TeamServer.TOKEN, team.id, "workspaceblobstore"))
        store.put("killed", Path("large"))
        assert proxy.sent < size - 2 * SMALL, "it started over"
        assert store.read("killed") == Path("large").read_bytes()
        proxy.sent = 0
        store.put("killed", Path("large"))
        assert proxy.sent < SMALL, "the server recognizes the file"
    finally:
        proxy.stop()


@pytest.mark.parametrize(
    "name", ["../../x", "%2e%2e/x", "..%2f..%2fx", "/etc/x", "%2fetc%2fx", "a%00b", "a/./b", "a//b", "C:%5cx", "..%5cx"]
)
def test_names_that_leave_the_store_are_refused(team: Workspace, server: TeamServer, name: str) -> None:
    below = f"{server.address}{StoreFilesApi.url(team.id, 'workspaceblobstore')}/"
    for method in ("PUT", "GET", "DELETE"):
        request = urllib.request.Request(below + name, b"x" if method == "PUT" else None, method=method)
        request.add_header("Authorization", f"Bearer {TeamServer.TOKEN}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        assert refused.value.code in (400, 404, 405, 422), refused.value
    assert not list(server.home.rglob("x"))
