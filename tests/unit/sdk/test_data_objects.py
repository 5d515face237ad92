"""The small objects that pass data to a run, without a server."""

from __future__ import annotations

import copy
import logging
from datetime import datetime, timezone
from typing import Any

import pytest

from footplate.domain.datasets import DatasetView, DatastoreView
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.datastore_kinds import FolderDatastore
from footplate.sdk.data.expressions import Fields
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.references import DataPath, DataPathComputeBinding, DataReference
from footplate.sdk.display.status_line import Bar, bar
from footplate.sdk.exceptions import UserErrorException

WORKSPACE: Any = None


@pytest.fixture
def store() -> FolderDatastore:
    return FolderDatastore(WORKSPACE, DatastoreView("w", "my-store", "folder", {"path": "/data"}))


@pytest.mark.parametrize("name", ["protocol", "endpoint", "account_key", "sas_token"])
def test_a_folder_explains_that_it_has_no_account(store: FolderDatastore, name: str) -> None:
    assert not hasattr(store, name)
    with pytest.raises(AttributeError, match=rf"FolderDatastore has no attribute '{name}'.*\n?hint: .*as_mount\(\)"):
        getattr(store, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'protokoll'$"):
        getattr(store, "protokoll")  # noqa: B009  # a type checker knows it, too


def test_a_reference_is_the_variable_with_its_path(store: FolderDatastore) -> None:
    assert str(store.as_mount()) == "$AZUREML_DATAREFERENCE_my_store"
    below = store.path("mnist").path("train")
    assert below.path_on_datastore == "mnist/train" and str(below) != str(store.path("mnist/train"))
    named = store.path("mnist", data_reference_name="digits").as_download("here", overwrite=True)
    assert (str(named), named.mode, named.path_on_compute, named.overwrite) == (
        "$AZUREML_DATAREFERENCE_digits", "download", "here", True,
    )  # fmt: skip
    config = named.to_config()
    assert (config.data_store_name, config.path_on_data_store, config.mode) == ("my-store", "mnist", "download")
    assert copy.deepcopy(named).datastore is store
    with pytest.raises(UserErrorException, match="'a-b'"):
        store.path("x", data_reference_name="a-b")
    with pytest.raises(UserErrorException, match="'teleport'"):
        DataReference(store, mode="teleport")


def test_a_data_path_becomes_a_reference(store: FolderDatastore) -> None:
    made = DataPath(store, "x", "name").create_data_reference(None, DataPathComputeBinding("download", "here"))
    assert (made.data_reference_name, made.mode, made.path_on_compute) == ("name", "download", "here")
    assert DataPath.create_from_data_reference(made).path_on_datastore == "x"
    binding = DataPathComputeBinding.create_from_data_reference(made)
    again = binding.create_data_reference("again", datapath=DataPath(store, "y"))
    assert (again.path_on_datastore, again.mode, again.path_on_compute) == ("y", "download", "here")
    created = DataReference.create("n", datapath=DataPath(store, "x"), datapath_compute_binding=binding)
    assert (created.data_reference_name, created.path_on_datastore, created.mode) == ("n", "x", "download")
    incomplete: list[dict[str, Any]] = [{}, {"datapath": DataPath(store, "x")}, {"datapath_compute_binding": binding}]
    for missing in incomplete:
        with pytest.raises(ValueError, match="datapath"):
            DataReference.create("n", **missing)
    with pytest.raises(ValueError, match="datapath"):
        binding.create_data_reference("n")


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", None])
def test_an_input_name_must_be_a_valid_variable_name(name: Any) -> None:
    with pytest.raises(UserErrorException, match="is not a valid input name"):
        DatasetConsumptionConfig(name, None)


def test_a_risky_input_name_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        DatasetConsumptionConfig("path", None)
    assert "another name is safer" in caplog.text


def test_modes_of_an_input() -> None:
    dataset = FileDataset({"sources": [{"url": "https://example.org/a"}]})
    plain = dataset.as_named_input("data")
    assert (plain.mode, plain.as_mount("/x").path_on_compute, plain.as_download().mode) == ("direct", "/x", "download")
    assert plain.mode == "direct", "every method returns a copy"
    assert dataset.as_mount().name == dataset.as_download().name == f"input__{dataset.fingerprint()[:8]}"
    known = FileDataset(dataset._definition, None, DatasetView("1234abcd-x", "w", "file", 0.0))
    assert known.as_mount().name == "input__1234abcd"
    with pytest.raises(UserErrorException, match="mode is 'hdfs'"):
        DatasetConsumptionConfig("x", dataset, "hdfs")


def test_outputs_are_copied_by_every_method(store: FolderDatastore) -> None:
    plain = OutputFileDatasetConfig("made", (store, "to/{run-id}"), source="here")
    sent = plain.as_upload(overwrite=True, source_globs="*.txt").register_on_complete("kept", "words", {"n": 1})
    assert plain.to_output("default").mode == "mount" and plain.to_output("default").register is None
    made = sent.to_output("default")
    assert (made.datastore, made.path, made.mode, made.globs, made.overwrite) == (
        "my-store", "to/{run-id}", "upload", ("*.txt",), True,
    )  # fmt: skip
    assert made.path_on_compute == "here" and made.register is not None and made.register.tags == {"n": "1"}
    assert OutputFileDatasetConfig().to_output("default").datastore == "default"
    with pytest.raises(UserErrorException, match="not been written by any run"):
        plain.written("default")
    sent.submitted_with("run-1")
    assert plain.written("default") == {"sources": [{"datastore": "my-store", "path": "to/run-1"}]}
    for bad in ("", "a/b", "-a"):
        with pytest.raises(UserErrorException, match="is not a dataset name"):
            plain.register_on_complete(bad)
    for bad in ("path", (1, 2), ("store", "path")):
        with pytest.raises(UserErrorException, match="destination"):
            OutputFileDatasetConfig(destination=bad)


def test_expressions_are_plain_data() -> None:
    fields = Fields(("Size", "LastModifiedTime"))
    made = (fields["Size"] > 10) & ~(fields["LastModifiedTime"] < datetime(2024, 1, 1, tzinfo=timezone.utc))
    assert made.data == {
        "op": "and",
        "args": [
            {"op": ">", "args": [{"field": "Size"}, {"value": 10}]},
            {
                "op": "not",
                "args": [{"op": "<", "args": [{"field": "LastModifiedTime"}, {"time": "2024-01-01T00:00:00"}]}],
            },
        ],
    }
    with pytest.raises(UserErrorException, match="did you mean 'Size'"):
        fields["Sise"]
    with pytest.raises(UserErrorException, match="no truth value"):
        bool(fields["Size"] == 1)
    with pytest.raises(UserErrorException, match="cannot be compared"):
        _ = fields["Size"] > object()


@pytest.mark.parametrize("bad", [-1, 1.5, "3", True])
def test_counts_and_shares_are_checked(bad: Any) -> None:
    dataset = FileDataset({"sources": [{"url": "https://example.org/a"}]})
    for act in (dataset.take, dataset.skip, dataset.random_split, dataset.take_sample):
        with pytest.raises(UserErrorException):
            act(bad)


def test_a_progress_bar_is_drawn_only_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("Uploading") as report:
        assert report is None
    drawn = Bar("Uploading")
    drawn.report([1, 2, 500, 1000])
    drawn.report([2, 2, 1000, 1000])
    lines = capsys.readouterr().err.split("\r")
    assert "50%" in lines[1] and "1/2 files" in lines[1] and not lines[1].endswith("\n")
    assert "100%" in lines[2] and lines[2].endswith("\n")
    drawn.report([2, 2, 1000, 1000])
    drawn.leave()
    assert capsys.readouterr().err == "", "the final state is drawn once"
    drawn.report([1, 2, 500, 1000])
    drawn.leave()
    assert capsys.readouterr().err.endswith("\n"), "output after a failed transfer starts on a new line"
