"""The unpacked packages that environments are linked from; those that none is linked from can be cleared away."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

STORE = ".conda"
PACKAGES = f"{STORE}/packages"


def clear(root: Path, before: float) -> int:
    """Remove what no environment links to any more and was not unpacked after `before`; the bytes that this freed."""
    freed = 0
    for folder in (root / PACKAGES).glob("*/"):
        known = [os.lstat(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names]
        if os.stat(folder).st_mtime < before and all(info.st_nlink == 1 for info in known):
            freed += sum(info.st_blocks * 512 for info in known)
            shutil.rmtree(folder, ignore_errors=True)
    return freed
