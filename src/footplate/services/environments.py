"""The registry of environments: definitions under a name, with versions."""

from __future__ import annotations

import time
from collections.abc import Sequence
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

    def get(self, workspace: str, name: str, version: str | None, label: str | None = None) -> EnvironmentView:
        if label is not None:
            return self._store.environments.labelled(workspace, name, label)
        return self._store.environments.get(workspace, name, version)

    def label(self, workspace: str, name: str, version: str, labels: Sequence[str]) -> EnvironmentView:
        for label in labels:
            if not label or label.lower() == "latest":
                raise InvalidInput(f"{label!r} cannot be a label", "choose another: 'latest' is always the newest")
        return self._store.environments.set_labels(workspace, name, version, labels)

    def list(self, workspace: str) -> list[EnvironmentView]:
        return self._store.environments.list(workspace)
