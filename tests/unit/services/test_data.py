from __future__ import annotations

from pathlib import Path

import pytest

from footplate.content.listing import write_listing
from footplate.domain.codec import to_json
from footplate.domain.data import Item
from footplate.domain.orders import DataInput, DataOutput
from footplate.domain.requests import NewDataset, NewDatastore
from footplate.errors import InvalidInput, NotAllowed, NotFound

from .conftest import House

BUCKET = NewDatastore("s3", {"bucket": "b"}, {"access_key_id": "me", "secret_access_key": "hush"})


def definition(store: str = "bucket") -> dict[str, object]:
    return {"sources": [{"datastore": store, "path": "a"}]}


@pytest.fixture
def bucket(house: House) -> House:
    house.services.datastores.put(house.workspace, "bucket", BUCKET)
    return house


def test_a_run_can_open_only_the_stores_that_it_names(bucket: House) -> None:
    data, w = bucket.services, bucket.workspace
    data.datastores.put(w, "other", BUCKET)
    kept = data.datasets.register(w, NewDataset("k", "file", definition()))
    bucket.submit("r1", inputs=(DataInput("data", kept.id),))
    assert data.datastores.access_for_run("r1", "bucket").credentials == BUCKET.credentials
    with pytest.raises(NotAllowed, match="'other'"):
        data.datastores.access_for_run("r1", "other")
    brought = data.datastores.data_of_run("r1")
    assert list(brought.datasets) == [kept.id] and list(brought.stores) == ["bucket"]
    assert brought.stores["bucket"].credentials == BUCKET.credentials and "hush" not in repr(brought)


def test_neither_the_run_nor_its_orders_hold_credentials(bucket: House) -> None:
    bucket.submit("r1", inputs=(DataInput("d", None, "bucket", "x"),), outputs=(DataOutput("o", "bucket"),))
    bucket.until_launched("r1")
    orders = bucket.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    assert orders.inputs[0].datastore == "bucket" and orders.outputs[0].name == "o"
    assert "hush" not in repr(to_json(orders)) + repr(to_json(bucket.services.runs.view("r1")))


@pytest.mark.parametrize(
    "inputs",
    [
        (DataInput("data", "ghost"),),
        (DataInput("data", None, "nowhere"),),
        (DataInput("data"),),
        (DataInput("1data", None, "bucket"),),
        (DataInput("data", None, "bucket", mode="teleport"),),
        (DataInput("data", None, "bucket"), DataInput("data", None, "bucket", "x")),
    ],
)
def test_a_run_with_impossible_data_is_refused(bucket: House, inputs: tuple[DataInput, ...]) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        bucket.submit("r1", inputs=inputs)
    with pytest.raises(NotFound):
        bucket.services.runs.view("r1")


@pytest.mark.parametrize(
    "new",
    [
        NewDataset("k", "picture", definition()),
        NewDataset("k", "file", definition("nowhere")),
        NewDataset("k", "file", {"sources": []}),
        NewDataset("k", "file", {"sources": [{"url": "https://x", "datastore": "bucket", "path": ""}]}),
        NewDataset("k", "file", definition(), name="no/slash"),
        NewDataset("k", "file", definition(), listing="0" * 64),
    ],
)
def test_an_impossible_dataset_is_refused(bucket: House, new: NewDataset) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        bucket.services.datasets.register(bucket.workspace, new)


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("Upper", BUCKET),
        ("a/b", BUCKET),
        ("x", NewDatastore("floppy")),
        ("x", NewDatastore("s3", {})),
        ("x", NewDatastore("s3", {"bucket": "b"}, {"pasword": "hush"})),
    ],
)
def test_an_impossible_store_is_refused_without_repeating_secrets(house: House, name: str, new: NewDatastore) -> None:
    with pytest.raises(InvalidInput) as refused:
        house.services.datastores.put(house.workspace, name, new)
    assert "hush" not in str(refused.value)


def test_pinned_files_are_read_page_by_page(bucket: House, tmp_path: Path) -> None:
    made = write_listing((Item(f"{n:03}.txt", n) for n in range(25)), str(tmp_path / "listing"))
    bucket.store.blobs.put_file(str(tmp_path / "listing"))
    new = NewDataset("k", "file", definition(), "numbers", made.digest)
    kept = bucket.services.datasets.register(bucket.workspace, new)
    assert (kept.files, kept.size, kept.version) == (25, 300, 1)
    seen, cursor = list[str](), ""
    while True:
        page, following = bucket.services.datasets.files(bucket.workspace, kept.id, cursor, 10)
        seen += [item.name for item in page]
        if following is None:
            break
        cursor = following
    assert seen == [f"{n:03}.txt" for n in range(25)]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a\0b"])
def test_paths_that_leave_the_store_are_refused_at_submission(bucket: House, path: str) -> None:
    for changes in (
        {"inputs": (DataInput("d", None, "bucket", path),)},
        {"outputs": (DataOutput("o", "bucket", path),)},
    ):
        with pytest.raises(InvalidInput):
            bucket.submit("r1", **changes)
