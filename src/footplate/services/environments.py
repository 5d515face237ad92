"""The registry of environments: definitions by name, with versions."""

from __future__ import annotations

import builtins
import time
from collections.abc import Sequence
from typing import Any

from footplate.domain.records import CuratedView, EnvironmentView
from footplate.environments import curated
from footplate.environments.url_credentials import extract_definition_logins
from footplate.errors import InvalidInput
from footplate.storage import Storage


class EnvironmentService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def register(self, workspace: str, name: str, definition: dict[str, Any]) -> EnvironmentView:
        if not name or "/" in name or name in (".", ".."):
            raise InvalidInput(f"{name!r} is not an environment name", "use letters, digits, '-', '_' and '.'")
        if curated.is_reserved(name):
            raise InvalidInput(
                f"the environment name {name!r} begins with a reserved prefix",
                "clone the environment under a name of your own: env.clone(new_name=…)",
            )
        self._store.workspaces.get(workspace)
        definition, logins = extract_definition_logins(definition)
        self._store.logins.put(logins.by_address)
        return self._store.environments.register(workspace, name, definition, time.time())

    def get(self, workspace: str, name: str, version: str | None, label: str | None = None) -> EnvironmentView:
        if label is not None:
            return self._store.environments.get_by_label(workspace, name, label)
        return self._store.environments.get(workspace, name, version)

    def label(self, workspace: str, name: str, version: str, labels: Sequence[str]) -> EnvironmentView:
        for label in labels:
            if not label or label.lower() == "latest":
                raise InvalidInput(f"{label!r} cannot be a label", "choose another: 'latest' is always the newest")
        return self._store.environments.set_labels(workspace, name, version, labels)

    def list_curated(self) -> builtins.list[CuratedView]:
        """Return the catalogue: first our own environments, which are tested, then Azure's names."""
        return [_view(entry) for entry in curated.every()]

    def get_curated(self, name: str) -> CuratedView:
        return _view(curated.get(name))

    def list(self, workspace: str) -> list[EnvironmentView]:
        return self._store.environments.list(workspace)


def _view(entry: curated.Curated) -> CuratedView:
    return CuratedView(
        entry.name, entry.python, entry.requirements, entry.nearest, entry.left_out, entry.day, entry.deviations,
        entry.similar, entry.unavailable, entry.variables,
    )  # fmt: skip
