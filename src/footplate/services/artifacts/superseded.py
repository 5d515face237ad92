"""Contents of checkpoints that newer ones have replaced: removed after a quarter of an hour, and not by the next gc.

A run that saves 10 GB every few minutes would otherwise fill the disk. The list is in memory: after a restart of the
server, `footplate gc` removes what is left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from footplate.errors import FootplateError

log = logging.getLogger(__name__)

GRACE_SECONDS = 900.0
"""How long replaced content stays after somebody has last asked about it: the same content may be an output, too."""

Collect = Callable[[set[str], float], object]
Later = Callable[[float, Callable[[], None]], None]


def in_thread(seconds: float, act: Callable[[], None]) -> None:
    """Call `act` after so many seconds."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


class SupersededContents:
    """Calls `collect(digests, grace)` with contents that were replaced at least GRACE_SECONDS ago."""

    def __init__(
        self, collect: Collect, later: Later = in_thread,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._collect, self._later, self._clock = collect, later, clock
        self._guard = threading.Lock()
        self._since: dict[str, float] = {}

    def add(self, digests: Iterable[str]) -> None:
        """Note contents that were replaced just now."""
        now = self._clock()
        with self._guard:
            is_first = not self._since
            self._since.update(dict.fromkeys(digests, now))
            is_first = is_first and bool(self._since)
        if is_first:
            self._later(GRACE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        limit = self._clock() - GRACE_SECONDS
        with self._guard:
            due = {digest for digest, since in self._since.items() if since <= limit}
        try:
            if due:
                self._collect(due, GRACE_SECONDS)
        except FootplateError as error:
            log.warning("replaced checkpoints stay until the next gc: %s", error.message)
        with self._guard:
            for digest in due:
                if self._since.get(digest, limit + 1) <= limit:
                    del self._since[digest]
            oldest = min(self._since.values(), default=None)
        if oldest is not None:
            self._later(max(1.0, oldest + GRACE_SECONDS - self._clock()), self._sweep)
