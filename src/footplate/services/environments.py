"""The registry of environments: definitions under a name, with versions."""

from __future__ import annotations

import time
from typing import Any

from footplate.domain.records import EnvironmentView
from footplate.errors import InvalidInput
from footplate.storage import Store

_RESERVED = ("azureml", "microsoft")


class EnvironmentService:
    def __init__(self, store: Store) -> None:
        self._store = store

    def register(self, workspace: str, name: str, definition: dict[str, Any]) -> EnvironmentView:
        if name.lower().startswith(_RESERVED):
            raise InvalidInput(
                f"the environment name {name!r} begins with a reserved prefix",
                "clone the environment under a name of your own: env.clone(new_name=…)",
            )
        self._store.workspaces.get(workspace)
        return self._store.environments.register(workspace, name, definition, time.time())

    def get(self, workspace: str, name: str, version: str | None) -> EnvironmentView:
        return self._store.environments.get(workspace, name, version)

    def list(self, workspace: str) -> list[EnvironmentView]:
        return self._store.environments.list(workspace)
