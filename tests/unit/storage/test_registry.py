from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.records import WorkspaceView
from footplate.domain.serving.endpoints import EndpointRecord, ServiceKeys, VersionRecord, VersionSpec
from footplate.errors import Conflict, NotFound
from footplate.storage import Storage

VERSION = VersionRecord(1, "run", VersionSpec(("m:1",), environment_variables={"A": "b"}), 1.0)
RECORD = EndpointRecord("w", "svc", "svc", 1.0, 1.0, versions=(VERSION,))
KEYS = ServiceKeys("first hidden value", "second hidden value")


def open_store(home: Path) -> Storage:
    store = Storage.open(home)
    for name in ("w", "v"):
        store.workspaces.create(WorkspaceView(name, name, "s", "g", "here", 0.0))
    return store


def test_a_service_is_stored_once_and_read_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.endpoints.create(RECORD, KEYS)
    assert store.endpoints.get("w", "svc") == RECORD
    with pytest.raises(Conflict, match="'svc'"):
        store.endpoints.create(RECORD, KEYS)
    with pytest.raises(Conflict):  # another workspace, but the same name at the gateway
        store.endpoints.create(replace(RECORD, workspace="v"), KEYS)
    store.endpoints.create(replace(RECORD, workspace="v", route="svc-2"), KEYS)
    assert [r.workspace for r in store.endpoints.list()] == ["v", "w"]
    assert [r.workspace for r in store.endpoints.list("w")] == ["w"]
    store.endpoints.delete("w", "svc")
    with pytest.raises(NotFound, match="'svc'"):
        store.endpoints.get("w", "svc")
    store.close()


def test_a_change_based_on_an_old_revision_is_not_stored(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.endpoints.create(RECORD, KEYS)
    first = store.endpoints.save(replace(RECORD, modified=2.0))
    assert first is not None and first.revision == 1
    assert store.endpoints.save(replace(RECORD, modified=3.0)) is None
    assert store.endpoints.get("w", "svc").modified == 2.0
    store.close()


def test_keys_are_replaced_and_never_stored_in_clear_text(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.endpoints.create(RECORD, KEYS)
    assert store.endpoints.keys("w", "svc") == KEYS
    store.endpoints.set_keys("w", "svc", replace(KEYS, primary="third hidden value"))
    assert store.endpoints.keys("w", "svc").primary == "third hidden value"
    with pytest.raises(NotFound):
        store.endpoints.set_keys("w", "other", KEYS)
    store.close()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hidden value" not in file.read_bytes(), file
