"""The source folder of the run, laid out in the working folder of the ranks."""

from __future__ import annotations

import os

from footplate.content.blobs import BlobFolder
from footplate.content.tree import materialize
from footplate.node.link import Link
from footplate.node.workdir import NodeFolder


def fetch(digest: str, link: Link, home: str | None, folder: NodeFolder) -> None:
    """Lay out the snapshot `digest`; again after an interruption is the same.

    On the server's machine its files come straight from the store. Elsewhere each is fetched once and kept for the next
    run of this node.
    """
    blobs = BlobFolder(os.path.join(folder.home, "blobs"))

    def lay(wanted: str, path: str, executable: bool) -> None:
        if home is None:
            _bring(wanted, link, blobs)
        blobs.copy_to(wanted, path, executable)

    if home is None:
        _bring(digest, link, blobs)
    with blobs.open(digest) as manifest:
        materialize(manifest.read(), lay, folder.wd)


def _bring(digest: str, link: Link, blobs: BlobFolder) -> None:
    if not blobs.has(digest):
        link.insist(lambda: blobs.put_stream(digest, link.get_blob(digest)))
