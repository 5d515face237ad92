from __future__ import annotations

import stat
from pathlib import Path

import pytest

from footplate.domain.records import WorkspaceView
from footplate.errors import Broken, NotFound
from footplate.storage import Storage


def store_with_workspace(home: Path) -> Storage:
    store = Storage.open(home)
    store.workspaces.create(WorkspaceView("w", "lab", "s", "g", "here", 0.0))
    return store


def test_secrets_can_be_set_read_listed_and_deleted(tmp_path: Path) -> None:
    store = store_with_workspace(tmp_path)
    store.secrets.put("w", "password", "päss\n")
    store.secrets.put("w", "key", "1")
    store.secrets.put("w", "key", "2")
    assert store.secrets.get("w", "password") == "päss\n"
    assert store.secrets.get("w", "key") == "2"
    assert store.secrets.list("w") == ["key", "password"]
    store.secrets.delete("w", "key")
    with pytest.raises(NotFound, match="'key'"):
        store.secrets.get("w", "key")
    with pytest.raises(NotFound):
        store.secrets.delete("w", "key")
    store.close()


def test_no_file_holds_a_secret_in_clear_text(tmp_path: Path) -> None:
    store = store_with_workspace(tmp_path)
    store.secrets.put("w", "password", "correct horse battery staple")
    store.close()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"battery staple" not in file.read_bytes(), file
    assert stat.S_IMODE((tmp_path / "secrets.key").stat().st_mode) == 0o600


def test_a_secret_without_its_key_is_an_error(tmp_path: Path) -> None:
    store = store_with_workspace(tmp_path)
    store.secrets.put("w", "password", "x")
    (tmp_path / "secrets.key").rename(tmp_path / "gone")
    with pytest.raises(Broken, match="'password' cannot be decrypted"):
        store.secrets.get("w", "password")
    store.close()
