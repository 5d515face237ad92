"""The folder of a listing, made once, of files that are on this machine: hard links to the cache, links to local data.

A view is whole when it has its name: it is built aside and renamed. Later runs on the same listing use it as it is, at
the speed of the disk and without any work per file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from footplate.content.disk import space
from footplate.content.listing import Listing
from footplate.data.base import Report, Store
from footplate.data.cache import Cache, held_lock
from footplate.data.transfer import Meter, in_parallel, pool_of, store_of
from footplate.domain.data import Item
from footplate.errors import Unavailable


class View:
    """A view in use: `lock` holds it, and dies with this process; `close` lets the cache remove it."""

    def __init__(self, path: str, lock: int) -> None:
        self.path, self.lock = path, lock

    def close(self) -> None:
        os.close(self.lock)


def find_view(cache: Cache, digest: str) -> View | None:
    path = f"{cache.folder}/views/{digest}"
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


def make_view(
    cache: Cache, digest: str, listing: Listing, stores: Mapping[str, Store], report: Report | None = None
) -> View:
    """The view of a listing, with everything fetched that is not here yet."""
    while True:
        found = find_view(cache, digest)
        if found is not None:
            return found
        with held_lock(f"{cache.folder}/coming/{digest}.view.lock"):
            if not os.path.isdir(f"{cache.folder}/views/{digest}"):
                _build(cache, digest, listing, stores, report)


def make_view_of_cached(cache: Cache, digest: str, listing: Listing, stores: Mapping[str, Store]) -> bool:
    """Make the view if nothing has to be fetched for it; whether it is there."""
    with contextlib.suppress(_NotCached), held_lock(f"{cache.folder}/coming/{digest}.view.lock"):
        if not os.path.isdir(f"{cache.folder}/views/{digest}"):
            _place_all(cache, digest, lambda root: _link_cached(root, cache, listing, stores))
        return True
    return False


class _NotCached(Exception):
    pass


def _build(cache: Cache, digest: str, listing: Listing, stores: Mapping[str, Store], report: Report | None) -> None:
    meter = Meter(report, len(listing), listing.size)
    with pool_of(16) as files, pool_of(8) as blocks:

        def fill(root: str) -> None:
            def add(item: Item) -> None:
                _add(root, item, cache, store_of(item, stores), blocks, meter)

            for _ in in_parallel(files, add, listing):
                meter.add(files=1)

        _place_all(cache, digest, fill)
    meter.finish()


def _place_all(cache: Cache, digest: str, fill: Callable[[str], None]) -> None:
    aside = f"{cache.folder}/coming/{digest}.{os.getpid()}-{os.urandom(4).hex()}.view"
    os.mkdir(aside)
    try:
        with space(cache.folder):
            fill(aside)
            os.rename(aside, f"{cache.folder}/views/{digest}")
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _add(root: str, item: Item, cache: Cache, store: Store, pool: Executor, meter: Meter) -> None:
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


def _link_cached(root: str, cache: Cache, listing: Listing, stores: Mapping[str, Store]) -> None:
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
