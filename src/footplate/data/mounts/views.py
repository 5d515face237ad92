"""The folder of a listing, made once, of files that are on this machine: hard links to the cache, links to local data.

A view is whole when it has its name: it is built aside and renamed. Later runs on the same listing use it as it is, at
the speed of the disk and without any work per file. So its folders are not to be written to: where the kernel does not
show it read-only, a script that left a file among its data, or took one away, would do so for all runs after it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from footplate.content.listing import Listing
from footplate.data.cache import DataCache, held_lock, remove_tree
from footplate.data.stores.base import FileStore, Report
from footplate.data.transfer.batch import Meter, in_parallel, pool_of, store_of
from footplate.disk import space
from footplate.domain.data import Item, StoreSpec
from footplate.errors import NotFound, Unavailable


class View:
    """A view in use: `lock` holds it, and dies with this process; `close` lets the cache remove it."""

    def __init__(self, path: str, lock: int) -> None:
        self.path, self.lock = path, lock

    def close(self) -> None:
        os.close(self.lock)


def view_name(digest: str, stores: Mapping[str, StoreSpec]) -> str:
    """What the view of a listing is called: the listing knows its stores by label, and a label may come to mean
    another place."""
    places = sorted((label, spec.identity()) for label, spec in stores.items())
    return hashlib.sha256(json.dumps([digest, places]).encode()).hexdigest()


def find_view(cache: DataCache, name: str) -> View | None:
    path = f"{cache.folder}/views/{name}"
    if not os.path.isdir(path):
        return None
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    if not os.path.isdir(path):  # removed while we waited
        os.close(lock)
        return None
    with contextlib.suppress(OSError):
        os.utime(f"{path}.lock")
    return View(path, lock)


def check_links(folder: str) -> None:
    """NotFound for the first link to data of this machine that leads nowhere: a script could not say what is missing.

    Only for views that have such links: it looks at every file.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_links(entry.path)
            elif entry.is_symlink() and not entry.is_file():
                raise NotFound(
                    f"there is no {os.readlink(entry.path)}", "bring the file back, or make the dataset anew"
                )


def make_view(
    cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore], report: Report | None = None
) -> View:
    """The view of a listing, with everything fetched that is not here yet."""
    while True:
        found = find_view(cache, name)
        if found is not None:
            return found
        with held_lock(f"{cache.folder}/coming/{name}.view.lock"):
            if not os.path.isdir(f"{cache.folder}/views/{name}"):
                _build(cache, name, listing, stores, report)


def make_view_of_cached(cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore]) -> bool:
    """Make the view if nothing has to be fetched for it; whether it is there."""
    with contextlib.suppress(_NotCached), held_lock(f"{cache.folder}/coming/{name}.view.lock"):
        if not os.path.isdir(f"{cache.folder}/views/{name}"):
            _place_all(cache, name, lambda root: _link_cached(root, cache, listing, stores))
        return True
    return False


class _NotCached(Exception):
    pass


def _build(
    cache: DataCache, name: str, listing: Listing, stores: Mapping[str, FileStore], report: Report | None
) -> None:
    meter = Meter(report, len(listing), listing.size)
    with pool_of(16) as files, pool_of(8) as blocks:

        def fill(root: str) -> None:
            def add(item: Item) -> None:
                _add(root, item, cache, store_of(item, stores), blocks, meter)

            for _ in in_parallel(files, add, listing):
                meter.add(files=1)

        _place_all(cache, name, fill)
    meter.finish()


def _place_all(cache: DataCache, name: str, fill: Callable[[str], None]) -> None:
    aside = f"{cache.folder}/coming/{name}.{os.getpid()}-{os.urandom(4).hex()}.view"
    os.mkdir(aside)
    try:
        with space(cache.folder):
            fill(aside)
            for folder, inside, _ in os.walk(aside):
                for each in inside:
                    os.chmod(f"{folder}/{each}", 0o555)
            os.rename(aside, f"{cache.folder}/views/{name}")
            os.chmod(f"{cache.folder}/views/{name}", 0o555)  # last: who may not write to a folder may not move it
    except BaseException:
        remove_tree(aside)
        raise


def _add(root: str, item: Item, cache: DataCache, store: FileStore, pool: Executor, meter: Meter) -> None:
    path = f"{root}/{item.name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if store.folder is not None:
        store.stat(item.source)  # a link that leads nowhere would be found by the script only
        os.symlink(store.folder / item.source, path)
        return
    for _ in range(3):  # it may be removed between being fetched and being linked, if the cache is far too small
        file = cache.open(store, item.entry(), pool, lambda more: meter.add(bytes=more))
        try:
            os.link(cache.object_of(cache.key(store, item.entry())), path)
            return
        except FileNotFoundError:
            continue
        finally:
            os.close(file)
    raise Unavailable(f"the cache {cache.folder} is too small for {item.name!r}", "raise its limit")


def _link_cached(root: str, cache: DataCache, listing: Listing, stores: Mapping[str, FileStore]) -> None:
    for item in listing:  # first, because a hundred thousand links that have to go again are a lot of work
        store = store_of(item, stores)
        if store.folder is None and not cache.has(cache.key(store, item.entry())):
            raise _NotCached
    made = set[str]()
    for item in listing:
        path = f"{root}/{item.name}"
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        store = store_of(item, stores)
        try:
            if store.folder is not None:
                os.symlink(store.folder / item.source, path)
            else:
                os.link(cache.object_of(cache.key(store, item.entry())), path)
        except FileNotFoundError:
            raise _NotCached from None
