"""The folder of a listing, built once from local files: hard links to the cache, symlinks to local data.

A view with a name is complete: it is built aside and renamed. Later runs on the same listing use it as it is, at disk
speed and without any work per file. Its folders are read-only: without a read-only mount, a script that added or
removed files would otherwise change the data of all later runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from footplate.content.listing import Listing
from footplate.data.cache import DataCache, hold_lock, remove_tree
from footplate.data.stores.base import FileStore, Report
from footplate.data.transfer.batch import ProgressMeter, in_parallel, store_of, thread_pool
from footplate.disk import FileLock, space
from footplate.domain.data import Item, StoreSpec
from footplate.errors import NotFound, Unavailable


class View:
    """A view in use. `lock` holds it, and dies with this process; `close` allows the cache to remove it."""

    def __init__(self, path: str, lock: FileLock) -> None:
        self.path = path
        self.close = lock.close


def view_name(digest: str, stores: Mapping[str, StoreSpec]) -> str:
    """Return the name of a listing's view.

    It depends on the stores too, because a label may come to mean another place.
    """
    places = sorted((label, spec.identity()) for label, spec in stores.items())
    return hashlib.sha256(json.dumps([digest, places]).encode()).hexdigest()


def find_view(cache: DataCache, name: str) -> View | None:
    path = f"{cache.folder}/views/{name}"
    if not os.path.isdir(path):
        return None
    lock = FileLock(f"{path}.lock")
    lock.take(shared=True)
    if not os.path.isdir(path):  # removed while we waited
        lock.close()
        return None
    with contextlib.suppress(OSError):
        os.utime(f"{path}.lock")
    return View(path, lock)


def check_links(folder: str) -> None:
    """Raise NotFound for the first dangling symlink to local data: a script could not tell which file is missing.

    Only for views that have such links, because it checks every file.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_links(entry.path)
            elif entry.is_symlink() and not entry.is_file():
                raise NotFound(
                    f"there is no {os.readlink(entry.path)}", "restore the file, or create the dataset again"
                )


def make_view(
    cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore], report: Report | None = None
) -> View:
    """Return the view of a listing, after fetching every missing file."""
    while True:
        view = find_view(cache, name)
        if view is not None:
            return view
        with hold_lock(f"{cache.folder}/coming/{name}.view.lock"):
            if not os.path.isdir(f"{cache.folder}/views/{name}"):
                _build(cache, name, listing, stores, report)


def make_view_of_cached(cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore]) -> bool:
    """Make the view if nothing has to be fetched for it. Return whether it exists."""
    with contextlib.suppress(_NotCached), hold_lock(f"{cache.folder}/coming/{name}.view.lock"):
        if not os.path.isdir(f"{cache.folder}/views/{name}"):
            _build_aside(cache, name, lambda root: _link_cached(root, cache, listing, stores))
        return True
    return False


class _NotCached(Exception):
    pass


def _build(
    cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore], report: Report | None
) -> None:
    meter = ProgressMeter(report, len(listing), listing.size)
    with thread_pool(16) as files, thread_pool(8) as blocks:

        def fill(root: str) -> None:
            def add(item: Item) -> None:
                _add(root, item, cache, store_of(item, stores), blocks, meter)

            for _ in in_parallel(files, add, listing):
                meter.add(files=1)

        _build_aside(cache, name, fill)
    meter.finish()


def _build_aside(cache: DataCache, name: str, fill: Callable[[str], None]) -> None:
    aside = f"{cache.folder}/coming/{name}.{os.getpid()}-{os.urandom(4).hex()}.view"
    os.mkdir(aside)
    try:
        with space(cache.folder):
            fill(aside)
            for folder, inside, _ in os.walk(aside):
                for each in inside:
                    os.chmod(f"{folder}/{each}", 0o555)
            os.rename(aside, f"{cache.folder}/views/{name}")
            # Last, because moving a directory needs write permission on it.
            os.chmod(f"{cache.folder}/views/{name}", 0o555)
    except BaseException:
        remove_tree(aside)
        raise


def _add(root: str, item: Item, cache: DataCache, store: FileStore, pool: Executor, meter: ProgressMeter) -> None:
    path = f"{root}/{item.name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if store.folder is not None:
        store.stat(item.source)  # detects a missing file here instead of in the script
        os.symlink(store.folder / item.source, path)
        return
    for _ in range(3):  # a cache that is far too small may evict it between fetch and link
        file = cache.open(store, item.entry(), pool, lambda more: meter.add(bytes=more))
        try:
            os.link(cache.object_path(cache.key(store, item.entry())), path)
            return
        except FileNotFoundError:
            continue
        finally:
            os.close(file)
    raise Unavailable(
        f"the cache {cache.folder} is too small for {item.name!r}",
        "raise its limit in settings.ini: [data] cache = 200 GB",
    )


def _link_cached(root: str, cache: DataCache, listing: Listing, stores: Mapping[str, FileStore]) -> None:
    for item in listing:  # checked first, because removing a hundred thousand links again is slow
        store = store_of(item, stores)
        if store.folder is None and not cache.has(cache.key(store, item.entry())):
            raise _NotCached
    folders: set[str] = set()
    for item in listing:
        path = f"{root}/{item.name}"
        folder = os.path.dirname(path)
        if folder not in folders:
            os.makedirs(folder, exist_ok=True)
            folders.add(folder)
        store = store_of(item, stores)
        try:
            if store.folder is not None:
                os.symlink(store.folder / item.source, path)
            else:
                os.link(cache.object_path(cache.key(store, item.entry())), path)
        except FileNotFoundError:
            raise _NotCached from None
