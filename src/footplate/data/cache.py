"""Local copies of remote files, by content: shared by runs and processes, least recently used evicted first.

    objects/ab/<sha256>     whole files, mode 0444; mtime is the last use
    keys/ab/<key>           symlink from a store's file to its object: key = store, path, etag, size
    coming/<key>.*          downloads in progress (`partial`) and their locks (`.lock`)
    views/<name>/           the folder of a listing, as hard links to objects (`views`)

A file is fetched once, however many readers request it at the same time: the others wait. A file with a name is whole
and was verified. A reader holds a shared flock on its object, which dies with the reader; eviction takes only objects
that nobody holds. So a crash leaves nothing to repair, and the whole cache may be removed at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

from footplate.data.cache_limit import DEFAULT_LIMIT, limit_of
from footplate.data.stores.base import SMALL, Count, FileStore, fingerprint, ignore_count
from footplate.data.transfer import fetch
from footplate.data.transfer.partial import Partial
from footplate.disk import FileLock, atomic_symlink, space, temporary_file, write_all
from footplate.domain.data import StoreEntry
from footplate.errors import Unavailable

_IN_HOME = os.path.join("cache", "data")  # inside a home
_EVICT_TO = 0.9  # the fill level that eviction aims for
_USE_SECONDS = 60.0  # the last use is recorded no more often than this
_EVICT_SECONDS = 3600.0
_LEFTOVER_SECONDS = 7 * 24 * 3600.0


class Usage(NamedTuple):
    """Size of a cache. `in_use` bytes cannot be removed."""

    files: int
    bytes: int
    in_use: int
    limit: int


def cache_of(home: str) -> DataCache:
    """Return the cache of this home, with the limit of its settings."""
    return DataCache(os.path.join(home, _IN_HOME), limit_of(home))


def cache_at(folder: str) -> DataCache:
    """Return the cache in this directory, which usually is that of a home."""
    folder = os.path.abspath(folder)
    return cache_of(folder[: -len(_IN_HOME) - 1]) if folder.endswith(os.sep + _IN_HOME) else DataCache(folder)


class DataCache:
    def __init__(self, folder: str | os.PathLike[str], limit: int = DEFAULT_LIMIT) -> None:
        self.folder = os.path.abspath(folder)
        self.limit = limit
        self._added = 0
        self._evicted_at = -math.inf  # makes the first addition of each process check the total size
        for name in ("objects", "keys", "coming", "views"):
            os.makedirs(f"{self.folder}/{name}", exist_ok=True)

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def key(self, store: FileStore, entry: StoreEntry) -> str:
        """Return the key of a file. One without ETag, digest and date gets a new key each time."""
        validators = [entry.etag, entry.digest, f"{entry.modified}" if entry.modified else ""]
        if not any(validators):
            validators = [os.urandom(16).hex()]
        return fingerprint(store.spec.identity(), entry.path, str(entry.size), *validators)

    def find(self, key: str, size: int = -1) -> int | None:
        """Open the file with this key, and hold it until it is closed. Return None if it is not cached."""
        try:
            lock = FileLock(self._key_path(key), os.O_RDONLY)
        except FileNotFoundError:
            return None
        lock.take(shared=True)
        info = os.fstat(lock.file)
        if not info.st_nlink or size not in (-1, info.st_size):  # removed just now, or damaged by a disk crash
            lock.close()
            return None
        if time.time() - info.st_mtime > _USE_SECONDS:
            with contextlib.suppress(PermissionError):  # it belongs to another user
                os.utime(lock.file)
        return lock.file

    def has(self, key: str) -> bool:
        return os.path.exists(self._key_path(key))

    def open(self, store: FileStore, entry: StoreEntry, pool: Executor, count: Count = ignore_count) -> int:
        """Open the whole file, and hold it until it is closed. Fetch it if it is not cached."""
        key = self.key(store, entry)
        while True:
            file = self.find(key, entry.size)
            if file is not None:
                return file
            with hold_lock(f"{self.folder}/coming/{key}.lock"):
                if (file := self.find(key, entry.size)) is not None:
                    return file
                self._fetch(store, entry, key, pool, count)
                file = self.find(key, entry.size)  # held before eviction, since it may be larger than the whole limit
            self.evict_if_due()
            if file is not None:
                return file

    # ── fetching ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _fetch(self, store: FileStore, entry: StoreEntry, key: str, pool: Executor, count: Count) -> None:
        if 0 <= entry.size <= SMALL:
            data = fetch.read_whole(store, entry)
            self.keep_bytes(key, data)
            count(len(data))
        elif entry.size < 0 or not fetch.supports_ranges(store, entry):
            coming = f"{self.folder}/coming/{key}.stream"
            fetch.fetch_large(store, entry, coming, 0o444, pool, count)
            self._keep_file(key, coming)
        else:
            with self.partial(key, entry) as partial:
                fetch.fetch_blocks(store, entry, partial, pool, count)
                self.keep_partial(key, entry, partial)

    def partial(self, key: str, entry: StoreEntry) -> Partial:
        """Open the partial file of a download by blocks. Its last writer passes it to `keep_partial`."""
        return Partial(f"{self.folder}/coming/{key}.blocks", entry.size)

    def keep_partial(self, key: str, entry: StoreEntry, partial: Partial) -> None:
        """Verify a complete file, and keep it. Remove one that differs from its listing, and raise Broken."""
        fetch.verify_partial(partial, entry)
        try:
            partial.finish(0o444)
            self._keep_file(key, partial.path)
        except (Unavailable, FileNotFoundError):  # another process was first
            if not os.path.exists(self._key_path(key)):
                raise

    def keep_bytes(self, key: str, data: bytes, sync: bool = True) -> None:
        """Keep the content of a store's file."""
        digest = hashlib.sha256(data).hexdigest()
        if not _has_size(self._object_path(digest), len(data)):
            aside = f"{self.folder}/coming/{os.getpid()}-{os.urandom(6).hex()}.aside"
            with space(self.folder), temporary_file(aside, 0o444) as out:
                write_all(out, data)
                if sync:
                    os.fsync(out)
            self._add_object(digest, aside)
        self._link_key(key, digest)

    def _keep_file(self, key: str, path: str) -> None:
        with open(path, "rb", buffering=0) as file:
            digest = _hash(file.fileno())
        self._add_object(digest, path)
        self._link_key(key, digest)

    def _add_object(self, digest: str, path: str) -> None:
        os.makedirs(os.path.dirname(self._object_path(digest)), exist_ok=True)
        self._added += os.stat(path).st_size  # before it has its name, because another process may then remove it
        os.replace(path, self._object_path(digest))

    def _link_key(self, key: str, digest: str) -> None:
        aside = f"{self.folder}/coming/{os.getpid()}-{os.urandom(6).hex()}.link"
        with space(self.folder):
            os.makedirs(os.path.dirname(self._key_path(key)), exist_ok=True)
            atomic_symlink(f"../../objects/{digest[:2]}/{digest}", self._key_path(key), aside)

    def _object_path(self, digest: str) -> str:
        return f"{self.folder}/objects/{digest[:2]}/{digest}"

    def object_path(self, key: str) -> str:
        """Return the path of the object with this key. Raise FileNotFoundError if it is unknown."""
        return os.path.normpath(os.path.join(os.path.dirname(self._key_path(key)), os.readlink(self._key_path(key))))

    def _key_path(self, key: str) -> str:
        return f"{self.folder}/keys/{key[:2]}/{key}"

    # ── making room ───────────────────────────────────────────────────────────────────────────────────────────────────

    def usage(self) -> Usage:
        objects = list(self._objects())
        in_use = sum(one.size for one in objects if _is_held(one.path))
        return Usage(len(objects), sum(one.size for one in objects), in_use, self.limit)

    def evict_if_due(self) -> None:
        """Evict if enough was added. The caller holds the files that it needs."""
        if self._added > self.limit // 20 or time.monotonic() - self._evicted_at > _EVICT_SECONDS:
            self.evict()

    def evict(self, limit: int | None = None) -> int:
        """Remove the least recently used files until the cache fits.

        Return the bytes freed. A `limit` of 0 removes all.
        """
        limit, freed = self.limit if limit is None else limit, 0
        with hold_lock(f"{self.folder}/room.lock"):
            self._added = 0
            self._evicted_at = time.monotonic()
            objects = sorted(self._objects(), key=lambda one: one.used_at)
            excess = sum(one.size for one in objects) - limit
            if excess <= 0 and limit:
                return 0
            to_free = excess + int(limit * (1 - _EVICT_TO))
            freed = self._remove_objects(objects, to_free)
            for view in self._views():  # they free nothing themselves, but objects that only they link to can go next
                if freed >= to_free and limit:
                    break
                if self.remove_view(view):
                    remaining = sorted(self._objects(), key=lambda one: one.used_at)
                    freed += self._remove_objects(remaining, to_free - freed)
            self._remove_leftovers()
        return freed

    def _remove_objects(self, objects: Iterable[_Object], to_free: int) -> int:
        freed = 0
        for one in objects:
            if freed >= to_free:
                break
            if one.names == 1 and _remove_if_free(one.path):
                freed += one.size
        return freed

    def _views(self) -> list[str]:
        """Return the names of all views, least recently used first."""
        used: dict[str, float] = {}
        for entry in os.scandir(f"{self.folder}/views"):
            is_lock = entry.name.endswith(".lock")
            name = entry.name[: -len(".lock")] if is_lock else entry.name
            used[name] = entry.stat().st_mtime if is_lock else used.get(name, 0.0)
        return sorted((name for name in used if os.path.isdir(f"{self.folder}/views/{name}")), key=lambda n: used[n])

    def remove_view(self, name: str) -> bool:
        """Remove the view unless it is in use. Return whether it is gone."""
        view = f"{self.folder}/views/{name}"
        with FileLock(f"{view}.lock") as lock:
            if not lock.try_take():
                return False
            aside = f"{self.folder}/coming/{os.urandom(6).hex()}.gone"
            with contextlib.suppress(FileNotFoundError):
                os.chmod(view, 0o700)  # moving a directory needs write permission on it
                os.rename(view, aside)
                remove_tree(aside)
        return True

    def _remove_leftovers(self) -> None:
        """Remove links to objects that are gone, and leftovers of killed processes."""
        for folder in os.scandir(f"{self.folder}/keys"):
            for link in os.scandir(folder.path):
                if not os.path.exists(link.path):
                    os.unlink(link.path)
        for leftover in os.scandir(f"{self.folder}/coming"):
            with contextlib.suppress(FileNotFoundError):
                if leftover.stat(follow_symlinks=False).st_mtime < time.time() - _LEFTOVER_SECONDS:
                    remove_tree(leftover.path) if leftover.is_dir(follow_symlinks=False) else os.unlink(leftover.path)

    def _objects(self) -> Iterator[_Object]:
        for folder in os.scandir(f"{self.folder}/objects"):
            for entry in os.scandir(folder.path):
                with contextlib.suppress(FileNotFoundError):
                    info = entry.stat()
                    yield _Object(entry.path, info.st_size, info.st_mtime, info.st_nlink)


class _Object(NamedTuple):
    path: str
    size: int
    used_at: float
    names: int


def _has_size(path: str, size: int) -> bool:
    """Return whether the file exists with this size. A disk crash may have truncated it."""
    try:
        return os.stat(path).st_size == size
    except FileNotFoundError:
        return False


def _hash(file: int) -> str:
    digest = hashlib.sha256()
    for chunk in iter(lambda: os.read(file, SMALL), b""):
        digest.update(chunk)
    return digest.hexdigest()


def _is_held(path: str) -> bool:
    try:
        with FileLock(path, os.O_RDONLY) as lock:
            return not lock.try_take() and os.path.exists(path)
    except FileNotFoundError:
        return False


def _remove_if_free(path: str) -> bool:
    with contextlib.suppress(FileNotFoundError), FileLock(path, os.O_RDONLY) as lock:
        if lock.try_take() and os.fstat(lock.file).st_nlink:  # otherwise the name belongs to another object by now
            os.unlink(path)
            return True
    return False


def remove_tree(folder: str) -> None:
    """Remove a directory tree, including read-only directories such as those of views."""
    for each, _, _ in os.walk(folder):
        os.chmod(each, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def hold_lock(path: str) -> Generator[None, None, None]:
    """Hold a lock that dies with its owner, and remove its file when nobody waits for it."""
    while True:
        lock = FileLock(path)
        lock.take()
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(lock.file)):
                break
        lock.close()  # the previous holder has removed the file
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        lock.close()
