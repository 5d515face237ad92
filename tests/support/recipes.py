"""A recipe for a package of one module, with a generated source archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any


def handmade(folder: Path, setup: str) -> dict[str, Any]:
    """Return the recipe as in a lock. The archive lies in `folder`, for find-links; an index provides the tools."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "setup.py": setup,
        "handmade.py": "value = 'before'\n",
        "PKG-INFO": "Metadata-Version: 1.1\nName: handmade\n",
    }
    place = folder / "handmade-1.0.tar.gz"
    with tarfile.open(place, "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"handmade-1.0/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return {
        "name": "handmade",
        "version": "1.0",
        "sha256": hashlib.sha256(place.read_bytes()).hexdigest(),
        "edits": [["handmade.py", "before", "after"]],
        "variables": {},
        "linked": {},
        "tools": "setuptools<81\nwheel\npip\n",
    }
