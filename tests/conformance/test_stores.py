from __future__ import annotations

import traceback
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from footplate.data.stores.base import SMALL, FileStore
from footplate.data.stores.registry import open_store
from footplate.data.transfer.batch import download
from footplate.domain.data import StoreSpec, place
from footplate.errors import Conflict, InvalidInput, NotAllowed, Unavailable
from footplate.testing.store_suite import StoreSuite
from support.azure_requests import put_blob
from support.servers import (
    AZURITE_ACCOUNT,
    AZURITE_KEY,
    Azurite,
    MotoS3,
    RcloneGcs,
    RcloneS3,
    TeamServer,
)
from support.web_server import WebServer


@dataclass
class WritableArena:
    store: FileStore
    lists: bool = True
    conditions: bool = True

    def fill(self, name: str, data: bytes) -> None:
        self.store.put(name, data)


@pytest.fixture(scope="session")
def rclone_without_keys(rclone_program: Path) -> Iterator[RcloneGcs]:
    server = RcloneGcs(rclone_program)
    yield server
    server.stop()


class TestFolder(StoreSuite):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> WritableArena:
        return WritableArena(open_store(StoreSpec("folder", {"path": str(tmp_path / "store")})))


class TestAzureBlob(StoreSuite):
    @pytest.fixture
    def arena(self, azurite: Azurite) -> WritableArena:
        return WritableArena(open_store(azurite.new_store()))


class TestS3(StoreSuite):
    """rclone answers a range with the status of a whole file, and ignores conditions."""

    @pytest.fixture
    def arena(self, rclone: RcloneS3) -> WritableArena:
        return WritableArena(open_store(rclone.new_store()), conditions=False)


class TestS3WithConditions(StoreSuite):
    """moto honours conditions and ranges."""

    @pytest.fixture
    def arena(self, moto: MotoS3) -> WritableArena:
        return WritableArena(open_store(moto.new_store()))


class TestGcs(StoreSuite):
    """Uses rclone's server, since Google's requests resemble S3's."""

    @pytest.fixture
    def arena(self, rclone_without_keys: RcloneGcs) -> WritableArena:
        return WritableArena(open_store(rclone_without_keys.new_store()), conditions=False)


def test_gen2_is_reached_at_its_blob_endpoint(azurite: Azurite, tmp_path: Path) -> None:
    """Azurite has no dfs endpoint, and our requests for both kinds are those of blobs."""
    blobs = azurite.new_store()
    store = open_store(StoreSpec("adls_gen2", blobs.location, blobs.credentials))
    (tmp_path / "large").write_bytes(b"x" * (SMALL + 1))
    store.put("deep/small", b"small")
    store.put("deep/large", tmp_path / "large")
    assert {entry.path: entry.size for page in store.list("deep") for entry in page} == {
        "deep/small": 5,
        "deep/large": SMALL + 1,
    }
    assert open_store(blobs).read("deep/small") == b"small"


@pytest.fixture(scope="session")
def team() -> Iterator[TeamServer]:
    server = TeamServer()
    yield server
    server.stop()


class TestServer(StoreSuite):
    """A built-in datastore over the server's own API."""

    @pytest.fixture
    def arena(self, team: TeamServer) -> WritableArena:
        return WritableArena(open_store(team.new_store()))


@dataclass
class WebArena:
    server: WebServer
    store: FileStore
    lists: bool = False
    conditions: bool = True

    def fill(self, name: str, data: bytes) -> None:
        self.server.serve(name, data)


class TestHttp(StoreSuite):
    @pytest.fixture
    def arena(self) -> Iterator[WebArena]:
        server = WebServer()
        yield WebArena(server, open_store(StoreSpec("http", {"url": server.address})))
        server.stop()


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "a//b", "C:/evil", "..\\evil", "./evil"])
def test_hostile_names_in_a_container_are_refused_by_name(azurite: Azurite, tmp_path: Path, name: str) -> None:
    """Anybody with write access to a container can create such names; none may reach a disk."""
    spec = azurite.new_store()
    put_blob(azurite.endpoint, AZURITE_ACCOUNT, AZURITE_KEY, spec.location["container"], name, b"evil")
    store = open_store(spec)
    # obstore lists "/etc/evil" as "etc/evil", which is not the name in the container.
    with pytest.raises(Conflict if name.startswith("/") else InvalidInput):
        download([place(entry, entry.path) for page in store.list() for entry in page], {"": store}, tmp_path / "to")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_wrong_credentials_are_not_shown(azurite: Azurite, rclone: RcloneS3) -> None:
    wrong = b64encode(b"hidden" * 8).decode()
    blob, bucket = azurite.new_store(), rclone.new_store()
    signature = f"sv=2021-12-02&sp=rl&sr=c&sig={wrong}"
    for spec in (
        StoreSpec(blob.kind, blob.location, {"key": wrong}),
        StoreSpec(blob.kind, blob.location, {"sas": signature}),
        StoreSpec(bucket.kind, bucket.location, {"access_key_id": "hidden-id", "secret_access_key": wrong}),
        StoreSpec(blob.kind, blob.location),
    ):
        with pytest.raises(NotAllowed) as caught:
            open_store(spec).read("x")
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.to_wire())
        assert wrong not in told
        assert "hidden-id" not in told
        assert caught.value.__context__ is None


def test_a_malformed_key_is_refused_when_the_store_is_opened(azurite: Azurite) -> None:
    spec = StoreSpec("azure_blob", azurite.new_store().location, {"key": "not base64: hidden"})
    with pytest.raises(InvalidInput) as caught:
        open_store(spec).read("x")
    assert "hidden" not in "".join(traceback.format_exception(caught.value))


def test_a_store_that_does_not_respond_is_unavailable() -> None:
    location = {"bucket": "b", "endpoint": "http://127.0.0.1:9"}
    with pytest.raises(Unavailable, match="could not be reached"):
        open_store(StoreSpec("s3", location, {"access_key_id": "a", "secret_access_key": "b"})).stat("x")


def test_an_unmounted_file_share_is_an_error_with_a_hint() -> None:
    with pytest.raises(InvalidInput, match="is not mounted on this machine") as caught:
        open_store(StoreSpec("azure_file", {"account": "acct", "share": "files"}))
    assert "mount -t cifs //acct.file.core.windows.net/files" in str(caught.value)


def test_a_mounted_file_share_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"data")
    store = open_store(StoreSpec("azure_file", {"account": "a", "share": "s", "path": str(tmp_path)}))
    assert store.read("x") == b"data"
