"""Models: files with a name and a version, and the run that they came from."""

from __future__ import annotations

import posixpath
import re
import time
from typing import Any

from footplate.domain.records import FileView, ModelView, RunView
from footplate.domain.requests import NewModel
from footplate.errors import InvalidInput, NotFound
from footplate.services.files import check_content
from footplate.storage import Storage

_ALIAS = re.compile(r"(?!(?:latest|v\d+)$)[\w\-]{1,255}", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9\-\._]{0,254}", re.ASCII)


class ModelService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def register(self, workspace: str, new: NewModel) -> ModelView:
        if not _NAME.fullmatch(new.name):
            raise InvalidInput(
                f"{new.name!r} is not a model name",
                "use letters, digits, '-', '.' and '_', starting with a letter or digit, at most 255 in all",
            )
        _check_options(new.options)
        self._store.workspaces.get(workspace)
        run = self._run_of(workspace, new.run) if new.run else None
        root, files = self._files_of_run(new.run, new.run_path) if new.run and new.run_path else (new.root, new.files)
        if not root or not files:
            raise InvalidInput(f"model {new.name!r} has no files", "give a file or a folder with at least one file")
        for file in files:
            parts = file.path.split("/")
            if parts[0] != root or any(part in ("", ".", "..") or "\0" in part for part in parts):
                raise InvalidInput(f"the file {file.path!r} does not lie in {root!r}", "begin each path with the root")
            check_content(self._store, file)
        view = ModelView(
            workspace=workspace, name=new.name, version=0, created=time.time(), root=root, files=files,
            description=new.description, framework=new.framework, framework_version=new.framework_version, run=new.run,
            experiment=run.experiment if run else None, tags=new.tags, properties=new.properties,
            resources=new.resources, options={**new.options, **_origin(run)},
        )  # fmt: skip
        return self._store.models.add(new.key, view, new.datasets)

    def _run_of(self, workspace: str, run: str) -> RunView:
        view = self._store.runs.view(run)
        if view.workspace != workspace:
            raise InvalidInput(f"run {run!r} is in another workspace", "register its models in its own workspace")
        return view

    def _files_of_run(self, run: str, path: str) -> tuple[str, tuple[FileView, ...]]:
        """Return the artifact of that name, or all artifacts below it as a folder."""
        path = posixpath.normpath(path.lstrip("/"))
        name = posixpath.basename(path)
        stored = self._store.files.list(run, path)
        exact = [f for f in stored if f.path == path]
        if exact:
            return name, (FileView(name, exact[0].size, exact[0].digest),)
        below = tuple(
            FileView(f.path[len(path) - len(name) :], f.size, f.digest) for f in stored if f.path.startswith(path + "/")
        )
        if not below:
            have = [f.path for f in self._store.files.list(run, "")][:20]
            raise NotFound(
                f"run {run} has no file or folder {path!r}",
                f"its files are: {', '.join(have) or 'none; those in ./outputs are kept when the run ends'}",
                reason="model_path",
            )
        return name, below

    def get(self, workspace: str, name: str, version: int | None) -> ModelView:
        return self._store.models.get(workspace, name, version)

    def list(
        self,
        workspace: str,
        name: str | None = None,
        tags: tuple[tuple[str, str | None], ...] = (),
        properties: tuple[tuple[str, str | None], ...] = (),
        run: str | None = None,
        framework: str | None = None,
        latest: bool = False,
    ) -> list[ModelView]:
        return self._store.models.list(workspace, name, tags, properties, run, framework, latest)

    def change(
        self,
        workspace: str,
        name: str,
        version: int,
        description: str | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: tuple[str, ...] = (),
        properties: dict[str, str] | None = None,
        datasets: tuple[tuple[str, str], ...] = (),
        resources: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        aliases: tuple[str, ...] = (),
        remove_aliases: tuple[str, ...] = (),
    ) -> ModelView:
        _check_options(options or {})
        for alias in aliases:
            if not _ALIAS.fullmatch(alias):
                raise InvalidInput(
                    f"{alias!r} cannot be an alias of a model",
                    "use letters, digits, '-' and '_', at most 255 in all, but not 'latest' or 'v1'",
                )
        self._store.models.change(
            workspace, name, version, description=description, tags=tags, remove_tags=remove_tags,
            properties=properties, datasets=datasets, resources=resources, options=options, aliases=aliases,
            remove_aliases=remove_aliases,
        )  # fmt: skip
        return self._store.models.get(workspace, name, version)

    def delete(self, workspace: str, name: str, version: int) -> None:
        self._store.models.delete(workspace, name, version)


def _check_options(options: dict[str, Any]) -> None:
    """Raise InvalidInput for options that only the server writes."""
    if written := sorted({"snapshot", "lock"} & options.keys()):
        message = f"the option {written[0]!r} of a model is that of the run that it came from"
        raise InvalidInput(message, "name the run when you register the model")


def _origin(run: RunView | None) -> dict[str, str]:
    """Return the code and the environment of a run, which a model keeps when the run is deleted."""
    digests = {"snapshot": run.snapshot, "lock": run.lock} if run else {}
    return {name: digest for name, digest in digests.items() if digest}
