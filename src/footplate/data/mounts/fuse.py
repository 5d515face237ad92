"""A read-only FUSE file system over a tree of remote files, which are fetched through the cache as they are read.

Mounted data never changes, so the kernel may cache attributes and names for as long as it likes.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import stat
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Optional

from footplate.content.listing import Listing
from footplate.data.cache import DataCache
from footplate.data.mounts.cached_files import BlockFile, CachedFile, open_remote
from footplate.data.mounts.syscalls import READ_AHEAD, fuse_library
from footplate.data.stores.base import FileStore
from footplate.data.transfer.batch import store_of
from footplate.domain.data import Item
from footplate.errors import FootplateError

_FOLDERS_KEPT = 64
Names = Dict[str, Optional[Item]]
"""Contents of a folder: files with their item, folders with None."""


class ListingTree:
    """A listing. A folder is read when it is listed; a file is found without reading its folder."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._lock = threading.Lock()
        self._folders: OrderedDict[str, Names] = OrderedDict()

    def find(self, path: str) -> Item | None:
        """Return the file at `path`, or None for a folder. Raise KeyError if nothing is there."""
        folder, _, name = path.rpartition("/")
        with self._lock:
            names = self._folders.get(folder)
        if names is not None:
            return names[name] if path else None
        item = self._listing.get(path) if path else None
        if item is None and not self._listing.has_folder(path):
            raise KeyError(path)
        return item

    def folder(self, path: str) -> Names:
        with self._lock:
            if path in self._folders:
                self._folders.move_to_end(path)
                return self._folders[path]
        contents = self._listing.folder(path)
        names: Names = dict.fromkeys(contents.folders)
        names.update((item.name.rpartition("/")[2], item) for item in contents.files)
        with self._lock:
            self._folders[path] = names
            while len(self._folders) > _FOLDERS_KEPT:
                self._folders.popitem(last=False)
        return names


# With the library's path: otherwise mfusepy starts ldconfig and a compiler to search for one.
os.environ.setdefault("FUSE_LIBRARY_PATH", fuse_library() or "")
mfusepy: Any = importlib.import_module("mfusepy")
_THREADS = 16
_REMEMBER_SECONDS = 24 * 3600


class FuseFiles(mfusepy.Operations):
    """The operations that libfuse calls from its own threads."""

    use_ns = True

    def __init__(
        self, tree: ListingTree, stores: Mapping[str, FileStore], cache: DataCache, ready: Callable[[], None]
    ) -> None:
        self._tree, self._stores, self._cache, self._ready = tree, stores, cache, ready
        self._pool = ThreadPoolExecutor(_THREADS, "blocks")
        self._lock = threading.Lock()
        self._next = 1
        self._open: dict[int, CachedFile | BlockFile] = {}
        self._sizes: dict[str, int] = {}
        self._owner = {"st_uid": os.geteuid(), "st_gid": os.getegid()}

    def init_with_config(self, connection: Any, config: Any) -> None:
        if connection is not None:
            connection.max_readahead = READ_AHEAD
        self._ready()

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        item = self._find(path)
        if item is None:
            return {"st_mode": stat.S_IFDIR | 0o555, "st_nlink": 2, **self._owner}
        changed = int(item.modified * 1e9)
        size = self._logging_errors(path, lambda: self._size(item))
        times = {"st_mtime": changed, "st_ctime": changed, "st_atime": changed}
        return {"st_mode": stat.S_IFREG | 0o444, "st_nlink": 1, "st_size": size, **times, **self._owner}

    def readdir(self, path: str, fh: int) -> Any:
        yield from (".", "..")
        for name, item in self._logging_errors(path, lambda: self._tree.folder(path.strip("/"))).items():
            yield name, {"st_mode": stat.S_IFDIR if item is None else stat.S_IFREG}, 0

    def open(self, path: str, flags: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise mfusepy.FuseOSError(errno.EROFS)
        item = self._find(path)
        if item is None:
            raise mfusepy.FuseOSError(errno.EISDIR)
        file = self._logging_errors(
            path, lambda: open_remote(store_of(item, self._stores), item.entry(), self._cache, self._pool)
        )
        with self._lock:
            handle, self._next = self._next, self._next + 1
            self._open[handle] = file
        return handle

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Unused, but its presence enables reading in mfusepy; `_Session` calls `read_into`."""
        return os.pread(self._open[fh].file, size, offset)

    def read_into(self, path: str, buffer: Any, offset: int, fh: int) -> int:
        """Read into the buffer, and return the number of bytes."""
        file = self._open[fh]
        self._logging_errors(path, lambda: file.fetch_range(offset, len(buffer)))
        return os.preadv(file.file, [buffer], offset)

    def release(self, path: str, fh: int) -> int:
        with self._lock:
            file = self._open.pop(fh)
        file.close()
        return 0

    def _find(self, path: str) -> Item | None:
        try:
            return self._logging_errors(path, lambda: self._tree.find(path.strip("/")))
        except KeyError:
            raise mfusepy.FuseOSError(errno.ENOENT) from None

    def _size(self, item: Item) -> int:
        """Return the size. A file whose server does not report one must be fetched first."""
        if item.size >= 0:
            return item.size
        if item.name not in self._sizes:
            file = self._cache.open(store_of(item, self._stores), item.entry(), self._pool)
            self._sizes[item.name] = os.fstat(file).st_size
            os.close(file)
        return self._sizes[item.name]

    def _logging_errors(self, path: str, act: Callable[[], Any]) -> Any:
        """Run `act`. The reading program only gets an errno, so the error itself goes to the mount's log."""
        try:
            return act()
        except FootplateError as error:
            message = str(error).replace("\n", "; ")  # one line per problem
            sys.stderr.write(f"{path}: {message}\n")
            sys.stderr.flush()
            raise mfusepy.FuseOSError(errno.EIO) from None


class _Session(mfusepy.FUSE):
    """Reads into libfuse's own buffer, which saves one copy of the bytes."""

    def read(self, path: bytes, buf: Any, size: int, offset: int, fip: Any) -> int:
        buffer = (ctypes.c_char * size).from_address(ctypes.cast(buf, ctypes.c_void_p).value or 0)
        return self.operations.read_into(path.decode(self.encoding, self.errors), buffer, offset, fip.contents.fh)


def serve(
    tree: ListingTree, stores: Mapping[str, FileStore], cache: DataCache, at: str, ready: Callable[[], None]
) -> None:
    """Mount at `at`, or serve an existing mount if that is a device (`/dev/fd/…`). Return when it is unmounted.

    `ready` is called just before the first request is answered.
    """
    remember = {f"{what}_timeout": _REMEMBER_SECONDS for what in ("attr", "entry", "negative", "ac_attr")}
    options = {"foreground": True, "ro": True, "fsname": "footplate", "kernel_cache": True}
    _Session(FuseFiles(tree, stores, cache, ready), at, **options, **remember)
