"""`footplate data` and `footplate datastore` on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footplate import Dataset, Datastore, Experiment, OutputFileDatasetConfig, ScriptRunConfig, Workspace

pytestmark = pytest.mark.shared_home


@pytest.fixture
def pictures(project: Path) -> Path:
    folder = project / "pictures"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("bb")
    return folder


def test_add_list_show_download_verify(footplate: Any, pictures: Path) -> None:
    assert footplate("data", "add", "pictures", "pictures", "--tag", "kind=toy").stdout == "pictures:1\n"
    (pictures / "c.txt").write_text("c")
    assert footplate.json("data", "add", "pictures", "pictures")["version"] == 2
    (listed,) = footplate.json("data", "list")
    assert (listed["name"], listed["version"], listed["files"], listed["size"]) == ("pictures", 2, 3, 4)
    assert [item["version"] for item in footplate.json("data", "list", "--name", "pictures")] == [2, 1]
    shown = footplate("data", "show", "pictures:1").stdout
    assert "2 files, 3 B" in shown and "a.txt" in shown and "kind=toy" in shown
    footplate("data", "download", "pictures:1", "--to", "got")
    assert sorted(os.listdir(pictures.parent / "got")) == ["a.txt", "b.txt"]
    assert "has not changed since it was registered" in footplate("data", "verify", "pictures").stdout
    assert "no dataset 'nothing'" in footplate("data", "show", "nothing", code=1).stderr
    assert "no run read" in footplate("data", "lineage", "pictures").stderr


def stored(home: Path) -> list[Path]:
    """Return the files that were uploaded for datasets, without those still being written."""
    return sorted(path for path in home.glob("stores/*/workspaceblobstore/datasets/**/*") if path.is_file())


def test_a_new_version_copies_changed_files_only(footplate: Any, pictures: Path, home: Path) -> None:
    footplate("data", "add", "pictures", "pictures")
    first = {path.name: path.stat() for path in stored(home)}
    assert footplate("data", "add", "pictures", "pictures").stdout == "pictures:1\n", "nothing has changed"
    assert len(stored(home)) == 2
    (pictures / "b.txt").write_text("BB")
    (pictures / "c.txt").write_text("c")
    assert footplate("data", "add", "pictures", "pictures").stdout == "pictures:2\n"
    second = {path.name: path.stat() for path in stored(home)[2:]}
    assert sorted(second) == ["a.txt", "b.txt", "c.txt"]
    assert second["a.txt"].st_ino == first["a.txt"].st_ino, "an unchanged file was copied"
    assert second["b.txt"].st_ino != first["b.txt"].st_ino
    for version, text in (("1", "bb"), ("2", "BB")):
        footplate("data", "download", f"pictures:{version}", "--to", version)
        assert (pictures.parent / version / "b.txt").read_text() == text
        assert "has not changed" in footplate("data", "verify", f"pictures:{version}").stdout
    (pictures / "c.txt").unlink()
    assert footplate("data", "add", "pictures", "pictures").stdout == "pictures:3\n", "a file less is a change"
    assert footplate("data", "add", "pictures", "pictures/a.txt").stdout == "pictures:4\n"
    assert footplate("data", "add", "pictures", "pictures/a.txt").stdout == "pictures:4\n"


def test_delete_removes_versions_and_their_own_files(footplate: Any, pictures: Path, home: Path) -> None:
    footplate("data", "add", "pictures", "pictures")
    (pictures / "b.txt").write_text("BB")
    footplate("data", "add", "pictures", "pictures")
    (pictures / "b.txt").write_text("bbb")
    footplate("data", "add", "pictures", "pictures")
    asked = footplate("data", "delete", "pictures:2", code=1).stderr
    assert "delete 1 version of dataset pictures and the files in workspaceblobstore:datasets/pictures/" in asked
    assert "--yes" in asked
    assert len(stored(home)) == 6
    assert "deleted 1 version of pictures and 2 files" in footplate("data", "delete", "pictures:2", "--yes").stderr
    assert [item["version"] for item in footplate.json("data", "list", "--name", "pictures")] == [3, 1]
    assert "has not changed" in footplate("data", "verify", "pictures:1").stdout
    assert "version 2 of dataset 'pictures'" in footplate("data", "delete", "pictures:2", "--yes", code=1).stderr
    kept = stored(home)[0].parent
    footplate("data", "add", "same", f"workspaceblobstore:datasets/pictures/{kept.name}")
    footplate("data", "delete", "pictures", "--yes")
    assert {path.parent for path in stored(home)} == {kept}, "another dataset names the first folder"
    assert "has not changed" in footplate("data", "verify", "same").stdout
    footplate("data", "delete", "same", "--yes")
    assert len(stored(home)) == 2, "files that were registered where they are stay"


def test_data_of_active_runs_is_not_deleted(footplate: Any, pictures: Path) -> None:
    footplate("data", "add", "pictures", "pictures")
    footplate.write("wait.py", "import pathlib, time", "while not pathlib.Path('/proc/0').exists(): time.sleep(0.1)")
    workspace = Workspace.from_config(str(footplate.folder))
    read = Dataset.get_by_name(workspace, "pictures").as_named_input("pictures").as_download()
    config = ScriptRunConfig(str(footplate.folder), "wait.py", [read])
    run = Experiment(workspace, "read").submit(config)
    refused = footplate("data", "delete", "pictures", "--yes", code=1).stderr
    assert f"run {run.id} uses dataset pictures and has not ended" in refused
    run.cancel()
    run.wait_for_completion(raise_on_error=False)
    footplate("data", "delete", "pictures", "--yes")
    lines = [line.split() for line in footplate("runs", "show", run.id).stdout.splitlines()]
    assert ["read", "pictures:1"] in lines, "the run still shows what it read"


def test_show_describes_how_a_table_is_read(footplate: Any, project: Path) -> None:
    workspace = Workspace.from_config()
    (project / "day=1").mkdir()
    (project / "day=1" / "a.tsv").write_text("when\tn\n2021-01-01\t5\n")
    store = Datastore.register_folder(workspace, "here", str(project))
    table = Dataset.Tabular.from_delimited_files((store, "day=*/a.tsv"), separator="\t", partition_format="day={d}/*")
    table.with_timestamp_columns("when").take(1).register(workspace, "days")
    shown = footplate("data", "show", "days").stdout
    rows = dict(line.split(None, 1) for line in shown.splitlines() if line[0] != " " and len(line.split()) > 1)
    assert rows["format"] == "delimited, separated by '\\t'" and rows["partitions"] == "day={d}/*"
    assert rows["columns"] == "when (datetime), n (integer), d (integer)", "the partition column has a type, too"
    assert (rows["time"], rows["steps"]) == ("when", "take")


def test_a_run_shows_the_data_that_it_read_and_wrote(footplate: Any, pictures: Path) -> None:
    footplate("data", "add", "pictures", "pictures")
    footplate.write("take_over.py", "import shutil, sys", "shutil.copytree(*sys.argv[1:], dirs_exist_ok=True)")
    workspace = Workspace.from_config(str(footplate.folder))
    read = Dataset.get_by_name(workspace, "pictures").as_named_input("pictures").as_mount()
    written = OutputFileDatasetConfig("copies").register_on_complete("copies")
    config = ScriptRunConfig(str(footplate.folder), "take_over.py", [read, written])
    Experiment(workspace, "copy").submit(config).wait_for_completion()
    lines = [line.split() for line in footplate("runs", "show", "latest").stdout.splitlines()]
    assert ["read", "pictures:1"] in lines and ["wrote", "copies:1"] in lines
    assert footplate("data", "lineage", "copies").stdout.splitlines()[0].split() == ["copies:1", "STATUS", "HOW"]


def test_a_store_is_added_listed_and_verified(footplate: Any, pictures: Path) -> None:
    footplate("datastore", "add", "raw", "pictures", "--default")
    stores = {store["name"]: store for store in footplate.json("datastore", "list")}
    assert stores["raw"]["is_default"] and stores["raw"]["location"] == {"path": str(pictures)}
    footplate("datastore", "upload", "raw", "pictures/a.txt", "--to", "more")
    seen = footplate.json("datastore", "ls", "raw")
    assert (seen["folders"], [file["path"] for file in seen["files"]]) == (["more"], ["a.txt", "b.txt"])
    assert "more/" in footplate("datastore", "ls", "raw").stdout
    assert [file["path"] for file in footplate.json("datastore", "ls", "raw", "more/a.txt")["files"]] == ["more/a.txt"]
    (pictures / "empty").mkdir()
    assert footplate.json("datastore", "ls", "raw", "empty") == {"folders": [], "files": []}
    assert "nothing/here" in footplate("datastore", "ls", "raw", "nothing/here", code=1).stderr
    footplate("data", "add", "texts", "raw:*.txt")
    (pictures / "a.txt").write_text("changed")
    changed = footplate("data", "verify", "texts", code=1)
    assert "changed" in changed.stdout and "a.txt" in changed.stdout
    footplate("datastore", "default", "workspaceblobstore")
    assert "add --yes" in footplate("datastore", "remove", "raw", code=1).stderr
    footplate("datastore", "remove", "raw", "--yes")
    assert "raw" not in {store["name"] for store in footplate.json("datastore", "list")}


def test_credentials_are_not_on_the_command_line(footplate: Any, home: Path) -> None:
    footplate(
        "datastore", "add", "bucket", "s3://my-bucket/some/prefix", "--no-check", "--endpoint", "http://127.0.0.1:9",
        "--credential", "access_key_id", "--credential", "secret_access_key",
        FOOTPLATE_STORE_ACCESS_KEY_ID="me", FOOTPLATE_STORE_SECRET_ACCESS_KEY="hush-hush",
    )  # fmt: skip
    (bucket,) = [store for store in footplate.json("datastore", "list") if store["name"] == "bucket"]
    assert bucket["has_credentials"] and bucket["location"]["prefix"] == "some/prefix"
    shown = footplate("datastore", "list").stdout
    assert "hush" not in shown and "my-bucket/some/prefix" in shown
    for file in home.rglob("*"):
        assert not file.is_file() or b"hush-hush" not in file.read_bytes(), file


def test_the_server_token_is_not_used_for_web_sites(footplate: Any) -> None:
    options = ("--credential", "token")
    asked = footplate("datastore", "add", "site", "https://host/x", *options, FOOTPLATE_TOKEN="of-the-server", code=1)
    assert "hint: set FOOTPLATE_STORE_TOKEN" in asked.stderr
    assert "site" not in footplate("datastore", "list").stdout


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("s3://me:hush-hush@bucket/x", ""),
        ("s3://bucket/x?key=hush-hush", ""),
        ("https://me:hush-hush@host/x", ""),
        ("s3://bucket", "secret_access_key=hush-hush"),
        ("s3://bucket", "sas=hush-hush"),
    ],
)
def test_secrets_on_the_command_line_are_refused_and_not_echoed(footplate: Any, place: str, field: str) -> None:
    said = footplate("datastore", "add", "x", place, *(["--credential", field] if field else []), code=1)
    assert "hint: " in said.stderr and "hush" not in said.stderr + said.stdout


@pytest.mark.parametrize("place", ["ftp://x/y", "/no/such/folder"])
def test_an_invalid_location_is_refused(footplate: Any, place: str) -> None:
    assert "PLACE" in footplate("datastore", "add", "x", place, code=2).stderr


def test_the_cache_command_shows_its_contents(footplate: Callable[..., Any], home: Path) -> None:
    (home / "settings.ini").write_text("[data]\ncache = 2.5 GB\n")
    found = footplate.json("data", "cache")  # type: ignore[attr-defined]
    assert (found["files"], found["bytes"], found["freed"], found["limit"]) == (0, 0, 0, 2_500_000_000)
    assert "2.5 GB" in footplate("data", "cache").stdout
    (home / "settings.ini").write_text("[data]\ncache = plenty\n")
    assert "cache = 200 GB" in footplate("data", "cache", code=1).stderr
    (home / "settings.ini").unlink()
    assert footplate.json("data", "cache", "--clear")["files"] == 0  # type: ignore[attr-defined]
