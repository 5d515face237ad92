"""Runs on remote data: real object stores, killed processes, a team server."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.data import OutputFileDatasetConfig
from azureml.exceptions import UserErrorException
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec
from footplate.testing.waiting import wait_until
from support.servers import Azurite

READ = """
import json, os, sys
data, made = sys.argv[1:]
seen = {}
for folder, _, names in os.walk(data):
    for name in names:
        path = os.path.join(folder, name)
        seen[os.path.relpath(path, data)] = open(path).read()
json.dump({"seen": seen, "environment": dict(os.environ)}, open(os.path.join(made, "told.json"), "w"))
"""


@pytest.fixture
def container(azurite: Azurite) -> StoreSpec:
    return azurite.new_store()


def submit(workspace: Workspace, text: str, arguments: list[Any], here: Environment) -> Run:
    Path("src").mkdir(exist_ok=True)
    Path("src/script.py").write_text(text)
    return Experiment(workspace, "remote").submit(ScriptRunConfig("src", "script.py", arguments, environment=here))


def mounts_below(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {folder}/" in line]


def check_round_trip(workspace: Workspace, store: Any, spec: StoreSpec, here: Environment, home: Path) -> None:
    Path("data/deep").mkdir(parents=True)
    Path("data/a.txt").write_text("a")
    Path("data/deep/b.txt").write_text("b")
    store.upload("data", "in")
    dataset = Dataset.File.from_files((store, "in")).register(workspace, "remote")
    assert dataset.to_path() == ["/a.txt", "/deep/b.txt"]
    made = OutputFileDatasetConfig("made", (store, "out/{run-id}")).register_on_complete("made")
    for how in ("as_mount", "as_download"):
        run = submit(workspace, READ, [getattr(dataset.as_named_input("data"), how)(), made], here)
        run.wait_for_completion()
        (told,) = Dataset.get_by_name(workspace, "made").download(f"told-{how}")
        found = json.loads(Path(told).read_text())
        assert found["seen"] == {"a.txt": "a", "deep/b.txt": "b"}
        secrets = [value for value in spec.credentials.values() if len(value) > 8]
        assert secrets and not any(s in v for s in secrets for v in found["environment"].values())
        assert not any(s in json.dumps(run.get_details()) for s in secrets)
    assert mounts_below(home) == []
    opened = open_store(spec)
    opened.put("in/a.txt", b"changed")
    assert dataset.verify().changed == ["a.txt"]


def test_s3(workspace: Workspace, s3: StoreSpec, here: Environment, home: Path) -> None:
    location, credentials = s3.location, s3.credentials
    store = Datastore.register_s3_bucket(workspace, "s3", **location, **credentials)  # type: ignore[arg-type]
    check_round_trip(workspace, store, s3, here, home)


def test_azure_blob(workspace: Workspace, container: StoreSpec, here: Environment, home: Path) -> None:
    store = Datastore.register_azure_blob_container(
        workspace, "blobs", container.location["container"], container.location["account"],
        account_key=container.credentials["key"], endpoint=container.location["endpoint"],
    )  # fmt: skip
    check_round_trip(workspace, store, container, here, home)


def check_tables(workspace: Workspace, store: Any) -> None:
    """Read a table from the store and write one back, without a visible local file."""
    Path("tables").mkdir()
    for number in (1, 2):
        Path(f"tables/{number}.csv").write_text("id,name\n" + "".join(f"{number}{i},n{i}\n" for i in range(3)))
    store.upload("tables", "tables", show_progress=False)
    table = Dataset.Tabular.from_delimited_files((store, "tables/*.csv")).register(workspace, f"table-{store.name}")
    assert sorted(table.to_pandas_dataframe()["id"]) == [10, 11, 12, 20, 21, 22]
    odd = table.filter(table["id"] > 12)
    odd.to_csv_files().download("csv")
    assert sum(len(path.read_text().splitlines()) - 1 for path in Path("csv").rglob("*") if path.is_file()) == 3
    odd.to_parquet_files().download("parquet")
    for path in (path for path in Path("parquet").rglob("*") if path.is_file()):
        store.upload_files([str(path)], target_path="parquet", show_progress=False)
    again = Dataset.Tabular.from_parquet_files((store, "parquet"))
    assert sorted(again.to_pandas_dataframe()["id"]) == [20, 21, 22]


def test_tables_in_a_blob_container(workspace: Workspace, container: StoreSpec) -> None:
    store = Datastore.register_azure_blob_container(
        workspace, "blobs", container.location["container"], container.location["account"],
        account_key=container.credentials["key"], endpoint=container.location["endpoint"],
    )  # fmt: skip
    workspace.set_default_datastore("blobs")
    check_tables(workspace, store)


def test_tables_in_a_bucket(workspace: Workspace, s3: StoreSpec) -> None:
    store = Datastore.register_s3_bucket(workspace, "s3", **s3.location, **s3.credentials)  # type: ignore[arg-type]
    workspace.set_default_datastore("s3")
    check_tables(workspace, store)


def test_wrong_credentials_are_an_error_at_registration(workspace: Workspace, container: StoreSpec) -> None:
    with pytest.raises(UserErrorException) as refused:
        Datastore.register_azure_blob_container(
            workspace, "blobs", container.location["container"], container.location["account"],
            account_key="d3Jvbmcta2V5LXdyb25nLWtleQ==", endpoint=container.location["endpoint"],
        )  # fmt: skip
    assert "d3Jvbmc" not in str(refused.value)
    assert "blobs" not in workspace.datastores


def test_a_killed_agent_leaves_its_mount_to_the_ranks(
    workspace: Workspace, s3: StoreSpec, here: Environment, home: Path, tmp_path: Path
) -> None:
    store = Datastore.register_s3_bucket(workspace, "s3", **s3.location, **s3.credentials)  # type: ignore[arg-type]
    Path("data").mkdir()
    Path("data/late.txt").write_text("read after the agent was killed")
    store.upload("data", "kill")
    dataset = Dataset.File.from_files((store, "kill"))
    script = f"""
import os, sys, time
open({str(tmp_path / "started")!r}, "w").close()
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.05)
print(open(os.path.join(sys.argv[1], "late.txt")).read())
"""
    run = submit(workspace, script, [dataset.as_named_input("data").as_mount()], here)
    wait_until((tmp_path / "started").exists)
    (lock,) = (home / "work" / run.id).glob("*/agent.lock")
    os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
    time.sleep(1.0)
    (tmp_path / "go").touch()
    run.wait_for_completion()
    assert "read after the agent was killed" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    wait_until(lambda: mounts_below(home) == [])
