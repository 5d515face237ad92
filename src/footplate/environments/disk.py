"""How much of the disk a folder holds. Every file once, however many names it has."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path


def size(folder: Path) -> int:
    """Bytes on disk of all files that have a name in it."""
    return sum({(info.st_dev, info.st_ino): info.st_blocks * 512 for info in _files(folder)}.values())


def own_size(folder: Path) -> int:
    """Bytes on disk that would be free without this folder: of files that have all their names in it."""
    names, found = Counter[tuple[int, int]](), dict[tuple[int, int], os.stat_result]()
    for info in _files(folder):
        names[info.st_dev, info.st_ino] += 1
        found[info.st_dev, info.st_ino] = info
    return sum(info.st_blocks * 512 for key, info in found.items() if names[key] == info.st_nlink)


def _files(folder: Path) -> Iterator[os.stat_result]:
    """All below it that is no folder; what disappears meanwhile is left out. Hundreds of thousands, so no `os.walk`."""
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
