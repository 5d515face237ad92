"""Requests of a run on remote data before and during its script, counted by the store's own server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.exceptions import ActivityFailedException
from footplate.content.blobs import BlobFolder
from footplate.content.listing import write_listing
from footplate.data.mounts import mount
from footplate.data.stores.registry import open_store
from footplate.domain.data import Item, StoreSpec, place
from footplate.domain.requests import NewDataset
from support.web_server import WebServer

MANY = 20_000
READ = """
import json, os, sys
data, names = sys.argv[1], sys.argv[2].split(",")
found = {name: open(os.path.join(data, name)).read() for name in names}
with open(os.path.join("outputs", "told.json"), "w") as file:
    json.dump({"found": found, "top": sorted(os.listdir(data))}, file)
"""
CHANGE = """
import os, sys
data = sys.argv[1]
open(os.path.join(data, "a"), "a").write(" and more")
os.unlink(os.path.join(data, "deep/b"))
os.rename(os.path.join(data, "deep"), os.path.join(data, "deeper"))
open(os.path.join(data, "new"), "w").write("new")
print(sorted(os.listdir(data)))
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def pinned(workspace: Workspace, web: WebServer, home: Path, items: list[Item], name: str) -> Any:
    """Register a version that pins these items of the web server, as if they had been listed."""
    Datastore.register_web(workspace, "web", web.address)
    made = write_listing([item._replace(store="web") for item in items], f"{name}.listing")
    BlobFolder(str(home / "blobs")).put_file(f"{name}.listing")
    definition = {"sources": [{"datastore": "web", "path": "all"}]}
    new = NewDataset(name, "file", definition, name=name, listing=made.digest)
    workspace.session.api.datasets.register(workspace.id, new)
    return Dataset.get_by_name(workspace, name)


def run(workspace: Workspace, here: Environment, script: str, arguments: list[Any]) -> Any:
    Path("src").mkdir(exist_ok=True)
    Path("src/script.py").write_text(script)
    config = ScriptRunConfig("src", "script.py", arguments, environment=here)
    submitted = Experiment(workspace, "start").submit(config)
    submitted.wait_for_completion()
    return submitted


def told(submitted: Any) -> Any:
    submitted.download_file("outputs/told.json", "told.json")
    return json.loads(Path("told.json").read_text())


def mounts_below(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {folder}/" in line]


def listed(web: WebServer, files: dict[str, bytes]) -> list[Item]:
    store = open_store(StoreSpec("http", {"url": web.address}))
    for name, data in files.items():
        web.serve(name, data)
    items = [place(store.stat(name), name) for name in files]
    web.seen.clear()
    return items


@pytest.mark.skipif(not mount.has_fuse(), reason="needs FUSE")
def test_a_run_on_many_files_fetches_only_those_it_reads(
    workspace: Workspace, here: Environment, web: WebServer, home: Path
) -> None:
    real = listed(web, {"a": b"alpha", "deep/b": b"beta"})
    many = [Item(f"many/{number % 100:02}/{number:06}", 7, "never") for number in range(MANY)]
    dataset = pinned(workspace, web, home, [*real, *many], "many")
    for asked in (["a", "deep/b"], []):  # files read before are cached
        done = told(run(workspace, here, READ, [dataset.as_named_input("data").as_mount(), "a,deep/b"]))
        assert done == {"found": {"a": "alpha", "deep/b": "beta"}, "top": ["a", "deep", "many"]}
        assert sorted(one.path for one in web.seen) == asked
        assert all(one.method == "GET" for one in web.seen)
        web.seen.clear()
    assert mounts_below(home) == []


@pytest.mark.skipif(not mount.has_fuse(), reason="needs FUSE")
def test_failed_reads_are_explained_in_the_warnings(
    workspace: Workspace, here: Environment, web: WebServer, home: Path
) -> None:
    dataset = pinned(workspace, web, home, [Item("gone", 7, "never"), Item("too", 7, "never")], "gone")
    with pytest.raises(ActivityFailedException, match="Input/output error"):
        run(workspace, here, READ, [dataset.as_named_input("data").as_mount(), "gone"])
    (failed,) = Experiment(workspace, "start").get_runs()
    assert f"/gone: {web.address}/gone does not exist" in str(failed.get_details()["warnings"])


def test_downloaded_data_is_cached_and_unaffected_by_scripts(
    workspace: Workspace, here: Environment, web: WebServer, home: Path
) -> None:
    dataset = pinned(workspace, web, home, listed(web, {"a": b"alpha", "deep/b": b"beta"}), "two")
    for number in range(2):
        run(workspace, here, CHANGE, [dataset.as_named_input("data").as_download()])
        if number == 0:
            assert sorted(one.path for one in web.seen) == ["a", "deep/b"]
    done = told(run(workspace, here, READ, [dataset.as_named_input("data").as_download(), "a,deep/b"]))
    assert done == {"found": {"a": "alpha", "deep/b": "beta"}, "top": ["a", "deep"]}
    if mount.has_fuse():  # and with it the permission to mount
        assert len(web.seen) == 2, "it was fetched again"
    assert mounts_below(home) == []
