"""What the ranks left in `./outputs`, into the store and under the run's name. Also after a failure or a cancel."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence

from footplate.content.blobs import CHUNK, BlobFolder
from footplate.domain.records import FileView
from footplate.errors import FootplateError
from footplate.node.link import Link
from footplate.node.workdir import NodeFolder, regular_files

_BATCH = 500


def collect(
    names: Sequence[str], link: Link, home: str | None, folder: NodeFolder, keep: bool, say: Callable[[str], None]
) -> None:
    """Store every file of the folders `names` and name it `<folder>/<path>`; a name that the run has already stays.

    Files stay where they are until the whole work folder goes, so an agent that was killed half-way is simply repeated.
    """
    store = _Shared(home, folder, keep) if home else _Remote(link)
    batch: list[FileView] = []
    for name, path in _files(names, folder, say):
        try:
            batch.append(link.insist(lambda n=name, p=path: store.put(n, p)))
        except (FootplateError, OSError) as error:
            say(f"{name} could not be stored: {error}")
            link.insist(lambda n=name, e=error: link.warn(f"the output {n!r} could not be stored: {e}"))
        if len(batch) == _BATCH:
            _name(batch, link, say)
            batch = []
    _name(batch, link, say)


def _files(names: Sequence[str], folder: NodeFolder, say: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    for name in names:
        root = os.path.join(folder.wd, name)

        def refuse(path: str, why: str, name: str = name) -> None:
            say(f"{name}/{path} is not kept: it {why}")

        for path, real in regular_files(root, folder.wd, refuse):
            yield f"{name}/{path}", real


def _name(batch: Sequence[FileView], link: Link, say: Callable[[str], None]) -> None:
    if not batch:
        return
    try:
        skipped = link.insist(lambda: link.add_files(batch))
    except FootplateError as error:
        say(f"{len(batch)} outputs could not be named: {error}")
        return
    for name in skipped:
        say(f"{name} is a file of the run already, and stays as it is")


class _Shared:
    """The store is on this machine: the file itself becomes the blob."""

    def __init__(self, home: str, folder: NodeFolder, keep: bool) -> None:
        self._blobs = BlobFolder(os.path.join(home, "blobs"))
        self._aside = os.path.join(folder.path, "output")
        self._keep = keep

    def put(self, name: str, path: str) -> FileView:
        digest, size = self._move_a_link(path) or self._blobs.put_file(path)
        return FileView(name, size, digest)

    def _move_a_link(self, path: str) -> tuple[str, int] | None:
        """A second name of the file is moved into the store: nothing is copied, and the first name remains.

        Not when the work folder is kept: whoever looks around there must not be able to change the store.
        """
        if self._keep:
            return None
        try:
            if os.path.lexists(self._aside):
                os.unlink(self._aside)  # of an agent that was killed here
            os.link(path, self._aside)
        except OSError:
            return None
        return self._blobs.put_file(self._aside, move=True)


class _Remote:
    """The store is at the server: what it lacks is sent."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def put(self, name: str, path: str) -> FileView:
        hasher, size = hashlib.sha256(), 0
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                hasher.update(chunk)
                size += len(chunk)
            digest = hasher.hexdigest()
            if self._link.missing([digest]):
                file.seek(0)
                self._link.put_blob(digest, file)
        return FileView(name, size, digest)

