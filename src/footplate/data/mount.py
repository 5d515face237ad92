"""Data as a folder of this machine, for a script that only knows paths.

Data that lies on this machine is used in place: read-only, not copied, at the speed of the disk. Remote data is read
through the cache: as it is asked for where this machine has FUSE, else fetched before the script starts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from footplate.data.stores import open_store
from footplate.domain.data import StoreSpec
from footplate.domain.names import clean_folder
from footplate.errors import Conflict, NotFound, Unavailable


class Mount:
    """`path` is what a script is given. `close` takes it away again, and may be called more than once.

    `guard(pids)`: these processes read here, too; when the owner dies, the mount stays until they have ended.
    """

    def __init__(self, path: Path, how: str) -> None:
        self.path, self.how = path, how

    def __enter__(self) -> Mount:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def guard(self, pids: Iterable[int]) -> None:
        """Nothing to do for a link."""

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


def mount_folder(spec: StoreSpec, folder: str, at: Path | str) -> Mount:
    """The folder `folder` of a store, as it is now, at the path `at`, which must be free."""
    store, path = open_store(spec), os.path.abspath(at)
    if store.folder is None:
        raise Unavailable("only folders of this machine can be mounted so far", "download the data instead")
    source = store.folder / clean_folder(folder)
    if not source.exists():
        raise NotFound(f"there is no {source}", "look at the path on the datastore")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(source, path)
    except FileExistsError:
        raise Conflict(f"{path} exists", "choose another place to mount at") from None
    return Mount(Path(path), "in place")
