"""Writes the source directory of the run, and outputs of earlier attempts, to the working directory of the ranks.

A file of the source directory is not an output of the run until the script has written it. Times and inodes reveal
that, not contents: a script that writes the same model again has produced it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from footplate.content.blobs import BlobFolder
from footplate.content.restore import materialize
from footplate.disk import atomic_write
from footplate.errors import Broken, NotFound
from footplate.node.delivery.server_link import Link
from footplate.node.node_directory import NodeFolder, cache_home, regular_files

_NOTES = "source_files.json"


def fetch(digest: str, link: Link, home: str | None, folder: NodeFolder) -> None:
    """Write the snapshot `digest`; repeating this after an interruption is safe.

    On the server's machine files come straight from its blob store. Elsewhere each file is fetched once and kept for
    later runs on this node.
    """
    blobs = BlobFolder(os.path.join(cache_home(folder.home), "blobs"))

    def write_file(blob: str, path: str, executable: bool = False) -> None:
        bring(blob, link, home, blobs)
        blobs.copy_to(blob, path, executable)

    bring(digest, link, home, blobs)
    with blobs.open(digest) as manifest:
        materialize(manifest.read(), write_file, folder.wd)


def note_source_files(names: Iterable[str], folder: NodeFolder) -> None:
    """Record the files that the snapshot has in the directories `names`, whose files the run keeps."""
    stamps = {
        f"{name}/{path}": _stamp(real)
        for name in names
        for path, real in regular_files(os.path.join(folder.wd, name), folder.wd)
    }
    if stamps:  # most source directories have no such file
        atomic_write(os.path.join(folder.path, _NOTES), json.dumps(stamps).encode("ascii"), durable=False)


class SourceFiles:
    """The files of the snapshot in directories whose files the run keeps, as they were before the ranks started."""

    def __init__(self, folder: NodeFolder) -> None:
        try:
            with open(os.path.join(folder.path, _NOTES), encoding="ascii") as file:
                self._stamps: dict[str, list[int]] = json.load(file)
        except FileNotFoundError:
            self._stamps = {}

    def has_unchanged(self, name: str, path: str) -> bool:
        """Whether the file with this name, at this real path, is as the snapshot has it."""
        before = self._stamps.get(name)
        return before is not None and before == _stamp(path)


def _stamp(path: str) -> list[int] | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return [info.st_size, info.st_mtime_ns, info.st_ino]


def bring_back(names: Sequence[str], link: Link, home: str | None, folder: NodeFolder) -> None:
    """Restore the files that the run keeps in the directories `names`, as copies that the script may change."""
    blobs = BlobFolder(os.path.join(cache_home(folder.home), "blobs"))
    for name in names:
        for file in link.retry(lambda prefix=f"{name}/": link.files(prefix)):
            target = os.path.join(folder.wd, file.path)
            bring_file(file.digest or "", link, home, blobs)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            blobs.copy_to(file.digest or "", target)


def bring_file(digest: str, link: Link, home: str | None, blobs: BlobFolder) -> None:
    """Fetch the content of a file of the run: the server's own folder lacks what is in its object store."""
    bring(digest, link, home if blobs.has(digest) else None, blobs)


def bring(digest: str, link: Link, home: str | None, blobs: BlobFolder) -> None:
    """Fetch the blob to a node with a store of its own, unless it is there and undamaged."""
    if home is not None:
        return
    try:
        blobs.verify(digest)
    except (NotFound, Broken):
        link.retry(lambda: blobs.put_stream(digest, link.get_blob(digest)))
