"""Collect the files that the ranks left in `./outputs`, also after a failure or a cancel.

An agent may be killed at any moment, and the next one starts over. So a file stays in place until the whole node
directory is removed; for a file that is too large to copy, names and digest are recorded before it moves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Callable

from footplate import environ
from footplate.content.blobs import BlobFolder, hash_file
from footplate.domain.orders import NodeOrders
from footplate.errors import FootplateError
from footplate.lazy import Deferred
from footplate.node.delivery.disk_wait import DiskWait
from footplate.node.delivery.server_link import Link
from footplate.node.node_directory import NodeFolder, is_full, regular_files
from footplate.node.snapshot import SourceFiles

if TYPE_CHECKING:
    from footplate.domain import records
    from footplate.domain.records import FileView
    from footplate.node.delivery import direct_upload
else:
    records = Deferred("footplate.domain.records")  # no file is named before the ranks have started
    direct_upload = Deferred("footplate.node.delivery.direct_upload")
    direct_upload = Deferred("footplate.node.delivery.direct_upload")  # few runs have large files

BATCH = 500
LARGE = 32 << 20
"""From this size on a file is moved into the store instead of copied, which costs one more reading of it."""

Say = Callable[[str], None]


class Output:
    """A file, and its names in the run: several if there are links to it."""

    def __init__(self, path: str, names: Sequence[str] = ()) -> None:
        self.path = path
        self.names = list(names)

    def views(self, digest: str, size: int) -> list[FileView]:
        return [records.FileView(name, size, digest) for name in self.names]


def collect(
    names: Sequence[str], store: LocalStore | ServerStore, link: Link, folder: NodeFolder, say: Say, limit: float | None
) -> list[str]:
    """Store every file of the directories `names` as `<directory>/<path>`; a name that the run already has stays.

    Unchanged files of the source directory are not outputs.

    Return the names of files for which there was no disk space in `limit` seconds.
    """
    collection = _Collection(store, link, DiskWait(link, limit, say), say)
    collection.name(store.find_moved())
    batch: list[Output] = []
    for output in _find(names, folder, say):
        if store.moves(output):
            collection.store([output])
            continue
        batch.append(output)
        if len(batch) == BATCH:
            collection.store(batch)
            batch = []
    collection.store(batch)
    return collection.left_out


def _find(names: Sequence[str], folder: NodeFolder, say: Say) -> list[Output]:
    outputs: dict[str, Output] = {}
    source_files = SourceFiles(folder)
    for name in names:

        def refuse(path: str, why: str, name: str = name) -> None:
            say(f"{name}/{path} is not kept: it {why}")

        for path, real in regular_files(os.path.join(folder.wd, name), folder.wd, refuse):
            if not source_files.has_unchanged(f"{name}/{path}", real):
                outputs.setdefault(real, Output(real)).names.append(f"{name}/{path}")
    return list(outputs.values())


class _Collection:
    """Stores files and gives them their names in the run. On a full disk it waits: the node has the only copy."""

    def __init__(self, store: LocalStore | ServerStore, link: Link, wait: DiskWait, say: Say) -> None:
        self._store = store
        self._link = link
        self._wait = wait
        self._say = say
        self.left_out: list[str] = []

    def store(self, batch: Sequence[Output]) -> None:
        """Store all files at once, and if that fails one by one, so that one bad file does not affect the others."""
        try:
            self.name(self._wait.run(lambda: self._store.put(batch), "the outputs"))
        except (FootplateError, OSError) as error:
            if len(batch) > 1:
                for output in batch:
                    self.store([output])
            elif is_full(error):
                self.left_out += batch[0].names
            else:
                message = f"the output {batch[0].names[0]!r} could not be stored: {error}"
                self._say(message)
                self._link.retry(lambda: self._link.warn(message))

    def name(self, files: Sequence[FileView]) -> None:
        if not files:
            return
        key = os.urandom(16).hex()
        # Without a limit: a database that has no space for names has none for the failure of the run either.
        for name in self._link.retry(lambda: self._link.add_files(files, key)):
            self._say(f"{name} already exists in the run and stays as it is")


def store_of(
    home: str | None, link: Link, folder: NodeFolder, orders: NodeOrders, keep: bool, say: Say
) -> LocalStore | ServerStore:
    """Return the store in which a node puts files: the server's own on its machine, or the server.

    `keep`: the node directory will stay, so nothing is moved out of it.
    """
    if home:
        return LocalStore(home, folder, keep)
    root = os.environ.get(environ.SHARED)
    shared = direct_upload.SharedFolder(link, root, orders.run, orders.node, say) if root else None
    return ServerStore(link, orders.direct_from, shared, say)


class LocalStore:
    """A store on this machine."""

    def __init__(self, home: str, folder: NodeFolder, keep: bool) -> None:
        self._blobs = BlobFolder(os.path.join(home, "blobs"))
        self._record = os.path.join(folder.path, "moved")
        self._keep = keep

    def moves(self, output: Output) -> bool:
        return not self._keep and os.path.getsize(output.path) >= LARGE

    def find_moved(self) -> list[FileView]:
        """Return the files that a killed agent had moved, and perhaps not yet named."""
        try:
            with open(self._record, encoding="ascii") as record:
                rows = [json.loads(line) for line in record if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [records.FileView(name, size, digest) for name, size, digest in rows if self._blobs.has(digest)]

    def put(self, batch: Sequence[Output]) -> list[FileView]:
        if len(batch) == 1 and self.moves(batch[0]):
            return self._move(batch[0])
        stored = self._blobs.put_files([(output.path, None) for output in batch])
        return [view for output, (digest, size) in zip(batch, stored) for view in output.views(digest, size)]

    def _move(self, output: Output) -> list[FileView]:
        views = output.views(*hash_file(output.path))
        with open(self._record, "a", encoding="ascii") as record:
            record.write("".join(json.dumps([view.path, view.size, view.digest]) + "\n" for view in views))
        self._blobs.put_file(output.path, move=True)
        return views


class ServerStore:
    """A store at the server: blobs that it lacks are sent.

    Large ones go to its object store if it has one, or through a directory that both see.
    """

    def __init__(
        self, link: Link, direct_from: int | None, shared: direct_upload.SharedFolder | None, say: Say
    ) -> None:
        self._link = link
        self._shared = shared
        self._direct_from = direct_from
        self._say = say

    def moves(self, _output: Output) -> bool:
        return False

    def find_moved(self) -> list[FileView]:
        return []

    def put(self, batch: Sequence[Output]) -> list[FileView]:
        hashed = [(output, *self._send_directly(output.path)) for output in batch]
        rest = [digest for _, digest, _, is_stored in hashed if not is_stored]
        missing: set[str] = self._link.missing(rest) if rest else set()
        for output, digest, size, _ in hashed:
            if digest in missing:
                missing.discard(digest)
                self._send(output.path, digest, size)
        return [view for output, digest, size, _ in hashed for view in output.views(digest, size)]

    def _send(self, path: str, digest: str, size: int) -> None:
        if self._shared is not None and size >= direct_upload.SMALLEST and self._shared.hand_over(path, digest, size):
            return
        with open(path, "rb") as file:
            self._link.put_blob(digest, file)

    def _send_directly(self, path: str) -> tuple[str, int, bool]:
        """Return the digest and size of a file, and whether it is in the object store now."""
        if self._direct_from is None or os.path.getsize(path) < self._direct_from:
            return (*hash_file(path), False)
        return direct_upload.send(self._link, path, self._say)
