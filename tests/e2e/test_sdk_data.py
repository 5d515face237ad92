"""Data through the SDK: stores, datasets, runs that read and write them, lineage."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import threading
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.runconfig import Data, DataLocation, RunConfiguration
from azureml.core.runconfig import Dataset as RunDataset
from azureml.core.script_run_config import get_run_config_from_script_run
from azureml.data import OutputFileDatasetConfig
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath
from azureml.data.dataset_consumption_config import DatasetConsumptionConfig
from azureml.data.dataset_error_handling import DatasetValidationError
from azureml.exceptions import UserErrorException
from azureml.train.estimator import Estimator
from footplate.domain.codec import to_json

pytestmark = pytest.mark.shared_home

TELL = """
import json, os, sys
from azureml.core import Run
run = Run.get_context()
told = {
    "arguments": sys.argv[1:],
    "inputs": {name: value if isinstance(value, str) else repr(value) for name, value in run.input_datasets.items()},
    "outputs": run.output_datasets,
    "variables": dict(os.environ),
    "seen": {},
}
for a in sys.argv[1:]:
    told["seen"][a] = sorted(os.path.relpath(os.path.join(r, f), a) for r, _, fs in os.walk(a) for f in fs)
json.dump(told, open("outputs/told.json", "w"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "mnist"
    for name in ("train/a.txt", "train/b.txt", "test/c.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def run_script(workspace: Workspace, text: str, arguments: list[Any], here: Environment, **more: Any) -> Run:
    Path("src").mkdir(exist_ok=True)
    Path("src/script.py").write_text(text)
    config = ScriptRunConfig("src", "script.py", arguments, environment=here, **more)
    run = Experiment(workspace, "data").submit(config)
    run.wait_for_completion()
    return run


def told_by(run: Run) -> dict[str, Any]:
    run.download_file("outputs/told.json", "told.json")
    return json.loads(Path("told.json").read_text())


# ── Datastores ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_goes_to_the_default_datastore_and_back(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    assert (store.name, store.datastore_type) == ("workspaceblobstore", "AzureBlob")
    reference = store.upload(str(folder), "mnist", show_progress=True)
    assert isinstance(reference, DataReference) and reference.path_on_datastore == "mnist"
    (folder / "train/a.txt").write_text("another")
    store.upload(str(folder), "mnist")
    assert store.download(str(tmp_path / "back"), "mnist") == 3
    assert (tmp_path / "back/mnist/train/a.txt").read_text() == "train/a.txt"  # silently kept
    store.upload_files([str(folder / "train/a.txt")], target_path="mnist/train", overwrite=True)
    assert store.download(str(tmp_path / "again"), "mnist/train/a.txt") == 1
    assert (tmp_path / "again/mnist/train/a.txt").read_text() == "another"


def test_links_in_a_folder_are_data_and_links_out_of_it_are_not_uploaded(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    (linked / "real").mkdir(parents=True)
    (linked / "real" / "a.txt").write_text("a")
    (linked / "again").symlink_to("real")
    (linked / "up").symlink_to(linked)
    (linked / "self").symlink_to("self")
    store = workspace.get_default_datastore()
    with pytest.warns(UserWarning, match=r"left out of the upload.*self"):
        store.upload(str(linked), "up", show_progress=False)
    with pytest.warns(UserWarning, match=r"left out of the upload.*self"):
        uploaded = Dataset.File.upload_directory(str(linked), (store, "directory"), show_progress=False)
    in_place = Dataset.File.from_files((Datastore.register_folder(workspace, "linked", str(linked)), ""))
    for dataset in (Dataset.File.from_files((store, "up")), uploaded, in_place):
        assert dataset.to_path() == ["/again/a.txt", "/real/a.txt"]
    (linked / "train").symlink_to(folder / "train")
    with pytest.raises(UserErrorException, match="the link 'train' leads out of the folder"):
        store.upload(str(linked), "out", show_progress=False)
    with pytest.raises(UserErrorException, match="the link 'train' leads out of the folder"):
        Dataset.File.upload_directory(str(linked), (store, "out"), show_progress=False)


def test_download_returns_the_number_of_files(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    store.upload(str(folder), "mnist")
    assert store.download(str(tmp_path / "to"), "mnist/test") == 1
    assert store.download(str(tmp_path / "to"), "mnist") == 2, "existing files do not count"
    assert store.download(str(tmp_path / "to"), "mnist", overwrite=True) == 3
    assert store.download(str(tmp_path / "begin"), "mnist/t") == 3, "as on Azure, a prefix may end inside a name"
    assert store.download(str(tmp_path / "begin"), "mnist/train/b") == 0
    assert store.download(str(tmp_path / "none"), "nothing/is/here") == 0
    assert Datastore.get(workspace, "workspacefilestore").download(str(tmp_path / "none")) == 0
    with pytest.raises(UserErrorException, match="leaves its folder"):
        store.download(str(tmp_path / "none"), "../mnist")


def test_a_web_site_is_readable_by_path_and_not_writable(workspace: Workspace, folder: Path) -> None:
    site = Datastore.register_web(workspace, "site", "http://127.0.0.1:9/data")
    with pytest.raises(UserErrorException, match="cannot list its files"):
        site.download("to")
    with pytest.raises(UserErrorException, match="is read-only"):
        site.upload(str(folder))
    with pytest.raises(UserErrorException, match="given with a user, a password or a query") as caught:
        Datastore.register_web(workspace, "other", "https://me:hush-hush@host/data")
    assert "hush" not in str(caught.value) and "other" not in workspace.datastores


def test_a_data_lake_of_another_cloud_uses_its_blob_endpoint(workspace: Workspace) -> None:
    for name, endpoint in (("suffix", "core.chinacloudapi.cn"), ("whole", "https://lake.dfs.core.chinacloudapi.cn")):
        made = Datastore.register_azure_data_lake_gen2(
            workspace, name, "files", "lake", "tenant", "client", "secret", endpoint=endpoint
        )
        assert made.endpoint == "https://lake.blob.core.chinacloudapi.cn"


def test_files_are_named_below_their_common_or_given_folder(workspace: Workspace, folder: Path) -> None:
    store = workspace.get_default_datastore()
    files = [str(folder / "train/a.txt"), str(folder / "test/c.txt")]
    store.upload_files(files, target_path="x")
    store.upload_files(files, relative_root=str(folder.parent), target_path="y")
    assert Dataset.File.from_files((store, "x")).to_path() == ["/test/c.txt", "/train/a.txt"]
    assert Dataset.File.from_files((store, "y")).to_path() == ["/mnist/test/c.txt", "/mnist/train/a.txt"]
    with pytest.raises(UserErrorException, match="is not below relative_root"):
        store.upload_files(files, relative_root=str(folder / "train"))


def test_stores_are_registered_found_and_made_the_default(workspace: Workspace, folder: Path) -> None:
    made = Datastore.register_folder(workspace, "Raw", str(folder))
    assert made.name == "raw" and Datastore.get(workspace, "RAW").name == "raw"
    assert sorted(workspace.datastores) == ["raw", "workspaceblobstore", "workspacefilestore"]
    workspace.set_default_datastore("raw")
    assert Datastore(workspace).name == "raw" == workspace.get_default_datastore().name
    made.unregister()
    assert workspace.get_default_datastore().name == "workspaceblobstore"
    with pytest.raises(UserErrorException, match="'raw'"):
        Datastore.get(workspace, "raw")
    with pytest.raises(UserErrorException, match="does not exist"):
        Datastore.register_folder(workspace, "raw", str(folder / "nowhere"))


def test_credentials_are_stored_and_never_shown(workspace: Workspace, home: Path) -> None:
    store = Datastore.register_azure_blob_container(
        workspace, "blobs", "data", "account", account_key="c2VjcmV0LWtleQ==", skip_validation=True
    )
    assert (store.account_name, store.container_name, store.account_key) == ("account", "data", "c2VjcmV0LWtleQ==")
    assert "c2VjcmV0" not in repr(store) + repr(vars(store))
    assert "c2VjcmV0" not in json.dumps(to_json(list(workspace.session.api.datastores.list(workspace.id))))
    for file in home.rglob("*"):
        assert not file.is_file() or b"c2VjcmV0" not in file.read_bytes(), file


# ── Datasets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_versions_pin_files_and_verify_reports_changes(workspace: Workspace, folder: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    first = Dataset.File.from_files((store, "train")).register(workspace, "mnist", "numbers", {"kind": "toy"})
    assert (first.name, first.version, first.description, first.tags) == ("mnist", 1, "numbers", {"kind": "toy"})
    assert first.verify() and "has not changed since it was registered" in str(first.verify())
    (folder / "train/a.txt").write_text("changed")
    (folder / "train/b.txt").unlink()
    (folder / "train/d.txt").write_text("new")
    changes = first.verify()
    assert (changes.added, changes.removed, changes.changed) == (["d.txt"], ["b.txt"], ["a.txt"])
    assert not changes and "removed" in str(changes)
    assert first.to_path() == ["/a.txt", "/b.txt"]
    again = Dataset.File.from_files((store, "train"))
    with pytest.raises(UserErrorException, match="'mnist' already, at version 1"):
        again.register(workspace, "mnist")
    second = again.register(workspace, "mnist", create_new_version=True)
    assert second.version == 2 and second.to_path() == ["/a.txt", "/d.txt"]
    assert Dataset.get_by_name(workspace, "mnist").version == 2
    assert Dataset.get_by_name(workspace, "mnist", version=1).to_path() == ["/a.txt", "/b.txt"]
    assert Dataset.get_by_id(workspace, first.id).version == 1
    assert again.register(workspace, "mnist", create_new_version=True).version == 2  # the same again
    shutil.rmtree(folder / "train")
    assert second.verify().removed == ["a.txt", "d.txt"], "the loss of all files is a change too"


def test_a_dataset_of_another_workspace_is_not_found_here(
    workspace: Workspace, folder: Path, here: Environment
) -> None:
    other = Workspace.create("other", subscription_id="s", resource_group="r")
    for each, path in ((workspace, "train"), (other, "test")):
        Datastore.register_folder(each, "raw", str(folder / path))
    dataset = Dataset.File.from_files((Datastore.get(workspace, "raw"), "")).register(workspace, "mnist")
    for use in (
        lambda: dataset.register(other, "mnist"),
        lambda: run_script(other, TELL, [dataset.as_named_input("data").as_mount()], here),
    ):
        with pytest.raises(UserErrorException, match=f"'raw' of workspace '{workspace.name}', not of 'other'"):
            use()
    with pytest.raises(UserErrorException, match="in this workspace"):
        Dataset.get_by_id(other, dataset.id)
    with pytest.raises(UserErrorException, match="'a/b' is not a dataset name"):
        Dataset.get_by_name(workspace, "a/b")


def test_the_old_way_to_get_a_dataset(workspace: Workspace, folder: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    made = Dataset.File.from_files((store, "train")).register(workspace, "mnist")
    assert Dataset.get(workspace, "mnist").id == Dataset.get(workspace, id=made.id).id == made.id
    with pytest.raises(UserErrorException, match="name or id"):
        Dataset.get(workspace)


def test_tags_listing_and_unregistering(workspace: Workspace, folder: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    dataset = Dataset.File.from_files((store, "train")).register(workspace, "mnist")
    dataset.add_tags({"a": "1", "b": 2})
    dataset.remove_tags(["a"])
    assert Dataset.get_by_name(workspace, "mnist").tags == {"b": "2"}
    assert list(workspace.datasets) == ["mnist"] == list(Dataset.get_all(workspace))
    assert workspace.datasets["mnist"].id == dataset.id
    dataset.unregister_all_versions()
    assert dict(workspace.datasets) == {}
    with pytest.raises(UserErrorException, match="no dataset 'mnist'"):
        Dataset.get_by_name(workspace, "mnist")


def test_paths_globs_lists_and_steps(workspace: Workspace, folder: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    everything = Dataset.File.from_files(store.path())
    assert everything.to_path() == ["/test/c.txt", "/train/a.txt", "/train/b.txt"]
    assert Dataset.File.from_files((store, "train/*.txt")).to_path() == ["/a.txt", "/b.txt"]
    assert Dataset.File.from_files([(store, "train/a.txt"), (store, "test")]).to_path() == [
        "/test/c.txt",
        "/train/a.txt",
    ]
    assert Dataset.File.from_files(DataPath(store, "test/c.txt")).to_path() == ["/c.txt"]
    assert everything.skip(1).take(1).to_path() == ["/train/a.txt"]
    assert everything.filter(everything.file_metadata["Size"] > 10).to_path() == ["/train/a.txt", "/train/b.txt"]
    left, right = everything.random_split(0.5, seed=7)
    assert sorted(left.to_path() + right.to_path()) == everything.to_path()
    assert everything.take_sample(1.0).to_path() == everything.to_path()
    by_day = Dataset.File.from_files((store, "**"), partition_format="{part}/{name}.txt")
    is_test: Any = by_day["part"] == "test"  # pyright takes == for a bool
    assert by_day.filter(is_test).to_path() == ["/test/c.txt"]


@pytest.mark.parametrize("path", ["./here", "ftp://x/y", 3, ("raw", "x"), [], "https://user:secret@host/x"])
def test_an_invalid_path_is_refused_with_a_hint(workspace: Workspace, path: Any) -> None:
    with pytest.raises(UserErrorException) as refused:
        Dataset.File.from_files(path)
    assert refused.value.hint and "secret" not in str(refused.value)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a\0b"])
def test_paths_that_leave_the_store_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(UserErrorException):
        Dataset.File.from_files((workspace.get_default_datastore(), path))


def test_missing_files_fail_when_the_dataset_is_created(workspace: Workspace, folder: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    with pytest.raises(DatasetValidationError, match="no files found at 'nowhere'"):
        Dataset.File.from_files((store, "nowhere"))
    assert Dataset.File.from_files((store, "nowhere"), validate=False).id is None


def test_download_and_mount(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    dataset = Dataset.File.upload_directory(str(folder), (workspace.get_default_datastore(), "up"), "**/*.txt")
    paths = dataset.download(str(tmp_path / "to"))
    assert [Path(path).read_text() for path in paths] == ["test/c.txt", "train/a.txt", "train/b.txt"]
    with pytest.raises(UserErrorException, match="exists"):
        dataset.download(str(tmp_path / "to"))
    assert len(dataset.download(str(tmp_path / "to"), overwrite=True)) == 3
    with dataset.mount() as mounted:
        point = mounted.mount_point
        assert sorted(os.listdir(point)) == ["test", "train"]
    assert not os.path.exists(point)
    (tmp_path / "point").mkdir()
    context = dataset.mount(str(tmp_path / "point"))
    context.start()
    assert (tmp_path / "point/train/a.txt").read_text() == "train/a.txt"
    context.stop()
    assert os.listdir(tmp_path / "point") == []
    one = Dataset.File.from_files((workspace.get_default_datastore(), "up/test/c.txt"))
    with one.mount(str(tmp_path / "point")) as mounted:
        assert [os.path.join(mounted.mount_point, *path.split("/")) for path in one.to_path()] == [
            str(tmp_path / "point/c.txt")
        ]
        assert (tmp_path / "point/c.txt").read_text() == "test/c.txt"
    (tmp_path / "point/full").touch()
    with pytest.raises(UserErrorException, match="not empty"):
        dataset.mount(str(tmp_path / "point"))


# ── In runs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_script_sees_its_inputs(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    whole = Dataset.File.from_files((store, "train")).register(workspace, "mnist")
    one = Dataset.File.from_files((store, "test/c.txt"))
    glob = Dataset.File.from_files((store, "train/*.txt"))
    arguments = [
        whole.as_named_input("whole").as_mount(),
        one.as_named_input("one").as_mount(),
        glob.as_named_input("glob").as_download("copied"),
        whole.as_named_input("plain"),
        store.path("train").as_mount(),
        DatasetConsumptionConfig("pair", (workspace, "mnist", 1), "download"),
    ]
    run = run_script(workspace, TELL, arguments, here)
    told = told_by(run)
    mounted, file, copied, plain, referred, pair = told["arguments"]
    assert told["seen"][mounted] == ["a.txt", "b.txt"] == told["seen"][copied] == told["seen"][referred]
    assert told["seen"][pair] == ["a.txt", "b.txt"]
    assert os.path.basename(file) == "c.txt" and plain == whole.id
    assert copied.endswith("/wd/copied")
    assert told["inputs"] == {
        "whole": mounted, "one": file, "glob": copied, "pair": pair, "plain": repr(whole),
    }  # fmt: skip
    variables = told["variables"]
    for name in ("whole", "WHOLE", "AZUREML_DATAREFERENCE_whole", "AZURE_ML_INPUT_whole"):
        assert variables[name] == mounted
    assert "whole:MOUNT" in variables["AZUREML_DATASET_ENVIRONMENT_VARS"].split(",")
    details = run.get_details()
    assert details["runDefinition"]["arguments"][0] == "DatasetConsumptionConfig:whole"
    assert details["inputDatasets"][0]["dataset"] == {"id": whole.id}
    assert not os.path.lexists(mounted) and not os.path.lexists(referred), "links are removed"
    assert sorted(os.listdir(folder / "train")) == ["a.txt", "b.txt"], "but not their targets"


def test_an_input_named_path_does_not_break_the_job(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    dataset = Dataset.File.from_files((store, "train"))
    told = told_by(run_script(workspace, TELL, [dataset.as_named_input("path").as_mount()], here))
    assert told["variables"]["path"] == told["arguments"][0] != told["variables"]["PATH"]


def test_outputs_become_datasets_and_inputs_of_the_next_run(workspace: Workspace, here: Environment) -> None:
    write = """
import os, sys
for number, folder in enumerate(sys.argv[1:]):
    open(os.path.join(folder, "made.txt"), "w").write(str(number))
    open(os.path.join(folder, "made.log"), "w").write("log")
"""
    store = workspace.get_default_datastore()
    made = OutputFileDatasetConfig("made").register_on_complete("results", "the results", {"by": "test"})
    sent = OutputFileDatasetConfig("sent", (store, "sent/{output-name}/{run-id}")).as_upload(source_globs="*.txt")
    run = run_script(workspace, write, [made, sent], here)
    dataset = Dataset.get_by_name(workspace, "results")
    assert (dataset.to_path(), dataset.description, dataset.tags) == (
        ["/made.log", "/made.txt"], "the results", {"by": "test"},
    )  # fmt: skip
    assert Dataset.File.from_files((store, f"sent/sent/{run.id}")).to_path() == ["/made.txt"]
    assert run.get_details()["outputDatasets"][0]["identifier"]["registeredId"] == "results:1"
    told = told_by(run_script(workspace, TELL, [made.as_input("before")], here))
    assert told["seen"][told["arguments"][0]] == ["made.log", "made.txt"]


def test_an_output_of_a_failed_run_stays_but_is_not_a_dataset(workspace: Workspace, here: Environment) -> None:
    fail = "import os, sys; [open(os.path.join(f, 'x'), 'w').close() for f in sys.argv[1:]]; sys.exit(3)"
    store = workspace.get_default_datastore()
    kept = OutputFileDatasetConfig("kept", (store, "kept")).register_on_complete("kept")
    lost = OutputFileDatasetConfig("lost", (store, "lost")).as_upload()
    with pytest.raises(Exception, match="3"):
        run_script(workspace, fail, [kept, lost], here)
    assert Dataset.File.from_files((store, "kept")).to_path() == ["/x"]
    with pytest.raises(DatasetValidationError):
        Dataset.File.from_files((store, "lost"))
    with pytest.raises(UserErrorException):
        Dataset.get_by_name(workspace, "kept")


def test_a_failure_names_the_input(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    dataset = Dataset.File.from_files((store, "train"))
    for file in (folder / "train").iterdir():
        file.unlink()
    (folder / "train").rmdir()
    with pytest.raises(Exception, match="input 'pictures' could not be mounted"):
        run_script(workspace, TELL, [dataset.as_named_input("pictures").as_mount()], here)


@pytest.mark.parametrize("mode", ["mount", "download"])
def test_a_version_with_a_missing_file_names_it_with_a_hint(
    workspace: Workspace, folder: Path, here: Environment, mode: str
) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    one = Dataset.File.from_files((store, "test/c.txt")).register(workspace, "my letters")
    (folder / "test/c.txt").unlink()
    with pytest.raises(Exception, match=r"test/c\.txt") as failed:
        run_script(workspace, TELL, [DatasetConsumptionConfig("one", one, mode)], here)
    assert "footplate data verify 'my letters:1'" in str(failed.value)


def test_an_existing_symlink_stays(workspace: Workspace, folder: Path, here: Environment, tmp_path: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    (tmp_path / "disk").mkdir()
    place = tmp_path / "link"
    place.symlink_to(tmp_path / "disk")
    dataset = Dataset.File.from_files((store, "train"))
    run_script(workspace, TELL, [dataset.as_named_input("data").as_download(str(place))], here)
    assert place.is_symlink() and sorted(os.listdir(tmp_path / "disk")) == ["a.txt", "b.txt"]
    with pytest.raises(Exception, match="not an empty folder"):
        run_script(workspace, TELL, [dataset.as_named_input("data").as_mount(str(place))], here)
    assert place.is_symlink()


def test_nested_inputs_and_names_that_differ_in_case(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    upper, lower = (Dataset.File.from_files((store, path)) for path in ("train", "test"))
    told = told_by(
        run_script(
            workspace, TELL, [upper.as_named_input("D").as_mount(), lower.as_named_input("d").as_mount(), "$D"], here
        )
    )
    assert told["arguments"][2] == told["arguments"][0] == told["variables"]["D"] != told["variables"]["d"]
    inside = [upper.as_named_input("a").as_mount("in"), lower.as_named_input("b").as_mount("in/side")]
    with pytest.raises(Exception, match="is inside input 'a'"):
        run_script(workspace, TELL, inside, here)
    assert sorted(os.listdir(folder / "train")) == ["a.txt", "b.txt"]


def test_a_bare_dataset_is_refused_with_a_hint(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    with pytest.raises(UserErrorException, match="without a way to deliver it"):
        run_script(workspace, TELL, [Dataset.File.from_files((store, "train"))], here)


def test_lineage_is_visible_from_both_ends(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    dataset = Dataset.File.from_files((store, "train")).register(workspace, "mnist")
    tests = Dataset.File.from_files((store, "test")).register(workspace, "tests")
    run = run_script(workspace, TELL, [dataset.as_named_input("data").as_mount()], here)
    model = run.register_model("net", "outputs/told.json", datasets=[("test", tests)])
    assert {purpose: [d.name for d in found] for purpose, found in model.datasets.items()} == {
        "data": ["mnist"],
        "test": ["tests"],
    }
    assert [found.id for found in Model.list(workspace, dataset_id=dataset.id)] == ["net:1"]
    lineage = workspace.session.api.datasets.lineage(workspace.id, dataset.id)
    assert [(use.run, use.role) for use in lineage.runs] == [(run.id, "read")]
    assert [(use.model, use.purpose) for use in lineage.models] == [("net", "data")]
    half = dataset.random_split(0.5, seed=1)[0].take(1)
    another = run_script(workspace, TELL, [half.as_named_input("half").as_mount()], here)
    lineage = workspace.session.api.datasets.lineage(workspace.id, dataset.id)
    assert [(use.run, use.name) for use in lineage.runs] == [(another.id, "half"), (run.id, "data")]


# ── Inside a job, with nothing installed ──────────────────────────────────────────────────────────────────────────────


def test_a_job_with_nothing_installed_can_use_datasets(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    Dataset.File.from_files((store, "train")).register(workspace, "mnist")
    script = """
import os
from azureml.core import Dataset, Run
run = Run.get_context()
workspace = run.experiment.workspace
dataset = Dataset.get_by_name(workspace, "mnist")
assert dataset.to_path() == ["/a.txt", "/b.txt"]
assert [open(path).read() for path in dataset.download("copy")] == ["train/a.txt", "train/b.txt"]
with dataset.mount() as mounted:
    assert sorted(os.listdir(mounted.mount_point)) == ["a.txt", "b.txt"]
store = workspace.get_default_datastore()
store.upload("copy", "from-job")
Dataset.File.from_files((store, "from-job")).register(workspace, "by-job")
"""
    bare = Environment("bare")
    bare.python.user_managed_dependencies = True
    bare.python.interpreter_path = str(_bare_python(tmp_path))
    run = run_script(workspace, script, [], bare)
    assert Dataset.get_by_name(workspace, "by-job").to_path() == ["/a.txt", "/b.txt"]
    uses = list(workspace.session.api.datasets.of_run(run.id))
    assert [(use.role, use.dataset_name) for use in uses] == [("read", "mnist")]


def _bare_python(folder: Path) -> Path:
    """Create an interpreter with nothing installed."""
    venv.create(folder / "bare", with_pip=False)
    return folder / "bare" / "bin" / "python"


# ── The web ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def web(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_several_web_files_keep_host_and_path(
    workspace: Workspace, web: str, here: Environment, tmp_path: Path
) -> None:
    paths = [f"{web}/train/a.txt", f"{web}/train/b.txt"]
    dataset = Dataset.File.from_files(path=paths)
    dataset = dataset.register(workspace, "mnist-dataset", "training and test dataset", create_new_version=True)
    host = web.partition("//")[2].replace(":", "_")
    assert dataset.to_path() == [f"/{host}/train/a.txt", f"/{host}/train/b.txt"]
    told = told_by(run_script(workspace, TELL, ["--data-folder", dataset.as_mount()], here))
    assert told["seen"][told["arguments"][1]] == [f"{host}/train/a.txt", f"{host}/train/b.txt"]
    single = Dataset.File.from_files(paths[0])
    told = told_by(run_script(workspace, TELL, [single.as_named_input("one").as_download()], here))
    assert told["arguments"][0].endswith("/a.txt") and host not in told["arguments"][0]
    assert single.to_path() == ["/a.txt"]
    assert single.download(str(tmp_path / "one")) == [str(tmp_path / "one/a.txt")]


# ── The other ways to hand data over ──────────────────────────────────────────────────────────────────────────────────


def test_an_estimator_gets_a_whole_datastore_and_a_dataset(
    workspace: Workspace, folder: Path, here: Environment
) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    store.set_as_default()
    dataset = Dataset.File.from_files((store, "train"))
    Path("src").mkdir()
    Path("src/script.py").write_text(TELL)
    with pytest.warns(DeprecationWarning):
        estimator = Estimator(
            "src",
            entry_script="script.py",
            compute_target="local",
            script_params={"--data-folder": workspace.get_default_datastore().as_mount(), "--epochs": 3},
            inputs=[dataset.as_named_input("train").as_mount()],
            environment_definition=here,
        )
    run = Experiment(workspace, "data").submit(estimator)
    run.wait_for_completion()
    told = told_by(run)
    assert told["seen"][told["arguments"][1]] == ["test/c.txt", "train/a.txt", "train/b.txt"]
    assert told["variables"]["AZUREML_DATAREFERENCE_raw"] == told["arguments"][1]
    assert sorted(os.path.basename(path) for path in told["inputs"].values()) == ["train"]


def test_references_in_a_run_configuration_and_an_upload(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = workspace.get_default_datastore()
    store.upload(str(folder), "in put")
    given, back = store.path("in put", "given").as_download("down"), store.path("back", "back").as_upload("made")
    Path("src").mkdir()
    command = ["cp", "-r", given, "made/copy", "&&", "ls", str(given), ">", "outputs/seen.txt"]
    config = ScriptRunConfig("src", command=command, environment=here)
    config.run_config.data_references = {"given": given.to_config(), "back": back}
    run = Experiment(workspace, "data").submit(config)
    run.wait_for_completion()
    run.download_file("outputs/seen.txt")
    assert Path("seen.txt").read_text().split() == ["test", "train"]
    assert len(Dataset.File.from_files((store, "back/copy")).to_path()) == 3


def test_a_run_resumes_from_the_outputs_of_another(workspace: Workspace, here: Environment) -> None:
    script = "import os; os.makedirs('outputs/deep'); open('outputs/deep/weights', 'w').write('w')"
    first = run_script(workspace, script, [], here)
    outputs = first._get_outputs_datapath()
    assert isinstance(outputs, DataPath) and first.id in (outputs.path_on_datastore or "")
    told = told_by(run_script(workspace, TELL, ["--x"], here, resume_from=outputs))
    assert told["seen"][told["arguments"][2]] == ["deep/weights"]
    with pytest.raises(UserErrorException, match="has no outputs"):
        run_script(workspace, "pass", [], here)._get_outputs_datapath()


def test_resume_from_passes_a_path_to_the_script(workspace: Workspace, folder: Path, here: Environment) -> None:
    store = Datastore.register_folder(workspace, "raw", str(folder))
    told = told_by(run_script(workspace, TELL, ["--x"], here, resume_from=DataPath(store, "train")))
    assert told["arguments"][:2] == ["--x", "--resume-from"]
    assert told["seen"][told["arguments"][2]] == ["a.txt", "b.txt"]


def test_inputs_survive_a_file_of_a_run_configuration(workspace: Workspace, here: Environment, folder: Path) -> None:
    store = workspace.get_default_datastore()
    store.upload(str(folder), "mnist", show_progress=False)
    mnist = Dataset.File.from_files((store, "mnist/train")).register(workspace, "mnist")
    Path("src").mkdir()
    Path("src/script.py").write_text(TELL)
    written = ScriptRunConfig("src", "script.py", [mnist.as_named_input("a").as_mount()], environment=here)
    written.run_config.data["b"] = Data(DataLocation(RunDataset(dataset_name="mnist")), mechanism="download")
    written.arguments.append("DatasetConsumptionConfig:b")
    get_run_config_from_script_run(written).save("src", "train")
    run = Experiment(workspace, "data").submit(ScriptRunConfig("src", run_config=RunConfiguration.load("src", "train")))
    run.wait_for_completion(wait_post_processing=True)
    run.download_file("outputs/told.json", "told.json")
    told = json.loads(Path("told.json").read_text())
    assert list(told["seen"].values()) == [["a.txt", "b.txt"]] * 2
    assert told["arguments"] == [told["inputs"]["a"], told["inputs"]["b"]]
    assert run.get_details()["runDefinition"]["arguments"] == [f"DatasetConsumptionConfig:{name}" for name in "ab"]
