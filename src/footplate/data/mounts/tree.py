"""Contents of a mounted folder: a listing, or a store's folder that is listed on demand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Dict, Optional, Protocol

from footplate.content.listing import Listing
from footplate.data.stores.base import FileStore
from footplate.domain.data import Item, place
from footplate.domain.store_names import check_name, join

_FOLDERS_KEPT = 64
Names = Dict[str, Optional[Item]]
"""Contents of a folder: files with their item, folders with None."""


class MountTree(Protocol):
    def find(self, path: str) -> Item | None:
        """Return the file at `path`, or None for a folder. Raise KeyError if nothing is there."""
        ...

    def folder(self, path: str) -> Names: ...


class ListingTree:
    """A listing. A folder is read when it is listed; a file is found without reading its folder."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._lock = threading.Lock()
        self._folders: OrderedDict[str, Names] = OrderedDict()

    def find(self, path: str) -> Item | None:
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


class StoreTree:
    """A store's folder. Once listed, a folder stays as it was."""

    def __init__(self, store: FileStore, top: str) -> None:
        self._store = store
        self._top = top
        self._lock = threading.Lock()
        self._folders: dict[str, Names] = {}

    def find(self, path: str) -> Item | None:
        if not path:
            return None
        folder, _, name = path.rpartition("/")
        return self.folder(folder)[name]

    def folder(self, path: str) -> Names:
        with self._lock:
            if path in self._folders:
                return self._folders[path]
        above = join(self._top, path) if path else self._top
        contents = self._store.children(above)
        names: Names = dict.fromkeys(contents.folders)
        for entry in contents.files:
            name = check_name(entry.path.rpartition("/")[2])
            names[name] = place(entry, join(path, name))
        with self._lock:
            return self._folders.setdefault(path, names)
