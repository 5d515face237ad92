"""The source folder of the run, laid out in the working folder of the ranks."""

from __future__ import annotations

import os

from footplate.node.link import Link
from footplate.node.workdir import NodeFolder


def fetch(digest: str, link: Link, home: str | None, folder: NodeFolder) -> None:
    """Lay out the snapshot `digest`; again after an interruption is the same."""
    from footplate.content.blobs import BlobFolder
    from footplate.content.tree import materialize

    blobs = BlobFolder(os.path.join(home or folder.home, "blobs"))
    materialize(digest, blobs, folder.wd)
