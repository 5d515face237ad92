"""Who made runs and services, and the workspaces of things, for authorization."""

from __future__ import annotations

from footplate.domain.access.people import Maker
from footplate.errors import NotFound
from footplate.services.access.recent import Recent
from footplate.storage import Storage


class Ownership:
    def __init__(self, store: Storage) -> None:
        self._store = store
        self._recent: Recent[str, Maker] = Recent()

    def recall_run(self, run: str) -> Maker | None:
        """Return the creator of a run that was looked up a moment ago, without any work."""
        return self._recent.get(run)

    def of_run(self, run: str) -> Maker | None:
        """Return the workspace and the creator of a run; None if there is no such run."""
        mark = self._recent.mark
        try:
            creator = self._store.runs.creator(run)
        except NotFound:
            return None
        self._recent.put(run, creator, mark)
        return creator

    def of_service(self, workspace: str, name: str) -> Maker | None:
        """Return who deployed a web service; None if there is no such service."""
        try:
            record = self._store.endpoints.get(workspace, name)
        except NotFound:
            return None
        return Maker(workspace, record.created_by, record.person)

    def workspace_of_experiment(self, experiment: str) -> str | None:
        """Return the workspace of an experiment; None if there is no such experiment."""
        try:
            return self._store.experiments.get(experiment).workspace
        except NotFound:
            return None

    def forget(self) -> None:
        """Look runs up again: one was deleted, and its id may be given to another."""
        self._recent.forget()
