"""The promises that transfers, datasets and mounts rely on. Run them with: python -m pytest"""

from __future__ import annotations

from pathlib import Path

import pytest
from my_store import MyStore

from footplate.domain.data import StoreSpec
from footplate.testing.store_suite import StoreSuite


class Arena:
    lists = True
    conditions = True

    def __init__(self, database: Path) -> None:
        self.store = MyStore(StoreSpec("mine", {"path": str(database)}))

    def fill(self, name: str, data: bytes) -> None:
        self.store.put(name, data)


class TestMyStore(StoreSuite):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> Arena:
        return Arena(tmp_path / "files.db")
