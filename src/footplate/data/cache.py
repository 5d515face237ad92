"""Remote files on this machine, by content: shared by runs and processes, the least recently used out first.

    objects/ab/<sha256>     whole files, mode 0444; the time of change is that of the last use
    keys/ab/<key>           link to the object that a file of a store is: key = store, path, etag, size
    coming/<key>.*          what is still coming in (`partial`), or being fetched (`.lock`)
    views/<name>/           the folder of a listing, as hard links to objects (`views`)

A file is fetched once, however many ask for it at the same time: the others wait. What has a name is whole and was
checked. An object that somebody reads is held by a shared flock of its own, which dies with the reader; whoever makes
room takes only what nobody holds. So a crash leaves nothing to repair, and all of it may be removed at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

from footplate.data.cache_limit import DEFAULT_LIMIT, limit_of
from footplate.data.stores.base import SMALL, Count, FileStore
from footplate.data.transfer import fetch
from footplate.data.transfer.partial import Partial
from footplate.disk import atomic_symlink, space, temporary_file, write_all
from footplate.domain.data import StoreEntry
from footplate.errors import Broken, Unavailable

_PLACE = os.path.join("cache", "data")  # in a home
_ROOM = 0.9  # how full it is after room was made
_USE_SECONDS = 60.0  # the last use is noted no more often than this
_ROOM_SECONDS = 3600.0
_FORGOTTEN_SECONDS = 7 * 24 * 3600.0


class Usage(NamedTuple):
    """What a cache holds. `held` is what is in use now, and cannot be removed."""

    files: int
    bytes: int
    held: int
    limit: int


def cache_of(home: str) -> DataCache:
    """The cache of this home, as large as its settings allow now."""
    return DataCache(os.path.join(home, _PLACE), limit_of(home))


def cache_at(folder: str) -> DataCache:
    """The cache in this folder, which is most often that of a home."""
    folder = os.path.abspath(folder)
    return cache_of(folder[: -len(_PLACE) - 1]) if folder.endswith(os.sep + _PLACE) else DataCache(folder)


class DataCache:
    def __init__(self, folder: str | os.PathLike[str], limit: int = DEFAULT_LIMIT) -> None:
        self.folder, self.limit = os.path.abspath(folder), limit
        self._added, self._room_made = 0, 0.0  # so that the first addition of each process looks at the whole
        for name in ("objects", "keys", "coming", "views"):
            os.makedirs(f"{self.folder}/{name}", exist_ok=True)

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def key(self, store: FileStore, entry: StoreEntry) -> str:
        """What a file is known by here. One that nothing is known of has a new key each time."""
        known = [entry.etag, entry.digest, f"{entry.modified}" if entry.modified else ""]
        told = [store.spec.identity(), entry.path, str(entry.size), *(known if any(known) else [os.urandom(16).hex()])]
        return hashlib.sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()

    def find(self, key: str, size: int = -1) -> int | None:
        """The file with this key, open and held until it is closed; None when it is not here."""
        try:
            file = os.open(self._link(key), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        fcntl.flock(file, fcntl.LOCK_SH)
        info = os.fstat(file)
        if not info.st_nlink or size not in (-1, info.st_size):  # removed just now, or damaged by a crash of the disk
            os.close(file)
            return None
        if time.time() - info.st_mtime > _USE_SECONDS:
            with contextlib.suppress(PermissionError):  # of another user
                os.utime(file)
        return file

    def has(self, key: str) -> bool:
        return os.path.exists(self._link(key))

    def open(self, store: FileStore, entry: StoreEntry, pool: Executor, count: Count = lambda _: None) -> int:
        """The whole file, fetched if it is not here: open, and held until it is closed."""
        key = self.key(store, entry)
        while True:
            file = self.find(key, entry.size)
            if file is not None:
                return file
            with self._turn(key):
                if (file := self.find(key, entry.size)) is not None:
                    return file
                self._fetch(store, entry, key, pool, count)
                file = self.find(key, entry.size)  # held before room is made: it may be larger than the whole limit
            self.make_room_if_due()
            if file is not None:
                return file

    # ── fetching ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _fetch(self, store: FileStore, entry: StoreEntry, key: str, pool: Executor, count: Count) -> None:
        if 0 <= entry.size <= SMALL:
            data = fetch.read_whole(store, entry)
            self.keep_bytes(key, data)
            count(len(data))
        elif entry.size < 0 or not fetch.answers_ranges(store, entry):
            coming = f"{self.folder}/coming/{key}.stream"
            fetch.fetch_large(store, entry, coming, 0o444, pool, count)
            self._keep_file(key, coming)
        else:
            with self.partial(key, entry) as partial:
                fetch.fetch_blocks(store, entry, partial, pool, count)
                self.keep_partial(key, entry, partial)

    def partial(self, key: str, entry: StoreEntry) -> Partial:
        """The file while it comes in by blocks. Whoever wrote the last one hands it to `keep_partial`."""
        return Partial(f"{self.folder}/coming/{key}.blocks", entry.size)

    def keep_partial(self, key: str, entry: StoreEntry, partial: Partial) -> None:
        """Check a file that is whole, and keep it; one that is not what was listed is Broken, and gone."""
        try:
            fetch.check_digest(entry, partial.chunks())
        except Broken:
            partial.discard()
            raise
        try:
            partial.finish(0o444)
            self._keep_file(key, partial.path)
        except (Unavailable, FileNotFoundError):  # another process was first
            if not os.path.exists(self._link(key)):
                raise

    def keep_bytes(self, key: str, data: bytes, sync: bool = True) -> None:
        """Keep what a file of a store holds."""
        digest = hashlib.sha256(data).hexdigest()
        if not _has_size(self._object(digest), len(data)):
            aside = f"{self.folder}/coming/{os.getpid()}-{os.urandom(6).hex()}.aside"
            with space(self.folder), temporary_file(aside, 0o444) as out:
                write_all(out, data)
                if sync:
                    os.fsync(out)
            self._name(digest, aside)
        self._point(key, digest)

    def _keep_file(self, key: str, path: str) -> None:
        with open(path, "rb", buffering=0) as file:
            digest = _hash(file.fileno())
        self._name(digest, path)
        self._point(key, digest)

    def _name(self, digest: str, path: str) -> None:
        os.makedirs(os.path.dirname(self._object(digest)), exist_ok=True)
        self._added += os.stat(path).st_size  # before it has its name: then another process may remove it
        os.replace(path, self._object(digest))

    def _point(self, key: str, digest: str) -> None:
        aside = f"{self.folder}/coming/{os.getpid()}-{os.urandom(6).hex()}.link"
        with space(self.folder):
            os.makedirs(os.path.dirname(self._link(key)), exist_ok=True)
            atomic_symlink(f"../../objects/{digest[:2]}/{digest}", self._link(key), aside)

    def _object(self, digest: str) -> str:
        return f"{self.folder}/objects/{digest[:2]}/{digest}"

    def object_of(self, key: str) -> str:
        """Where the object with this key is. FileNotFoundError when it is not known."""
        return os.path.normpath(os.path.join(os.path.dirname(self._link(key)), os.readlink(self._link(key))))

    def _link(self, key: str) -> str:
        return f"{self.folder}/keys/{key[:2]}/{key}"

    def _turn(self, key: str) -> contextlib.AbstractContextManager[int]:
        return held_lock(f"{self.folder}/coming/{key}.lock")

    # ── making room ───────────────────────────────────────────────────────────────────────────────────────────────────

    def usage(self) -> Usage:
        found = list(self._objects())
        held = sum(one.size for one in found if _is_in_use(one.path))
        return Usage(len(found), sum(one.size for one in found), held, self.limit)

    def make_room_if_due(self) -> None:
        """For who has added something, and holds what must stay."""
        if self._added > self.limit // 20 or time.time() - self._room_made > _ROOM_SECONDS:
            self.make_room()

    def make_room(self, limit: int | None = None) -> int:
        """Remove what was used longest ago until there is room; how many bytes that freed. 0 as `limit` removes all."""
        limit, freed = self.limit if limit is None else limit, 0
        with held_lock(f"{self.folder}/room.lock"):
            self._added, self._room_made = 0, time.time()
            found = sorted(self._objects(), key=lambda one: one.used)
            excess = sum(one.size for one in found) - limit
            if excess <= 0 and limit:
                return 0
            wanted = excess + int(limit * (1 - _ROOM))
            freed = self._remove_objects(found, wanted)
            for view in self._views():  # which free nothing by themselves: what only they have named goes next
                if freed >= wanted and limit:
                    break
                if self.remove_view(view):
                    left = sorted(self._objects(), key=lambda one: one.used)
                    freed += self._remove_objects(left, wanted - freed)
            self._forget()
        return freed

    def _remove_objects(self, found: Iterable[_Object], wanted: int) -> int:
        freed = 0
        for one in found:
            if freed >= wanted:
                break
            if one.names == 1 and _remove_if_free(one.path):
                freed += one.size
        return freed

    def _views(self) -> list[str]:
        """Their names, the one that was used longest ago first."""
        used = dict[str, float]()
        for entry in os.scandir(f"{self.folder}/views"):
            name, is_lock = entry.name.removesuffix(".lock"), entry.name.endswith(".lock")
            used[name] = entry.stat().st_mtime if is_lock else used.get(name, 0.0)
        return sorted((name for name in used if os.path.isdir(f"{self.folder}/views/{name}")), key=lambda n: used[n])

    def remove_view(self, name: str) -> bool:
        """Whether it is gone: one that is in use stays."""
        held = os.open(f"{self.folder}/views/{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            return False
        gone = f"{self.folder}/coming/{os.urandom(6).hex()}.gone"
        with contextlib.suppress(FileNotFoundError):
            os.chmod(f"{self.folder}/views/{name}", 0o700)  # who may not write to a folder may not move it
            os.rename(f"{self.folder}/views/{name}", gone)
            remove_tree(gone)
        os.close(held)
        return True

    def _forget(self) -> None:
        """Links to objects that are gone, and what killed processes have left."""
        for folder in os.scandir(f"{self.folder}/keys"):
            for link in os.scandir(folder.path):
                if not os.path.exists(link.path):
                    os.unlink(link.path)
        for left in os.scandir(f"{self.folder}/coming"):
            with contextlib.suppress(FileNotFoundError):
                if left.stat(follow_symlinks=False).st_mtime < time.time() - _FORGOTTEN_SECONDS:
                    remove_tree(left.path) if left.is_dir(follow_symlinks=False) else os.unlink(left.path)

    def verify(self) -> list[str]:
        """Read every object; those that are not what their name says are removed, and named."""
        damaged = list[str]()
        for one in self._objects():
            with contextlib.suppress(FileNotFoundError), open(one.path, "rb") as file:
                if _hash(file.fileno()) != os.path.basename(one.path):
                    os.unlink(one.path)
                    damaged.append(one.path)
        return damaged

    def _objects(self) -> Iterator[_Object]:
        for folder in os.scandir(f"{self.folder}/objects"):
            for entry in os.scandir(folder.path):
                with contextlib.suppress(FileNotFoundError):
                    info = entry.stat()
                    yield _Object(entry.path, info.st_size, info.st_mtime, info.st_nlink)


class _Object(NamedTuple):
    path: str
    size: int
    used: float
    names: int


def _has_size(path: str, size: int) -> bool:
    """Whether the file is there, and not one that a crash of the disk has cut short."""
    try:
        return os.stat(path).st_size == size
    except FileNotFoundError:
        return False


def _hash(file: int) -> str:
    digest = hashlib.sha256()
    for chunk in iter(lambda: os.read(file, SMALL), b""):
        digest.update(chunk)
    return digest.hexdigest()


def _is_in_use(path: str) -> bool:
    """Asked with an exclusive lock: who uses an object holds it together with all others who do."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)


def _remove_if_free(path: str) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(file).st_nlink:  # it is another's name by now
            return False
        os.unlink(path)
        return True
    except (BlockingIOError, FileNotFoundError):
        return False
    finally:
        os.close(file)


def remove_tree(folder: str) -> None:
    """Also of folders that nobody may write to, as those of views."""
    for each, _, _ in os.walk(folder):
        os.chmod(each, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def held_lock(path: str) -> Generator[int, None, None]:
    """A lock that dies with its owner, and whose file is gone when nobody wants it any more."""
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(held)):
                break
        os.close(held)  # whoever had it has removed the file
    try:
        yield held
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.close(held)
