"""Secrets of a workspace: set, read, list by name, delete. Values never appear in logs, lists or errors."""

from __future__ import annotations

import re

from footplate.errors import InvalidInput
from footplate.storage import Storage

_NAME = re.compile(r"[a-zA-Z0-9\-]{1,127}", re.ASCII)


class SecretService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def put(self, workspace: str, name: str, value: str) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a secret's name", "use 1 to 127 letters, digits and '-'")
        self._store.workspaces.get(workspace)
        self._store.secrets.put(workspace, name, value)

    def get(self, workspace: str, name: str) -> str:
        return self._store.secrets.get(workspace, name)

    def list(self, workspace: str) -> list[str]:
        self._store.workspaces.get(workspace)
        return self._store.secrets.list(workspace)

    def delete(self, workspace: str, name: str) -> None:
        self._store.secrets.delete(workspace, name)
