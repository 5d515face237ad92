"""Workspaces and the experiments in them."""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import Any

from footplate.domain.records import ExperimentView, WorkspaceView
from footplate.domain.replies import SavedView
from footplate.domain.specs import check_experiment_name
from footplate.domain.targets import LOCAL
from footplate.errors import Conflict, InvalidInput
from footplate.storage import Storage

_NAME = re.compile(r"[a-zA-Z0-9][\w\-]{2,32}", re.ASCII)

LONGEST_VIEW_NAME = 100
LARGEST_VIEW = 20_000
MOST_VIEWS = 200


class WorkspaceService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def create(
        self,
        name: str,
        subscription_id: str,
        resource_group: str,
        location: str = LOCAL,
        friendly_name: str | None = None,
        tags: dict[str, str | None] | None = None,
        if_exists: str = "refuse",
    ) -> WorkspaceView:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} is not a workspace name",
                "use 3 to 33 letters, digits, '_' and '-', starting with a letter or digit",
            )
        view = WorkspaceView(
            str(uuid.uuid4()), name, subscription_id, resource_group, location, time.time(), friendly_name, tags or {}
        )
        try:
            self._store.workspaces.create(view)
            return view
        except Conflict:
            if if_exists != "return":
                raise
        return self._store.workspaces.find(name, subscription_id, resource_group)[0]

    def get(self, workspace: str) -> WorkspaceView:
        return self._store.workspaces.get(workspace)

    def find(self, name: str | None, subscription_id: str | None, resource_group: str | None) -> list[WorkspaceView]:
        return self._store.workspaces.find(name, subscription_id, resource_group)

    def delete(self, workspace: str, force: bool = False) -> None:
        """Delete a workspace that is empty, or with `force` everything in it too."""
        self._store.workspace_deletion.delete(workspace, self._store.workspaces.get(workspace).name, force)

    def views(self, workspace: str) -> list[SavedView]:
        self._store.workspaces.get(workspace)
        return self._store.workspaces.views(workspace)

    def save_view(self, workspace: str, name: str, search: dict[str, Any]) -> SavedView:
        """Keep a view of the table of runs under a name, for everybody in the workspace."""
        if not name.strip() or len(name) > LONGEST_VIEW_NAME:
            raise InvalidInput(
                f"{name[:LONGEST_VIEW_NAME]!r} cannot be the name of a view", f"use 1 to {LONGEST_VIEW_NAME} characters"
            )
        if len(json.dumps(search)) > LARGEST_VIEW:
            raise InvalidInput(f"the view {name!r} is larger than {LARGEST_VIEW:,} characters", "show fewer columns")
        if len([view for view in self.views(workspace) if view.name != name]) >= MOST_VIEWS:
            raise InvalidInput(f"the workspace has {MOST_VIEWS} views already", "delete some that nobody uses")
        view = SavedView(name, search, time.time())
        self._store.workspaces.save_view(workspace, view)
        return view

    def delete_view(self, workspace: str, name: str) -> None:
        self._store.workspaces.delete_view(workspace, name)

    def ensure_experiment(self, workspace: str, name: str) -> ExperimentView:
        check_experiment_name(name)
        self._store.workspaces.get(workspace)
        return self._store.experiments.get_or_create(workspace, name, time.time())

    def list_experiments(self, workspace: str, name: str | None, archived: bool | None) -> list[ExperimentView]:
        return self._store.experiments.list(workspace, name, archived)

    def change_experiment(
        self,
        experiment: str,
        archived: bool | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: tuple[str, ...] = (),
    ) -> ExperimentView:
        when = time.time() if archived else archived
        self._store.experiments.change(experiment, archived=when, tags=tags, remove_tags=remove_tags)
        return self._store.experiments.get(experiment)

    def delete_experiment(self, experiment: str) -> None:
        self._store.experiments.delete(experiment)
