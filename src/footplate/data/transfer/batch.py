"""Upload and download of many files in parallel, each whole or absent, with progress.

Repeat an interrupted transfer: it skips files that exist (`skip`, the usual rule), and resumes large ones with the
missing blocks or parts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from footplate.data.stores.base import SMALL, FileStore, Progress, Report, changed_source_error, exists, fingerprint
from footplate.data.stores.folder import ASIDE, FolderStore
from footplate.data.transfer import fetch
from footplate.disk import FileLock, space, sync, write_all
from footplate.domain.data import FOLDER, Item, StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, join
from footplate.errors import Conflict, InvalidInput, NotAllowed, NotFound

Overwrite = Literal["skip", "replace", "refuse"]
"""Treatment of a file that exists: keep it, replace it, or raise Conflict before anything is moved."""

A = TypeVar("A")
R = TypeVar("R")
PARALLEL = 32
"""Number of files transferred at the same time."""

PARALLEL_BLOCKS = 8
"""Number of blocks of one large file fetched at the same time: fewer, because each is larger than most files."""

_REPORT_SECONDS = 0.1
_BATCH = 256  # files that are synced together and then renamed
_FEW = 16  # up to this number each target is checked by itself; beyond, their common folder is listed


class Uploaded(NamedTuple):
    """Result of an upload: entries as the store has them now, and names that existed before."""

    stored: list[StoreEntry]
    skipped: list[str]


def local_files(folder: Path | str) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder with their relative names, except those still being written."""
    root = os.path.abspath(folder)
    if not os.path.isdir(root):
        raise NotFound(f"the folder {root} does not exist", "give an existing folder")
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
    stored: Mapping[str, str] | None = None,
) -> Uploaded:
    """Write local files to the store under the given names, each whole or not at all.

    `notes`: a directory that records the progress of large files, so that an interrupted upload can resume.
    `stored`: where the store has the content of some names already (see `find_unchanged`); these are linked.
    """
    if not store.writable:
        raise NotAllowed(f"{store!r} is read-only", "write to a datastore that is a folder or an object store")
    named = [(path, check_name(name)) for path, name in files]
    existing: set[str] = _existing(store, [name for _, name in named]) if overwrite != "replace" else set()
    if existing and overwrite == "refuse":
        raise Conflict(f"{min(existing)!r} already exists in the store", "overwrite it, or choose another name")
    todo = [(path, name, _size(path)) for path, name in named if name not in existing]
    meter = ProgressMeter(report, len(todo), sum(size for _, _, size in todo))

    def put(job: tuple[Path, str, int]) -> StoreEntry:
        path, name, size = job
        entry = None
        if isinstance(store, FolderStore) and name in stored_paths:
            entry = store.link(name, stored_paths[name])
        if entry is None:
            entry = _put(store, path, name, size, meter, notes)
        else:
            meter.add(bytes=size)
        meter.add(files=1)
        return entry

    stored_paths = stored or {}
    with thread_pool(PARALLEL) as pool:
        entries = [entry for _, entry in in_parallel(pool, put, todo)]
    meter.finish()
    return Uploaded(entries, sorted(existing))


def find_unchanged(files: Sequence[tuple[Path, str]], store: FileStore, earlier: str) -> dict[str, str]:
    """Return, for each name whose content the folder `earlier` of the store has too, the path there.

    Both files are read. Only for stores that are folders: others cannot link files.
    """
    if not isinstance(store, FolderStore):
        return {}

    def is_same(job: tuple[Path, str]) -> bool:
        return store.is_same(join(earlier, job[1]), job[0])

    with thread_pool(PARALLEL) as pool:
        return {name: join(earlier, name) for (_, name), same in in_parallel(pool, is_same, files) if same}


def _put(
    store: FileStore, path: Path, name: str, size: int, meter: ProgressMeter, notes: Path | str | None
) -> StoreEntry:
    if size > SMALL:
        key = fingerprint(store.spec.identity(), name, str(path.absolute()))[:32]
        note = "" if notes is None else os.path.join(notes, key)
        return store.put(name, path, count=lambda more: meter.add(bytes=more), notes=note)
    data = _read_unchanging(path)
    entry = store.put(name, data)
    meter.add(bytes=len(data))
    return entry


def _read_unchanging(path: Path) -> bytes:
    """Read a small file, and raise Conflict if it changes meanwhile."""
    with path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        data = file.readall()
        after = os.fstat(file.fileno())
    if len(data) != before.st_size or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise changed_source_error(path)
    return data


def _existing(store: FileStore, names: Sequence[str]) -> set[str]:
    """Return the names that exist in the store."""
    distinct = set(names)
    if len(distinct) <= _FEW:
        return {name for name in distinct if exists(store, name)}
    folder = os.path.commonpath([os.path.dirname(name) for name in distinct])
    return {entry.path for page in store.list(folder) for entry in page if entry.path in distinct}


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        raise NotFound(f"the file {path} does not exist", "give the path of a file on this machine") from None


# ── Down ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def download(
    items: Iterable[Item],
    stores: Mapping[str, FileStore],
    target: Path | str,
    *,
    overwrite: Overwrite = "skip",
    report: Report | None = None,
) -> list[Path]:
    """Write the items below the folder `target`, and return their paths, in order.

    These include existing files that were kept (`skip`). A file whose length or content differs from its listing raises
    Broken, and nothing of it is left.
    """
    named = [item._replace(name=check_name(item.name)) for item in items]
    root = os.path.abspath(target)
    existing = [item for item in named if overwrite != "replace" and os.path.lexists(f"{root}/{item.name}")]
    if existing and overwrite == "refuse":
        raise Conflict(f"{root}/{existing[0].name} already exists", "overwrite it, or choose another folder")
    there = {item.name for item in existing}
    _fetch_all([item for item in named if item.name not in there], stores, root, report)
    return [Path(root, item.name) for item in named]


def _fetch_all(items: Sequence[Item], stores: Mapping[str, FileStore], root: str, report: Report | None) -> None:
    meter = ProgressMeter(report, len(items), sum(max(0, item.size) for item in items))
    small = [item for item in items if 0 <= item.size <= SMALL]
    large = [item for item in items if not 0 <= item.size <= SMALL]
    with space(root), _aside_folder(root) as aside, thread_pool(PARALLEL) as pool, thread_pool(1) as placing:
        _fetch_small(small, stores, root, aside, pool, placing, meter)
        with thread_pool(PARALLEL_BLOCKS) as blocks:
            _fetch_large(large, stores, root, blocks, meter)
    meter.finish()


def _fetch_small(
    items: Sequence[Item],
    stores: Mapping[str, FileStore],
    root: str,
    aside: str,
    pool: ThreadPoolExecutor,
    placing: ThreadPoolExecutor,
    meter: ProgressMeter,
) -> None:
    """Write each file aside as it arrives; one thread syncs and renames them in batches meanwhile."""

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

    placed: list[Future[None]] = []
    batch: list[tuple[str, str]] = []
    for _, moved in in_parallel(pool, get, enumerate(items)):
        batch.append(moved)
        if len(batch) >= _BATCH:
            placed.append(placing.submit(_place, batch, meter))
            batch = []
    placed.append(placing.submit(_place, batch, meter))
    fetch.wait_all(placed)


def _place(batch: Sequence[tuple[str, str]], meter: ProgressMeter) -> None:
    """Rename the files once their bytes are on the disk."""
    if not batch:
        return
    sync([aside for aside, _ in batch])
    for folder in {os.path.dirname(path) for _, path in batch}:
        os.makedirs(folder, exist_ok=True)
    for aside, path in batch:
        os.replace(aside, path)
    meter.add(files=len(batch))


def _fetch_large(
    items: Sequence[Item], stores: Mapping[str, FileStore], root: str, pool: ThreadPoolExecutor, meter: ProgressMeter
) -> None:
    """Fetch one file after the other, each in parallel blocks."""
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
        raise InvalidInput(
            f"{item.name!r} is in the store {item.store!r}, whose spec is missing", "pass its spec too"
        ) from None


@contextlib.contextmanager
def _aside_folder(root: str) -> Generator[str, None, None]:
    """Make a directory in `root` for incomplete files. Remove those of killed downloads, which nobody has locked."""
    os.makedirs(root, exist_ok=True)
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(ASIDE) and entry.is_dir(follow_symlinks=False):
                _remove_if_free(entry.path)
    while True:
        folder = f"{root}/{ASIDE}{os.getpid()}-{os.urandom(4).hex()}"
        os.mkdir(folder)
        lock = FileLock(folder, os.O_RDONLY)
        lock.take()
        if os.path.isdir(folder):  # unless another process took it for a dead one before it was locked
            break
        lock.close()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def _remove_if_free(folder: str) -> None:
    with contextlib.suppress(FileNotFoundError), FileLock(folder, os.O_RDONLY) as lock:
        if lock.try_take():
            shutil.rmtree(folder, ignore_errors=True)


# ── Many at a time ────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def thread_pool(threads: int) -> Generator[ThreadPoolExecutor, None, None]:
    """A thread pool that drops waiting work when something fails."""
    pool = ThreadPoolExecutor(threads, "footplate-data")
    try:
        yield pool
    finally:
        shut_down(pool)


def shut_down(pool: ThreadPoolExecutor) -> None:
    """Wait for work that has begun, and drop the rest; on Python 3.8 the rest, which is little, is done as well."""
    if sys.version_info >= (3, 9):
        pool.shutdown(wait=True, cancel_futures=True)
    else:
        pool.shutdown(wait=True)


def in_parallel(pool: ThreadPoolExecutor, act: Callable[[A], R], jobs: Iterable[A]) -> Iterator[tuple[A, R]]:
    """Yield the result of `act` for each job as it finishes.

    Jobs are taken from the iterable as there is room for them.
    """
    rest = iter(jobs)
    waiting: dict[Future[R], A] = {}
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


class ProgressMeter:
    """Counts what many threads move, and reports it about ten times a second."""

    def __init__(self, report: Report | None, files_total: int, bytes_total: int) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._next = 0.0
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
