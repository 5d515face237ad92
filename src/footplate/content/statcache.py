"""What files hashed to when they were last read, so that an unchanged file is not read again.

A file is taken for unchanged when size, times and inode are. One that was changed so shortly before it was read that a
later change could have left the same times is not remembered: the same rule that git has for its index.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import time
from typing import Any, Dict, List, Optional, Tuple, cast

Stamp = Tuple[int, int, int, int]
"""size, mtime_ns, ctime_ns, inode"""

_FORMAT = 1
_TICK_NS = 50_000_000  # longer than a tick of any kernel's coarse clock
_COARSE_NS = 2_000_000_000  # file systems that keep whole seconds, or even ones


def stamp_of(info: os.stat_result) -> Stamp:
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


class StatCache:
    """One file per source folder. A damaged one is an empty one."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._began = time.time_ns()
        self.files: Dict[str, Tuple[Stamp, str]] = {}
        self._entries: Optional[List[Tuple[Any, ...]]] = None
        self._manifest: Optional[str] = None
        if path is not None:
            self._load(path)

    @classmethod
    def for_folder(cls, cache_folder: str, folder: str) -> StatCache:
        name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
        return cls(os.path.join(cache_folder, name))

    def manifest_of(self, entries: List[Any]) -> Optional[str]:
        """The digest of the manifest with exactly these entries, if that is the one remembered."""
        return self._manifest if self._entries is not None and self._entries == entries else None

    def save(self, entries: List[Any], files: Dict[str, Tuple[Stamp, str]], manifest: str) -> None:
        if self._path is None:
            return
        trusted = {path: row for path, row in files.items() if self._is_old(row[0])}
        data = marshal.dumps((_FORMAT, trusted, [tuple(e) for e in entries], manifest))
        aside = f"{self._path}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(aside, "wb") as file:
                file.write(data)
            os.replace(aside, self._path)
        except OSError:  # a cache that cannot be written costs time next time, nothing else
            if os.path.exists(aside):
                os.unlink(aside)

    def _is_old(self, stamp: Stamp) -> bool:
        changed = max(stamp[1], stamp[2])
        slack = _COARSE_NS if stamp[1] % 1_000_000_000 == 0 else _TICK_NS
        return changed + slack < self._began

    def _load(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                found = cast("Tuple[Any, ...]", marshal.loads(file.read()))
            if isinstance(found, tuple) and len(found) == 4 and found[0] == _FORMAT:  # pyright: ignore
                _, self.files, self._entries, self._manifest = found
        except (OSError, ValueError, EOFError, TypeError):
            return
