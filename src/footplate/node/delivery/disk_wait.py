"""Full disks as a node meets them: waits that are recorded with their duration and end after a time limit.

All durations are monotonic. The limit is the setting `full_disk_seconds`; it counts only after the ranks have ended,
so a training that runs is never ended because of a full disk.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from footplate.disk import LITTLE_SPACE, free_bytes
from footplate.domain.orders import Cause
from footplate.errors import FootplateError, OutOfSpace
from footplate.node.node_directory import NodeFolder, is_full

T = TypeVar("T")

DISK_FULL = "disk_full"
"""Code of the cause of a run whose files could not be stored in time."""

_NAMED = 5


class RetryingServer(Protocol):
    """The part of the agent's link that a wait uses."""

    def retry(self, call: Callable[[], T], enough: Callable[[], bool] = ...) -> T: ...

    def warn(self, message: str) -> None: ...


class DiskWait:
    """Repeats calls that store files until there is space for them, or until the disk was full for `limit` seconds.

    After the limit no call waits any longer: what fits is stored, and everything else raises OutOfSpace.
    """

    def __init__(
        self,
        server: RetryingServer,
        limit: float | None,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._limit = limit
        self._say = say
        self._clock = clock
        self._began: float | None = None  # when the wait began that is to be recorded
        self._full_since: float | None = None  # as long as nothing but the disk is in the way
        self._announced = False
        self._expired = False

    def run(self, call: Callable[[], T], what: str) -> T:
        """Return the result of `call`, which stores `what`; record how long it waited for space."""
        result = self._server.retry(lambda: self._attempt(call, what), self._is_over)
        self._full_since = None
        if self._began is not None:
            waited = max(1, round(self._clock() - self._began))
            self._began, self._announced = None, False
            self._server.retry(lambda: self._server.warn(f"waited {waited} s for disk space to store {what}"))
        return result

    def _attempt(self, call: Callable[[], T], what: str) -> T:
        try:
            return call()
        except (FootplateError, OSError) as error:
            if not is_full(error):
                self._full_since = None  # a server that is away is not a full disk
                raise
            self._note(what, error)
            raise OutOfSpace(str(error), "free some space on the disk of the home folder") from None

    def _note(self, what: str, error: Exception) -> None:
        now = self._clock()
        self._full_since = now if self._full_since is None else self._full_since
        if self._began is None:
            self._began = now
            self._say(f"waiting for disk space to store {what}: {error}")
        if not self._announced and not self._expired:
            with contextlib.suppress(FootplateError):  # the database may not fit either: try again next time
                self._server.warn(f"waiting for disk space to store {what}: {error}")
                self._announced = True

    def _is_over(self) -> bool:
        if self._limit is None or self._full_since is None:
            return False
        self._expired = self._expired or self._clock() - self._full_since >= self._limit
        return self._expired


class DiskWatch:
    """The disk of a node. It reports an episode with little space when it is over, with its duration.

    `at_once` also reports its beginning: the server sees only its own disk, and warns about that one itself.
    """

    def __init__(
        self,
        path: str,
        place: str,
        at_once: bool,
        free: Callable[[str], int] = free_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._place, self._at_once = path, place, at_once
        self._free, self._clock = free, clock
        self._since: float | None = None

    def look(self) -> str | None:
        """Return a warning for the run if the disk has become full, or has space again."""
        try:
            is_full_now = self._free(self._path) < LITTLE_SPACE
        except OSError:
            return None
        if is_full_now and self._since is None:
            self._since = self._clock()
            return f"{self._place} is full: free some space there" if self._at_once else None
        if is_full_now or self._since is None:
            return None
        seconds, self._since = max(1, round(self._clock() - self._since)), None
        return f"{self._place} was full for about {seconds} s"


def not_stored(
    outputs: Sequence[str], logs_too: bool, folder: NodeFolder, node: int, limit: float | None
) -> Cause | None:
    """Return why the run fails if files found no space in time, and where the only copy of them is."""
    if not outputs and not logs_too:
        return None
    names = ", ".join(outputs[:_NAMED]) + (f" and {len(outputs) - _NAMED} more" if len(outputs) > _NAMED else "")
    what = [f"{len(outputs)} output{'s' if len(outputs) > 1 else ''} ({names})"] if outputs else []
    what += ["the rest of the logs and metrics"] if logs_too else []
    message = f"no disk space for {limit or 0:g} seconds: not stored are {' and '.join(what)}"
    place = folder.wd if outputs and not logs_too else folder.path
    hint = f"free some space and fetch the files: their only copy stays in {place} on {os.uname().nodename}"
    return Cause(DISK_FULL, message, hint, node)
