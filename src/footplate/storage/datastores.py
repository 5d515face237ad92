"""Datastores: the places of a workspace's data. Credentials are encrypted, and returned only on request."""

from __future__ import annotations

import builtins
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Row, delete, select

from footplate.domain.data import FOLDER, StoreSpec
from footplate.domain.datasets import BUILT_IN_DATASTORES, DatastoreView
from footplate.domain.orders import DEFAULT_DATASTORE
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage.database import Database, named
from footplate.storage.database_errors import translated
from footplate.storage.schema import datastores, default_datastores
from footplate.storage.secrets import Seal

STORES = "stores"


class Datastores:
    """Built-in datastores are directories of the home, or of the store set with `lie_in`; they are in no table."""

    def __init__(self, home: Path, database: Database, seal: Seal, namespace: Callable[[], str]) -> None:
        self._folder = home / STORES
        self._database = database
        self._seal = seal
        self._namespace = namespace
        self._base: StoreSpec | None = None

    def lie_in(self, base: StoreSpec | None) -> None:
        """Put the built-in datastores of every workspace below a directory of `base`; existing data is not moved."""
        self._base = base

    def artifacts(self) -> StoreSpec | None:
        """Return the place of large files of runs in the object store that `lie_in` has set; None without one."""
        if self._base is None or self._base.kind == FOLDER:
            return None
        return self._below_base("artifacts", self._namespace())

    def put(self, view: DatastoreView, credentials: dict[str, Any], replace: bool) -> DatastoreView:
        """Store a datastore. One that exists and differs is a Conflict unless it is to be replaced."""
        if view.name in BUILT_IN_DATASTORES:
            raise InvalidInput(f"datastore {view.name!r} is built in", "choose another name")
        sealed = self._seal.close(json.dumps(credentials)) if credentials else None
        row = {
            "workspace": view.workspace, "name": view.name, "kind": view.kind, "location": view.location,
            "options": view.options, "sealed": sealed, "created": view.created,
        }  # fmt: skip
        with self._database.write() as connection:
            if replace:
                self._database.put(connection, datastores, ("workspace", "name"), row)
            elif not self._database.insert_new(connection, datastores, **row) and not self._has(view, credentials):
                raise Conflict(
                    f"datastore {view.name!r} exists and is another one",
                    "choose another name, or replace it: overwrite=True, --overwrite",
                )
        return self.get(view.workspace, view.name)

    def _has(self, view: DatastoreView, credentials: dict[str, Any]) -> bool:
        stored = self.get(view.workspace, view.name)
        is_same = (stored.kind, stored.location, stored.options) == (view.kind, view.location, view.options)
        return is_same and self.access(view.workspace, view.name).credentials == credentials

    def get(self, workspace: str, name: str) -> DatastoreView:
        default = self.default(workspace)
        if name in BUILT_IN_DATASTORES:
            return self._view_built_in(workspace, name, default)
        row = self._row(workspace, name)
        if row is None:
            raise _no_datastore(name)
        return _view(row, default)

    def access(self, workspace: str, name: str) -> StoreSpec:
        """Return a datastore with its credentials in one query: nodes wait for it before a run starts."""
        if name in BUILT_IN_DATASTORES:
            return self._place(workspace, name)
        row = self._row(workspace, name)
        if row is None:
            raise _no_datastore(name)
        if row.sealed is None:
            return StoreSpec(row.kind, row.location)
        opened = self._seal.open(f"the credentials of datastore {name!r}", row.sealed)
        return StoreSpec(row.kind, row.location, json.loads(opened))

    def folder(self, workspace: str, name: str) -> StoreSpec:
        """Return the directory of a built-in datastore, the only kind whose files the server itself serves."""
        spec = self.access(workspace, name)
        if name not in BUILT_IN_DATASTORES or spec.kind != FOLDER:
            raise InvalidInput(
                f"datastore {name!r} is not a folder of the server",
                "open it directly: POST …/datastores/NAME/access",
            )
        return spec

    def coming(self, workspace: str, name: str) -> Path:
        """Return the directory of incomplete large uploads: on the same disk, and in no listing."""
        folder = Path(self.folder(workspace, name).location["path"])
        return folder.parent / f".coming-{name}"

    def list(self, workspace: str) -> builtins.list[DatastoreView]:
        """List datastores by name, with the built-in ones."""
        default = self.default(workspace)
        rows = self._database.all(select(datastores).where(datastores.c.workspace == workspace))
        views = [_view(row, default) for row in rows]
        views += [self._view_built_in(workspace, name, default) for name in BUILT_IN_DATASTORES]
        return sorted(views, key=lambda view: view.name)

    def delete(self, workspace: str, name: str) -> None:
        """Forget a datastore; its data stays. If it was the default, the built-in one becomes the default again."""
        if name in BUILT_IN_DATASTORES:
            raise InvalidInput(f"datastore {name!r} is built in and stays", "set another one as the default instead")
        with self._database.write() as connection:
            if connection.execute(delete(datastores).where(*named(datastores, workspace, name))).rowcount == 0:
                raise _no_datastore(name)
            connection.execute(delete(default_datastores).where(*named(default_datastores, workspace, name)))

    def default(self, workspace: str) -> str:
        c = default_datastores.c
        row = self._database.one(select(c.name).where(c.workspace == workspace))
        return DEFAULT_DATASTORE if row is None else row.name

    def set_default(self, workspace: str, name: str) -> None:
        self.get(workspace, name)
        with self._database.write() as connection:
            self._database.put(connection, default_datastores, ("workspace",), {"workspace": workspace, "name": name})

    def has_built_in_data(self, workspace: str) -> bool:
        """Whether there is a file in the built-in datastores, if they are directories."""
        return any(names for _, _, names in os.walk(self._root() / workspace))

    def remove_built_in(self, workspace: str) -> None:
        """Remove the built-in datastores of a deleted workspace, if they are directories."""
        shutil.rmtree(self._root() / workspace, ignore_errors=True)

    def _root(self) -> Path:
        if self._base is not None and self._base.kind == FOLDER:
            return Path(self._base.location["path"]).expanduser()
        return self._folder

    def _below_base(self, *names: str) -> StoreSpec:
        base = cast("StoreSpec", self._base)
        prefix = "/".join(part for part in (base.location.get("prefix", "").strip("/"), *names) if part)
        return StoreSpec(base.kind, {**base.location, "prefix": prefix}, base.credentials)

    def _row(self, workspace: str, name: str) -> Row[Any] | None:
        return self._database.one(select(datastores).where(*named(datastores, workspace, name)))

    def _view_built_in(self, workspace: str, name: str, default: str) -> DatastoreView:
        spec = self._place(workspace, name)
        secret = bool(spec.credentials)
        return DatastoreView(workspace, name, spec.kind, spec.location, secret, is_default=name == default)

    def _place(self, workspace: str, name: str) -> StoreSpec:
        """Return the place of a built-in datastore and create it, so that a machine that lacks it is remote."""
        if self._base is not None and self._base.kind != FOLDER:
            return self._below_base(workspace, name)
        folder = self._root() / workspace / name
        with translated():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return StoreSpec(FOLDER, {"path": str(folder)})


def _view(row: Row[Any], default: str) -> DatastoreView:
    return DatastoreView(
        row.workspace, row.name, row.kind, row.location, row.sealed is not None, row.name == default, row.created,
        row.options,
    )  # fmt: skip


def _no_datastore(name: str) -> NotFound:
    return NotFound(f"there is no datastore {name!r}", "see those that exist with: footplate datastore list")
