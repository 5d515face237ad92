"""Folders of this machine as stores, and Azure file shares that are mounted."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import uuid
from collections.abc import Generator, Iterator
from io import FileIO
from pathlib import Path

from footplate.data.stores.base import Children, Count, uncounted
from footplate.disk import atomic_file, copy, place, space, write_all
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder, join
from footplate.errors import Conflict, InvalidInput, NotAllowed, NotFound

ASIDE = ".footplate-aside-"
"""Prefix of the names of files that are still being written. No listing shows them."""

_PAGE = 1000
_CHUNK = 4 * 1024 * 1024


class FolderStore:
    """A folder. Symlinks are followed, as any program reading the folder would; cycles are not walked twice."""

    writable = True
    ranges: bool | None = True

    def __init__(self, spec: StoreSpec) -> None:
        root = os.path.expanduser(spec.location["path"])
        if not os.path.isabs(root):
            raise InvalidInput(
                f"the folder {root!r} is not absolute", f"give its absolute path: {os.path.abspath(root)}"
            )
        self.spec = spec
        self.folder: Path | None = Path(root)
        self._root = root

    def __repr__(self) -> str:
        return f"FolderStore({self._root!r})"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        page = list[StoreEntry]()
        for entry in self._walk(clean_folder(prefix), frozenset()):
            page.append(entry)
            if len(page) == _PAGE:
                yield page
                page = []
        if page:
            yield page

    def _walk(self, folder: str, above: frozenset[tuple[int, int]]) -> Iterator[StoreEntry]:
        try:
            info = os.stat(self._local(folder))
        except FileNotFoundError:
            return
        this = (info.st_dev, info.st_ino)
        if this in above:  # a symlink to an ancestor
            return
        children = self._scan(folder)
        yield from children.files
        for name in children.folders:
            yield from self._walk(join(folder, name), above | {this})

    def children(self, folder: str = "") -> Children:
        return self._scan(clean_folder(folder))

    def _scan(self, folder: str) -> Children:
        found = Children([], [])
        with _translated(folder or "."), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with os.scandir(self._local(folder)) as entries:
                for entry in entries:
                    if not entry.name.startswith(ASIDE):
                        _sort_in(found, folder, entry)
        return found

    def stat(self, path: str) -> StoreEntry:
        with _translated(path):
            info = os.stat(self._local(check_name(path)))
        if not stat.S_ISREG(info.st_mode):
            raise NotFound(f"{path!r} is not a file in {self._root}", "list the folder instead")
        return _entry(path, info)

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        with self._open(path, etag) as file:
            if length is None:
                length = max(0, os.fstat(file).st_size - start)
            return _read_range(file, start, length)

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        with self._open(path, etag) as file:
            while chunk := os.pread(file, _CHUNK, start):
                start += len(chunk)
                yield chunk

    def open(self, path: str) -> tuple[StoreEntry, FileIO]:
        """Open the file for reading, and return its entry as of now."""
        with _translated(path):
            file = FileIO(self._local(check_name(path)))
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            file.close()
            raise NotFound(f"{path!r} is not a file in {self._root}", "list the folder instead")
        return _entry(path, info), file

    @contextlib.contextmanager
    def _open(self, path: str, etag: str) -> Generator[int, None, None]:
        with _translated(path):
            file = os.open(self._local(check_name(path)), os.O_RDONLY | os.O_CLOEXEC)
        try:
            if etag and _entry(path, os.fstat(file)).etag != etag:
                raise Conflict(f"{path!r} in {self._root} has changed", "create a new version of the dataset")
            with _translated(path):
                yield file
        finally:
            os.close(file)

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = uncounted, notes: str = ""
    ) -> StoreEntry:
        target = self._local(check_name(path))
        with _translated(path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            aside = os.path.join(os.path.dirname(target), f"{ASIDE}{uuid.uuid4().hex}")
            with (
                _conflict_if_exists(target),
                space(os.path.dirname(target)),
                atomic_file(target, durable=True, temporary=aside, overwrite=not if_absent) as out,
            ):
                _fill(out, source)
        entry = self.stat(path)
        count(entry.size)
        return entry

    def take(self, path: str, aside: Path, *, if_absent: bool = False) -> StoreEntry:
        """Rename a complete file on the same disk to `path`."""
        target = self._local(check_name(path))
        with _translated(path):
            with open(aside, "rb") as file:
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with _conflict_if_exists(target):
                place(aside, target, overwrite=not if_absent)
        return self.stat(path)

    def delete(self, path: str) -> None:
        with _translated(path), contextlib.suppress(FileNotFoundError):
            os.unlink(self._local(check_name(path)))

    def _local(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


class MountedShare(FolderStore):
    """An Azure file share. The kernel speaks SMB and NFS better than any library, so the share must be mounted.

    `location["path"]` is its mount point on this machine.
    """

    def __init__(self, spec: StoreSpec) -> None:
        if not spec.location.get("path"):
            share = f"{spec.location['account']}.file.core.windows.net/{spec.location['share']}"
            raise InvalidInput(
                f"the Azure file share {share} is not mounted on this machine",
                f"mount it (mount -t cifs //{share} /mnt/share …) and register it with path='/mnt/share'; "
                "or copy it to a blob container, which needs no mount",
            )
        super().__init__(spec)


def _sort_in(found: Children, folder: str, entry: os.DirEntry[str]) -> None:
    try:
        if entry.is_dir():
            found.folders.append(entry.name)
        elif entry.is_file():
            found.files.append(_entry(join(folder, entry.name), entry.stat()))
    except FileNotFoundError:  # removed during the scan
        pass
    except OSError as error:
        if error.errno != errno.ELOOP:  # a symlink to itself is as dangling as one to nowhere
            raise


def _entry(path: str, info: os.stat_result) -> StoreEntry:
    return StoreEntry(path, info.st_size, f"{info.st_mtime_ns:x}-{info.st_size:x}", info.st_mtime)


def _read_range(file: int, start: int, length: int) -> bytes:
    pieces = list[bytes]()
    while length > 0 and (piece := os.pread(file, length, start)):
        pieces.append(piece)
        start, length = start + len(piece), length - len(piece)
    return b"".join(pieces)


def _fill(out: int, source: bytes | Path) -> None:
    if isinstance(source, bytes):
        write_all(out, source)
        return
    file = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copy(file, out)
    finally:
        os.close(file)


@contextlib.contextmanager
def _conflict_if_exists(target: str) -> Generator[None, None, None]:
    try:
        yield
    except FileExistsError:
        raise Conflict(f"{target} already exists", "choose another name, or overwrite it") from None


@contextlib.contextmanager
def _translated(path: str) -> Generator[None, None, None]:
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"{path!r} does not exist", "list the folder: names are case-sensitive") from None
    except PermissionError as error:
        raise NotAllowed(
            f"{error.filename or path} cannot be accessed: {error.strerror}", "check its permissions"
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.EISDIR):
            raise Conflict(f"{path!r} cannot be both a file and a folder", "choose another name") from None
        raise
