"""Versions of datasets whose files `footplate data add` uploaded, each to a folder `datasets/<name>/<time>`."""

from __future__ import annotations

import os
import time
from typing import Iterable, Iterator, List, Optional, Sequence, Tuple

from footplate.domain.datasets import DatasetView, sources_of
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.store_names import fixed_folder, is_pattern
from footplate.sdk.data import worker_client
from footplate.sdk.data.store_access import store_spec, upload_files
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.local_files import data_below

_TOP = "datasets"


def upload(workspace: Workspace, datastore: str, name: str, path: str, earlier: Optional[str]) -> str:
    """Upload a file or folder for the next version of a dataset, and return its path in the datastore.

    `earlier` is the folder of an earlier version. Files that have not changed since are linked and not copied, where
    the datastore is a folder; if nothing has changed at all, the path is in that folder.
    """
    is_folder = os.path.isdir(path)
    files = data_below(path, lambda _: True) if is_folder else [(os.path.abspath(path), os.path.basename(path))]
    if not files:
        raise UserErrorException(f"{path!r} has no files", hint="a dataset has at least one file")
    # One folder per upload: a later version must not change an earlier one.
    folder = f"{_TOP}/{name}/{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"
    cache = worker_client.cache_folder()
    done = upload_files(workspace, datastore, files, folder, False, True, cache=cache, earlier=earlier)
    place = folder if done["stored"] else str(earlier)
    return place if is_folder else f"{place}/{files[0][1]}"


def folders_of(view: DatasetView) -> List[Tuple[str, str]]:
    """Return the folders that were uploaded for a version, as (datastore, folder), in the order of its sources."""
    own = [_TOP, str(view.name)]
    parts = [(str(s["datastore"]), str(s["path"]).split("/")) for s in sources_of(view.definition) if "datastore" in s]
    return [(datastore, "/".join(path[:3])) for datastore, path in parts if path[:2] == own and len(path) > 2]


def delete(workspace: Workspace, name: str, version: Optional[int], views: Sequence[DatasetView]) -> int:
    """Delete versions of a dataset and the files that were uploaded for them alone; return the number of files.

    The files go first: after an interruption, the versions are still there to be deleted again.
    """
    count = 0
    for datastore, folder in to_delete(workspace, views):
        count += worker_client.call("delete", {"store": store_spec(workspace, datastore), "folder": folder})
    workspace.session.api.datasets.unregister(workspace.id, name, version)
    return count


def to_delete(workspace: Workspace, views: Sequence[DatasetView]) -> List[Tuple[str, str]]:
    """Return the folders that were uploaded for these versions and that no other dataset names."""
    doomed = {view.id for view in views}
    others = [view for view in workspace.session.api.datasets.list(workspace.id) if view.id not in doomed]
    named = {place for view in others for place in _places(view)}
    folders = dict.fromkeys(folder for view in views for folder in folders_of(view))
    return [(datastore, folder) for datastore, folder in folders if not _is_named(datastore, folder, named)]


def active_readers(workspace: Workspace, views: Iterable[DatasetView]) -> Iterator[str]:
    """Yield the ids of the runs that have not ended and read or write one of these versions."""
    for view in views:
        for use in workspace.session.api.datasets.lineage(workspace.id, view.id).runs:
            if use.status not in TERMINAL:
                yield use.run


def _places(view: DatasetView) -> Iterator[Tuple[str, str]]:
    for source in sources_of(view.definition):
        if "datastore" in source:
            path = str(source["path"])
            yield str(source["datastore"]), (fixed_folder(path) if is_pattern(path) else path).strip("/")


def _is_named(datastore: str, folder: str, places: Iterable[Tuple[str, str]]) -> bool:
    """Whether one of the places is the folder, is in it or contains it."""
    return any(
        store == datastore and (not path or f"{folder}/".startswith(f"{path}/") or path.startswith(f"{folder}/"))
        for store, path in places
    )
