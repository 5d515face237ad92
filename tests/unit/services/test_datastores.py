"""The place of the built-in datastores, as `settings.ini` sets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.domain.data import StoreSpec
from footplate.errors import InvalidInput, NotAllowed
from footplate.services.settings import read_settings, read_store
from footplate.storage import Storage

S3 = "[store]\nkind = s3\nbucket = b\naccess_key_id = id\nsecret_access_key = se%cret\n[computes]\nshapes = exact\n"


def write(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / "settings.ini"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_store_section_with_credentials_is_read(tmp_path: Path) -> None:
    assert read_store(tmp_path) is None
    write(tmp_path, S3)
    found = read_store(tmp_path)
    assert found == StoreSpec("s3", {"bucket": "b"})
    assert found is not None and found.credentials == {"access_key_id": "id", "secret_access_key": "se%cret"}
    assert read_settings(tmp_path).shapes == "exact"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[store]\nbucket = b\n", "of the kind ''"),
        ("[store]\nkind = http\nurl = http://x\n", "'http'"),
        ("[store]\nkind = s3\n", "needs bucket"),
        ("[store]\nkind = s3\nbucket = b\nbuckets = c\n", "no 'buckets'"),
    ],
)
def test_an_invalid_store_section_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, text)
    with pytest.raises(InvalidInput, match=words):
        read_store(tmp_path)


def test_credentials_in_a_file_that_others_can_read_are_refused(tmp_path: Path) -> None:
    write(tmp_path, S3, 0o644)
    with pytest.raises(NotAllowed, match="open to other users") as refused:
        read_store(tmp_path)
    assert "se%cret" not in str(refused.value.to_wire())


def test_each_workspace_has_its_own_folder_in_the_store(tmp_path: Path) -> None:
    store = Storage.open(tmp_path / "home")
    try:
        store.datastores.lie_in(StoreSpec("s3", {"bucket": "b", "prefix": "/team/"}, {"access_key_id": "id"}))
        spec = store.datastores.access("w1", "workspaceblobstore")
        assert spec.location == {"bucket": "b", "prefix": "team/w1/workspaceblobstore"}
        assert spec.credentials == {"access_key_id": "id"}
        view = store.datastores.get("w2", "workspacefilestore")
        assert (view.kind, view.location["prefix"]) == ("s3", "team/w2/workspacefilestore")
        assert view.has_credentials and not store.datastores.get("w2", "workspaceblobstore").created
        with pytest.raises(InvalidInput, match="not a folder of the server"):
            store.datastores.folder("w1", "workspaceblobstore")
        store.datastores.lie_in(StoreSpec("folder", {"path": str(tmp_path / "shared")}))
        assert store.datastores.folder("w1", "workspaceblobstore").location["path"].startswith(str(tmp_path / "shared"))
        assert (tmp_path / "shared/w1/workspaceblobstore").is_dir()
    finally:
        store.close()
