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

from footplate.data.stores.base import Children, Count, ignore_count
from footplate.data.stores.beneath import make_directories, open_beneath
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
        page: list[StoreEntry] = []
        for entry in self._walk(clean_folder(prefix), frozenset()):
            page.append(entry)
            if len(page) == _PAGE:
                yield page
                page = []
        if page:
            yield page

    def _walk(self, folder: str, above: frozenset[tuple[int, int]]) -> Iterator[StoreEntry]:
        try:
            info = self._stat(folder)
        except (FileNotFoundError, NotADirectoryError):
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
        children = Children([], [])
        with _translated(folder or "."), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with self._opened_folder(folder) as place, os.scandir(place) as entries:
                for entry in entries:
                    if not entry.name.startswith(ASIDE):
                        self._sort_in(children, folder, entry)
        return children

    def _sort_in(self, children: Children, folder: str, entry: os.DirEntry[str]) -> None:
        try:
            if entry.is_dir():
                children.folders.append(entry.name)
            elif entry.is_file():
                children.files.append(_entry(join(folder, entry.name), entry.stat()))
        except FileNotFoundError:  # removed during the scan
            pass
        except OSError as error:
            if error.errno != errno.ELOOP:  # a symlink to itself is as dangling as one to nowhere
                raise

    def stat(self, path: str) -> StoreEntry:
        with _translated(path):
            info = self._stat(check_name(path))
        self._check_regular(path, info)
        return _entry(path, info)

    def _check_regular(self, path: str, info: os.stat_result) -> None:
        if not stat.S_ISREG(info.st_mode):
            raise NotFound(f"{path!r} is not a file in {self._root}", "list the folder instead")

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
            file = self._open_file(check_name(path))
        try:
            info = os.fstat(file)
            self._check_regular(path, info)
        except BaseException:
            os.close(file)
            raise
        return _entry(path, info), FileIO(file)

    @contextlib.contextmanager
    def _open(self, path: str, etag: str) -> Generator[int, None, None]:
        entry, file = self.open(path)
        with file:
            if etag and entry.etag != etag:
                raise Conflict(f"{path!r} in {self._root} has changed", "create a new version of the dataset")
            with _translated(path):
                yield file.fileno()

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        with _translated(path), space(self._root), self._made_folder_of(check_name(path)) as target:
            aside = os.path.join(os.path.dirname(target), f"{ASIDE}{uuid.uuid4().hex}")
            with atomic_file(target, durable=True, temporary=aside, overwrite=not if_absent) as out:
                _fill(out, source)
        entry = self.stat(path)
        count(entry.size)
        return entry

    def is_same(self, path: str, source: Path) -> bool:
        """Whether the store has a file of this name with the content of the local file `source`."""
        try:
            with open(self._local(check_name(path)), "rb") as stored, open(source, "rb") as local:
                if os.fstat(stored.fileno()).st_size != os.fstat(local.fileno()).st_size:
                    return False
                return all(chunk == local.read(_CHUNK) for chunk in iter(lambda: stored.read(_CHUNK), b""))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            return False

    def link(self, path: str, stored: str) -> StoreEntry | None:
        """Give a stored file a second name, and return its entry; None where the file system cannot.

        Nobody but root may write to the file then, because a change would show under both names.
        """
        with _translated(path), self._made_folder_of(check_name(path)) as target:
            try:
                os.link(self._local(check_name(stored)), target)
                os.chmod(target, 0o444)
            except FileExistsError:
                raise
            except OSError:  # a share without links, or a file of another user
                return None
        return self.stat(path)

    def take(self, path: str, aside: Path, *, if_absent: bool = False) -> StoreEntry:
        """Rename a complete file on the same disk to `path`."""
        with _translated(path), self._made_folder_of(check_name(path)) as target:
            with open(aside, "rb") as file:
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            place(aside, target, overwrite=not if_absent)
        return self.stat(path)

    def delete(self, path: str) -> None:
        with _translated(path), contextlib.suppress(FileNotFoundError):
            self._unlink(check_name(path))

    # ── paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _local(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _stat(self, path: str) -> os.stat_result:
        return os.stat(self._local(path))

    def _open_file(self, path: str) -> int:
        return os.open(self._local(path), os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def _opened_folder(self, path: str) -> Generator[int | str, None, None]:
        yield self._local(path)

    @contextlib.contextmanager
    def _made_folder_of(self, path: str) -> Generator[str, None, None]:
        """Create the folder of a file, and yield the path to write the file to."""
        target = self._local(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        yield target

    def _unlink(self, path: str) -> None:
        os.unlink(self._local(path))


class ConfinedFolder(FolderStore):
    """A folder whose users may not reach beyond it: symlinks that lead outside are refused, and not listed.

    For folders that others may write to.
    """

    def _sort_in(self, children: Children, folder: str, entry: os.DirEntry[str]) -> None:
        if not entry.is_symlink():
            super()._sort_in(children, folder, entry)
            return
        path = join(folder, entry.name)
        try:
            info = self._stat(path)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            return
        if stat.S_ISDIR(info.st_mode):
            children.folders.append(entry.name)
        elif stat.S_ISREG(info.st_mode):
            children.files.append(_entry(path, info))

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int) -> Generator[int, None, None]:
        file = self._open_beneath(path, flags)
        try:
            yield file
        finally:
            os.close(file)

    def _open_beneath(self, path: str, flags: int) -> int:
        root = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return open_beneath(root, path, flags)
        finally:
            os.close(root)

    def _stat(self, path: str) -> os.stat_result:
        with self._opened(path, os.O_PATH) as file:
            return os.fstat(file)

    def _open_file(self, path: str) -> int:
        return self._open_beneath(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not block the server

    @contextlib.contextmanager
    def _opened_folder(self, path: str) -> Generator[int | str, None, None]:
        with self._opened(path, os.O_RDONLY | os.O_DIRECTORY) as folder:
            yield folder

    @contextlib.contextmanager
    def _made_folder_of(self, path: str) -> Generator[str, None, None]:
        os.makedirs(self._root, exist_ok=True)
        above, _, name = path.rpartition("/")
        with self._opened("", os.O_PATH | os.O_DIRECTORY) as root:
            folder = make_directories(root, above)
        try:
            yield f"/proc/self/fd/{folder}/{name}"
        finally:
            os.close(folder)

    def _unlink(self, path: str) -> None:
        above, _, name = path.rpartition("/")
        with self._opened(above, os.O_PATH | os.O_DIRECTORY) as folder:
            os.unlink(name, dir_fd=folder)


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


def _entry(path: str, info: os.stat_result) -> StoreEntry:
    return StoreEntry(path, info.st_size, f"{info.st_mtime_ns:x}-{info.st_size:x}", info.st_mtime)


def _read_range(file: int, start: int, length: int) -> bytes:
    pieces: list[bytes] = []
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
def _translated(path: str) -> Generator[None, None, None]:
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"{path!r} does not exist", "list the folder: names are case-sensitive") from None
    except FileExistsError:
        raise Conflict(f"{path!r} already exists", "choose another name, or overwrite it") from None
    except PermissionError as error:
        raise NotAllowed(f"{path!r} cannot be accessed: {error.strerror}", "check its permissions") from None
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.EISDIR):
            raise Conflict(f"{path!r} cannot be both a file and a folder", "choose another name") from None
        if error.errno == errno.EXDEV:
            raise NotAllowed(f"{path!r} leads outside of its store", "copy the target of the symlink there") from None
        if error.errno == errno.ELOOP:
            raise NotFound(f"{path!r} is a symlink to itself", "remove it, or correct its target") from None
        raise
