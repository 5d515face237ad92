"""The clock of deadlines that a server keeps: it never jumps, and it stands still while no server runs.

It continues, in `clock` of the home directory, where the last server left it. A killed server may have counted up to
`alarms.LONGEST_SLEEP` seconds that are not in the file; the deadlines are later by that much.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from footplate.disk import atomic_write

FILE = "clock"


class ServerClock:
    """Call it for the time: seconds, which were those since the epoch when the first server of this home started."""

    def __init__(
        self, home: Path, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._path = home / FILE
        self._monotonic = monotonic
        self._began = monotonic()
        try:
            self._base = float(self._path.read_text())
        except (OSError, ValueError):
            self._base = wall()

    def __call__(self) -> float:
        return self._base + self._monotonic() - self._began

    def save(self) -> None:
        with contextlib.suppress(OSError):  # a full disk: deadlines are only later
            atomic_write(str(self._path), repr(self()).encode(), durable=False, mode=0o600)
