"""Many files to a store and from one: many at a time, each whole or not there, with progress.

A transfer that was cut off is repeated: files that are there are passed over (`skip`, the rule that is usual), and a
large one goes on with the blocks or parts that are missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from footplate.data.stores.base import SMALL, FileStore, Progress, Report
from footplate.data.stores.folder import ASIDE, FolderStore
from footplate.data.transfer import fetch
from footplate.disk import space, sync, write_all
from footplate.domain.data import FOLDER, Item, StoreEntry, StoreSpec
from footplate.domain.store_names import check_name
from footplate.errors import Conflict, InvalidInput, NotAllowed, NotFound

Overwrite = Literal["skip", "replace", "refuse"]
"""What becomes of a file that is there: it stays; it is replaced; it is a Conflict, before anything is moved."""

A = TypeVar("A")
R = TypeVar("R")
PARALLEL = 32
"""How many files are on their way at a time."""

PARALLEL_BLOCKS = 8
"""How many blocks of one large file are: fewer, because each is larger than most files."""

_REPORT_SECONDS = 0.1
_BATCH = 256  # files that are synced together and then named
_FEW = 16  # up to here each target is looked at; beyond, the folder of all of them is listed


class Uploaded(NamedTuple):
    """What an upload did: entries as the store has them now, and names that were there already."""

    stored: list[StoreEntry]
    skipped: list[str]


def local_files(folder: Path | str) -> Iterator[tuple[Path, str]]:
    """The files below a folder, and their names relative to it; what is still being written is not among them."""
    root = os.path.abspath(folder)
    if not os.path.isdir(root):
        raise NotFound(f"there is no folder {root}", "give the folder whose files are meant")
    for page in FolderStore(StoreSpec(FOLDER, {"path": root})).list():
        yield from ((Path(root, entry.path), entry.path) for entry in page)


# ── Up ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def upload(
    files: Iterable[tuple[Path, str]],
    store: FileStore,
    *,
    overwrite: Overwrite = "skip",
    report: Report | None = None,
    notes: Path | str | None = None,
) -> Uploaded:
    """Write local files to the store under the given names. Each is there whole or not at all.

    `notes`: a folder where it is written down how far large files are. An upload that was cut off goes on there.
    """
    if not store.writable:
        raise NotAllowed(f"{store!r} can only be read", "write to a datastore that is a folder or an object store")
    wanted = [(path, check_name(name)) for path, name in files]
    taken = _taken(store, [name for _, name in wanted]) if overwrite != "replace" else set[str]()
    if taken and overwrite == "refuse":
        raise Conflict(f"{min(taken)!r} exists in the store already", "overwrite it, or choose another name")
    todo = [(path, name, _size(path)) for path, name in wanted if name not in taken]
    meter = Meter(report, len(todo), sum(size for _, _, size in todo))

    def put(job: tuple[Path, str, int]) -> StoreEntry:
        path, name, size = job
        entry = _put(store, path, name, size, meter, notes)
        meter.add(files=1)
        return entry

    with pool_of(PARALLEL) as pool:
        stored = [entry for _, entry in in_parallel(pool, put, todo)]
    meter.finish()
    return Uploaded(stored, sorted(taken))


def _put(store: FileStore, path: Path, name: str, size: int, meter: Meter, notes: Path | str | None) -> StoreEntry:
    if size > SMALL:
        note = None if notes is None else os.path.join(notes, _key(store, path, name))
        return store.put(name, path, count=lambda more: meter.add(bytes=more), notes=note)
    data = _read_still(path)
    entry = store.put(name, data)
    meter.add(bytes=len(data))
    return entry


def _key(store: FileStore, path: Path, name: str) -> str:
    told = "\0".join((store.spec.identity(), name, str(path.absolute())))
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _read_still(path: Path) -> bytes:
    """A small file, as it was at one moment."""
    with path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        data = file.readall()
        after = os.fstat(file.fileno())
    if len(data) != before.st_size or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise Conflict(f"{path} was changed while it was sent", "send it again when nobody writes to it")
    return data


def _taken(store: FileStore, names: Sequence[str]) -> set[str]:
    """Which of the names exist in the store."""
    wanted = set(names)
    if len(wanted) <= _FEW:
        return {name for name in wanted if _exists(store, name)}
    folder = os.path.commonpath([os.path.dirname(name) for name in wanted])
    return {entry.path for page in store.list(folder) for entry in page if entry.path in wanted}


def _exists(store: FileStore, name: str) -> bool:
    try:
        store.stat(name)
    except NotFound:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", "give the path of a file of this machine") from None


# ── Down ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def download(
    items: Iterable[Item],
    stores: Mapping[str, FileStore],
    target: Path | str,
    *,
    overwrite: Overwrite = "skip",
    report: Report | None = None,
) -> list[Path]:
    """Write the items below the folder `target`, and say where each of them is, in their order.

    A file that was there and stayed (`skip`) is among the answers. One that comes with another length or content than
    was listed is Broken, and there is nothing of it.
    """
    wanted = [item._replace(name=check_name(item.name)) for item in items]
    root = os.path.abspath(target)
    taken = [item for item in wanted if overwrite != "replace" and os.path.lexists(f"{root}/{item.name}")]
    if taken and overwrite == "refuse":
        raise Conflict(f"{root}/{taken[0].name} exists", "overwrite it, or choose another folder")
    there = {item.name for item in taken}
    _fetch_all([item for item in wanted if item.name not in there], stores, root, report)
    return [Path(root, item.name) for item in wanted]


def _fetch_all(items: Sequence[Item], stores: Mapping[str, FileStore], root: str, report: Report | None) -> None:
    meter = Meter(report, len(items), sum(max(0, item.size) for item in items))
    small = [item for item in items if 0 <= item.size <= SMALL]
    large = [item for item in items if not 0 <= item.size <= SMALL]
    with space(root), _aside_folder(root) as aside, pool_of(PARALLEL) as pool, pool_of(1) as placing:
        _fetch_small(small, stores, root, aside, pool, placing, meter)
        with pool_of(PARALLEL_BLOCKS) as blocks:
            _fetch_large(large, stores, root, blocks, meter)
    meter.finish()


def _fetch_small(
    items: Sequence[Item],
    stores: Mapping[str, FileStore],
    root: str,
    aside: str,
    pool: ThreadPoolExecutor,
    placing: ThreadPoolExecutor,
    meter: Meter,
) -> None:
    """Each is written aside as it comes; one thread syncs and names them by the batch while the next ones come."""

    def get(numbered: tuple[int, Item]) -> tuple[str, str]:
        number, item = numbered
        path = f"{aside}/{number}"
        data = fetch.read_whole(store_of(item, stores), item.entry())
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
        meter.add(bytes=len(data))
        return path, f"{root}/{item.name}"

    placed, batch = list[Future[None]](), list[tuple[str, str]]()
    for _, moved in in_parallel(pool, get, enumerate(items)):
        batch.append(moved)
        if len(batch) >= _BATCH:
            placed.append(placing.submit(_place, batch, meter))
            batch = []
    placed.append(placing.submit(_place, batch, meter))
    fetch.wait_all(placed)


def _place(batch: Sequence[tuple[str, str]], meter: Meter) -> None:
    """Once the bytes are on the disk, the files get their names."""
    if not batch:
        return
    sync([aside for aside, _ in batch])
    for folder in {os.path.dirname(path) for _, path in batch}:
        os.makedirs(folder, exist_ok=True)
    for aside, path in batch:
        os.replace(aside, path)
    meter.add(files=len(batch))


def _fetch_large(
    items: Sequence[Item], stores: Mapping[str, FileStore], root: str, pool: ThreadPoolExecutor, meter: Meter
) -> None:
    """One after the other, each by as many blocks at a time as the pool has threads."""
    for item in items:
        path = f"{root}/{item.name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        store = store_of(item, stores)
        fetch.fetch_large(store, item.entry(), path, 0o644, pool, lambda more: meter.add(bytes=more))
        meter.add(files=1)


def store_of(item: Item, stores: Mapping[str, FileStore]) -> FileStore:
    try:
        return stores[item.store]
    except KeyError:
        raise InvalidInput(f"{item.name!r} is in a store {item.store!r} that was not given", "give its spec") from None


@contextlib.contextmanager
def _aside_folder(root: str) -> Generator[str, None, None]:
    """A folder in `root` for files on their way. Those of killed downloads, which nobody holds, are removed."""
    os.makedirs(root, exist_ok=True)
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(ASIDE) and entry.is_dir(follow_symlinks=False):
                _remove_if_free(entry.path)
    while True:
        folder = f"{root}/{ASIDE}{os.getpid()}-{os.urandom(4).hex()}"
        os.mkdir(folder)
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_EX)
        if os.path.isdir(folder):  # and not taken for one of the dead before it was locked
            break
        os.close(held)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _remove_if_free(folder: str) -> None:
    with contextlib.suppress(FileNotFoundError, BlockingIOError):
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(held)


# ── Many at a time ────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def pool_of(threads: int) -> Generator[ThreadPoolExecutor, None, None]:
    """A pool whose waiting work is dropped when something fails."""
    pool = ThreadPoolExecutor(threads, "footplate-data")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_parallel(pool: ThreadPoolExecutor, act: Callable[[A], R], jobs: Iterable[A]) -> Iterator[tuple[A, R]]:
    """`act` of each job as they finish, in no order. Jobs are taken from the iterable as there is room for them."""
    waiting, rest = dict[Future[R], A](), iter(jobs)
    while True:
        for job in rest:
            waiting[pool.submit(act, job)] = job
            if len(waiting) >= 2 * PARALLEL:
                break
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()


class Meter:
    """Counts what many threads move, and reports it about ten times a second."""

    def __init__(self, report: Report | None, files_total: int, bytes_total: int) -> None:
        self._report, self._lock, self._next = report, threading.Lock(), 0.0
        self._files, self._bytes = 0, 0
        self._files_total, self._bytes_total = files_total, bytes_total

    def add(self, files: int = 0, bytes: int = 0) -> None:
        if self._report is None:
            return
        with self._lock:
            self._files += files
            self._bytes += bytes
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + _REPORT_SECONDS
            self._report(self._progress())

    def finish(self) -> None:
        if self._report is not None:
            self._report(self._progress())

    def _progress(self) -> Progress:
        return Progress(self._files, self._files_total, self._bytes, max(self._bytes, self._bytes_total))
