"""GET requests over a real store: none of them changes anything."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from footplate.api import PREFIX
from footplate.domain.codec import to_json
from footplate.domain.orders import INFO, Gpu
from footplate.domain.records import FileView
from footplate.domain.requests import NewDataset, NewDatastore, NewModel
from footplate.domain.specs import EnvironmentSpec, GpuRequest
from footplate.job.journal import Journal
from footplate.server.app import create_app
from footplate.server.hub import Hub
from footplate.server.peers import STATE, Peer

from .conftest import House

GPU = {"gpus": 1, INFO: to_json([Gpu(0, "GPU-0")])}


@pytest.fixture
def names(house: House, tmp_path: Path) -> dict[str, str]:
    """Fill the store with one of everything; return the values for the parameters of paths."""
    services, workspace = house.services, house.workspace
    digest = house.store.blobs.put_bytes(b"content")
    for run in ("holds", "waits"):  # the second is ready and waits for the GPU of the first
        house.submit(run, gpus=GpuRequest(per_node=1))
        house.until_launched(run)
        services.nodes.join(run, 0, 1, "host", "127.0.0.1", GPU)
    for event in ("started", "exited"):  # the GPU is free: a request could assign it now
        services.nodes.report("holds", 0, event, None, None)
    run = "waits"
    services.files.add(run, [FileView("a.txt", 7, digest)], False)
    services.files.append_log(run, "user_logs/std_log.txt", 0, b"text\n", False)
    journal = Journal(str(tmp_path / "journal"))
    journal.log("loss", 0.5)
    journal.close()
    for part in ("text", "slots"):
        for file in (tmp_path / "journal").glob(f"*.{part}"):
            services.metrics.append(run, "writer", part, 0, file.read_bytes(), False)
    services.metrics.summary(run)
    dataset = services.datasets.register(
        workspace,
        NewDataset("k", "file", {"sources": [{"datastore": "workspaceblobstore", "path": "a.txt"}]}, name="set"),
    )
    services.datastores.put(workspace, "mine", NewDatastore("folder", {"path": str(tmp_path)}))
    services.models.register(workspace, NewModel("k", "net", root="a.txt", files=(FileView("a.txt", 7, digest),)))
    services.environments.register(workspace, "env", {"name": "env"})
    services.secrets.put(workspace, "key", "value")
    services.store_files.put(workspace, "workspaceblobstore", "a.txt", b"content", False)
    lock = services.locks.resolve(EnvironmentSpec(builder="existing", interpreter="/usr/bin/python3"), False)
    return {"workspace": workspace, "run": run, "node": "0", "path": "a.txt", "digest": digest, "id": dataset.id,
            "lock": lock.digest, "version": "latest"}  # fmt: skip


NAMED = {"datastores": "workspaceblobstore", "datasets": "set", "models": "net", "environments": "env",
         "secrets": "key", "computes": "local", "endpoints": "service",
         "curated-environments": "AzureML-Minimal"}  # fmt: skip


WITHOUT_SUBJECT = (
    "/agent-archives/{digest}",  # no agent was started on another machine
    "/locks/{digest}/build",  # no build was started
    "/runs/{run}/trials",  # the run is not a sweep
    "/runs/{run}/sweep-analysis",
    "/workspaces/{workspace}/dataset-ids/{id}/files",  # the dataset pins no files
    "/workspaces/{workspace}/endpoints/{name}",  # a service would start a gateway
    "/workspaces/{workspace}/endpoints/{name}/logs",
)


QUERIES = {
    "/recent/": "age=60",
    "/log-search/": "pattern=x",
    "/moment": "time=1",
    "/metrics/point": "name=loss&step=0",
    "/runs/names": "kind=metrics",
    "/runs/values": "field=status",
    "/runs/groups": "by=status",
}
"""What requests cannot do without, by a part of their paths."""


def path_for(template: str, names: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        before = template[: match.start()].rstrip("/").rpartition("/")[2]
        if before in ("log-lines", "log-search"):
            return "user_logs/std_log.txt"
        if match[1] == "digest":
            return names["lock"] if before == "locks" else names["digest"]
        return NAMED[before] if match[1] == "name" else names[match[1]]

    return re.sub(r"\{(\w+)\}", value, template)


def dump(home: Path) -> Any:
    """Everything that the server keeps, but entries of the audit log about secrets that were read."""
    with sqlite3.connect(home / "footplate.db") as database:
        rows = [row for row in database.iterdump() if not row.startswith('INSERT INTO "audit"')]
    files = {
        str(path.relative_to(home)): path.stat().st_size
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith("footplate.db")
    }
    return rows, files


async def get(app: Any, path: str) -> int:
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": next((query for part, query in QUERIES.items() if part in path), "").encode(),
        "root_path": "", "scheme": "http", "headers": [], "client": None, "server": None,
        "state": {STATE: Peer(os.getpid(), os.geteuid())}, "asgi": {"version": "3.0"},
    }  # fmt: skip
    statuses: list[int] = []

    incoming = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return incoming.pop() if incoming else await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    await app(scope, receive, send)
    return statuses[0]


def test_no_get_request_changes_the_store(house: House, names: dict[str, str]) -> None:
    hub = Hub()
    hub.close()  # so that the stream of changes ends
    app = create_app(house.services, hub, None)
    templates = [path for path, operations in app.openapi()["paths"].items() if "get" in operations]
    before = dump(house.home)
    answers = {path: asyncio.run(get(app, path_for(path, names))) for path in templates}
    refused = {path: status for path, status in answers.items() if status != 200}
    assert set(refused) == {PREFIX + path for path in WITHOUT_SUBJECT}
    assert dump(house.home) == before
    assert house.store.runs.record("waits").nodes[0].gpus is None
    assert house.services.nodes.equip("waits", 0).nodes[0].gpus == ("GPU-0",), "there was something to change"
