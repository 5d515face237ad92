"""How much of the disk a directory uses. Each file counts once, however many names it has."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path


def size(folder: Path) -> int:
    """Return the bytes on disk of all files that have a name in the directory."""
    return sum({(info.st_dev, info.st_ino): info.st_blocks * 512 for info in _files(folder)}.values())


def own_size(folder: Path) -> int:
    """Return the bytes that removing the directory would free: those of files that have all their names in it."""
    names: Counter[tuple[int, int]] = Counter()
    files: dict[tuple[int, int], os.stat_result] = {}
    for info in _files(folder):
        names[info.st_dev, info.st_ino] += 1
        files[info.st_dev, info.st_ino] = info
    return sum(info.st_blocks * 512 for key, info in files.items() if names[key] == info.st_nlink)


def remove_unlinked(folders: Iterable[Path], before: float) -> int:
    """Remove directories made before this time whose files have no other names; return the bytes that this freed."""
    freed = 0
    for folder in folders:
        files = list(_files(folder))
        if os.stat(folder).st_mtime < before and all(info.st_nlink == 1 for info in files):
            freed += sum(info.st_blocks * 512 for info in files)
            shutil.rmtree(folder, ignore_errors=True)
    return freed


def _files(folder: Path) -> Iterator[os.stat_result]:
    """Yield every file below the directory, except those that disappear meanwhile.

    There are hundreds of thousands of them, for which `os.walk` is too slow.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()
