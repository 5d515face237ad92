"""Contents of a mounted folder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Dict, Optional

from footplate.content.listing import Listing
from footplate.domain.data import Item

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
