"""One thread that wakes runs at the times that their lifecycle has recorded."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable

from footplate.background import Loop
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs.events import WakeRun, WakeTimeReached
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.services.orchestration.effects import Tell
from footplate.services.orchestration.server_clock import ServerClock

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
