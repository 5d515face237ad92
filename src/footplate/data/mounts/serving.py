"""The work of a supervisor's child process: the FUSE file system of a listing, and a view of it when all is cached."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from footplate.content.listing import Listing
from footplate.data.cache import DataCache
from footplate.data.mounts import fuse
from footplate.data.mounts.fuse import ListingTree
from footplate.data.mounts.views import make_view_of_cached
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import open_lazily
from footplate.domain.data import SERVER, StoreSpec


def serve(task: dict[str, Any]) -> None:
    at = task["at"] if task["device"] is None else f"/dev/fd/{task['device']}"
    fuse.serve(ListingTree(Listing(task["listing"])), _open_stores(task), _open_cache(task), at, _report_ready)


def make_view(task: dict[str, Any]) -> None:
    """Make a view if the cache now has every file, so that the next run does not need FUSE."""
    make_view_of_cached(_open_cache(task), task["name"], Listing(task["listing"]), _open_stores(task))


def _open_cache(task: dict[str, Any]) -> DataCache:
    return DataCache(task["cache"], task["limit"])


def _open_stores(task: dict[str, Any]) -> dict[str, FileStore]:
    if any(spec["kind"] == SERVER for spec in task["stores"].values()):
        from footplate.data.stores.server import wait_as_mount  # noqa: PLC0415  # slow, and few stores need it

        wait_as_mount()
    return {label: open_lazily(StoreSpec(**spec)) for label, spec in task["stores"].items()}


def _report_ready() -> None:
    with suppress(BrokenPipeError):  # not every owner waits for it
        os.write(1, b"ready\n")
