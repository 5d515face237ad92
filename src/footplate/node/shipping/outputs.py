"""Collect the files that the ranks left in `./outputs`, also after a failure or a cancel.

An agent may be killed at any moment, and the next one starts over. So a file stays in place until the whole node
directory is removed; for a file that is too large to copy, names and digest are recorded before it moves.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from footplate.content.blobs import BlobFolder, hash_file
from footplate.domain.records import FileView
from footplate.errors import FootplateError, OutOfSpace
from footplate.node.node_directory import NodeFolder, is_full, regular_files
from footplate.node.shipping.server_link import Link

BATCH = 500
LARGE = 32 << 20
"""From this size on a file is moved into the store instead of copied, which costs one more reading of it."""

Say = Callable[[str], None]


@dataclass
class _Output:
    """A file, and its names in the run: several if there are links to it."""

    path: str
    names: list[str] = field(default_factory=list[str])

    def views(self, digest: str, size: int) -> list[FileView]:
        return [FileView(name, size, digest) for name in self.names]


def collect(names: Sequence[str], link: Link, home: str | None, folder: NodeFolder, keep: bool, say: Say) -> None:
    """Store every file of the directories `names` as `<directory>/<path>`; a name that the run already has stays.

    `keep`: the node directory will stay, so nothing is moved out of it.
    """
    store = _LocalStore(home, folder, keep) if home else _ServerStore(link)
    _name(store.moved_before(), link, say)
    batch: list[_Output] = []
    for output in _find(names, folder, say):
        if store.moves(output):
            _store([output], store, link, say)
            continue
        batch.append(output)
        if len(batch) == BATCH:
            _store(batch, store, link, say)
            batch = []
    _store(batch, store, link, say)


def _find(names: Sequence[str], folder: NodeFolder, say: Say) -> list[_Output]:
    found: dict[str, _Output] = {}
    for name in names:

        def refuse(path: str, why: str, name: str = name) -> None:
            say(f"{name}/{path} is not kept: it {why}")

        for path, real in regular_files(os.path.join(folder.wd, name), folder.wd, refuse):
            found.setdefault(real, _Output(real)).names.append(f"{name}/{path}")
    return list(found.values())


def _store(batch: Sequence[_Output], store: _LocalStore | _ServerStore, link: Link, say: Say) -> None:
    """Store all files at once, and if that fails one by one, so that one bad file does not affect the others."""
    try:
        _name(_stored(batch, store, link, say), link, say)
    except (FootplateError, OSError) as error:
        if len(batch) > 1:
            for output in batch:
                _store([output], store, link, say)
            return
        message = f"the output {batch[0].names[0]!r} could not be stored: {error}"
        say(message)
        link.retry(lambda: link.warn(message))


def _stored(batch: Sequence[_Output], store: _LocalStore | _ServerStore, link: Link, say: Say) -> list[FileView]:
    """Store a batch. On a full disk wait for space: the node directory holds the only copy."""
    warned = False

    def attempt() -> list[FileView]:
        nonlocal warned
        try:
            return store.put(batch)
        except (OutOfSpace, OSError) as error:
            if not is_full(error):
                raise
            message = f"waiting for disk space to store the outputs: {error}"
            if not warned:
                say(message)
                with contextlib.suppress(FootplateError):  # the database may not fit either: try again next time
                    link.warn(message)
                    warned = True
            raise OutOfSpace(message, "free some space on the disk of the home folder") from None

    return link.retry(attempt)


def _name(files: Sequence[FileView], link: Link, say: Say) -> None:
    if not files:
        return
    key = uuid.uuid4().hex
    for name in link.retry(lambda: link.add_files(files, key)):
        say(f"{name} already exists in the run and stays as it is")


class _LocalStore:
    """A store on this machine."""

    def __init__(self, home: str, folder: NodeFolder, keep: bool) -> None:
        self._blobs = BlobFolder(os.path.join(home, "blobs"))
        self._record = os.path.join(folder.path, "moved")
        self._keep = keep

    def moves(self, output: _Output) -> bool:
        return not self._keep and os.path.getsize(output.path) >= LARGE

    def moved_before(self) -> list[FileView]:
        """Return the files that a killed agent had moved, and perhaps not yet named."""
        try:
            with open(self._record, encoding="ascii") as record:
                rows = [json.loads(line) for line in record if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [FileView(name, size, digest) for name, size, digest in rows if self._blobs.has(digest)]

    def put(self, batch: Sequence[_Output]) -> list[FileView]:
        if len(batch) == 1 and self.moves(batch[0]):
            return self._move(batch[0])
        stored = self._blobs.put_files([(output.path, None) for output in batch])
        return [
            view for output, (digest, size) in zip(batch, stored, strict=True) for view in output.views(digest, size)
        ]

    def _move(self, output: _Output) -> list[FileView]:
        views = output.views(*hash_file(output.path))
        with open(self._record, "a", encoding="ascii") as record:
            record.write("".join(json.dumps([view.path, view.size, view.digest]) + "\n" for view in views))
        self._blobs.put_file(output.path, move=True)
        return views


class _ServerStore:
    """A store at the server: blobs that it lacks are sent."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def moves(self, _output: _Output) -> bool:
        return False

    def moved_before(self) -> list[FileView]:
        return []

    def put(self, batch: Sequence[_Output]) -> list[FileView]:
        hashed = [(output, *hash_file(output.path)) for output in batch]
        missing = self._link.missing([digest for _, digest, _ in hashed]) if hashed else set[str]()
        for output, digest, _ in hashed:
            if digest in missing:
                missing.discard(digest)
                with open(output.path, "rb") as file:
                    self._link.put_blob(digest, file)
        return [view for output, digest, size in hashed for view in output.views(digest, size)]
