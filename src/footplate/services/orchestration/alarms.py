"""One thread that wakes runs at the times that their lifecycle has recorded, and the clock that it goes by.

The clock of deadlines never jumps, and it stands still while no server runs. It continues, in `clock` of the home
directory, where the last server left it. A killed server may have counted up to `LONGEST_SLEEP` seconds that are not in
the file; the deadlines are later by that much.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from footplate.background import Loop
from footplate.disk import atomic_write
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs.events import WakeRun, WakeTimeReached
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.services.orchestration.effects import Tell

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


log = logging.getLogger(__name__)

LONGEST_SLEEP = 60.0
"""Seconds after which the thread saves the clock again while there is something to wait for."""

RETRY_SECONDS = 1.0


class Alarms:
    """The times come from records, so nothing is lost with the process: a restarted server sets the alarms again.

    Controllers name times of the server's clock. A pause before an attempt ends at a time of the wall clock, which may
    have been set since: it never becomes longer than the longest pause of the run's policy.
    """

    def __init__(self, tell: Tell, clock: ServerClock, wall: Callable[[], float] = time.time) -> None:
        self._tell = tell
        self._clock = clock
        self._wall = wall
        self._due: list[tuple[float, str, float]] = []  # when to act, the run, the time in its record
        self._guard = threading.Lock()
        self._loop = Loop("alarms", self._wake_next)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop(timeout=10)
        self._clock.save()

    def set(self, record: RunRecord, effect: WakeRun) -> None:
        when = effect.at
        if record.stage is Stage.BACKOFF:
            when = self._clock() + min(effect.at - self._wall(), record.spec.restart.max_backoff_seconds)
        self._add(when, record.id, effect.at)

    def _add(self, when: float, run: str, at: float) -> None:
        with self._guard:
            heapq.heappush(self._due, (when, run, at))
        self._loop.wake()

    def _wake_next(self) -> float | None:
        with self._guard:
            if not self._due:
                return None
            seconds_left = self._due[0][0] - self._clock()
            if seconds_left > 0:
                self._clock.save()
                return min(seconds_left, LONGEST_SLEEP)
            _, run, at = heapq.heappop(self._due)
        self._wake(run, at)
        return 0.0

    def _wake(self, run: str, at: float) -> None:
        try:
            self._tell(run, WakeTimeReached(at))
        except (Conflict, NotFound):
            pass  # the run has ended or is gone
        except FootplateError as error:
            log.warning("cannot wake run %s yet: %s", run, error.message)
            self._add(self._clock() + RETRY_SECONDS, run, at)
        except Exception:
            log.exception("waking run %s failed", run)
