"""One thread that wakes runs at the times that their lifecycle has recorded."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable

from footplate.domain.records import RunRecord
from footplate.domain.runs.events import WakeRun, WakeTimeReached
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.services.orchestration.effects import Tell

log = logging.getLogger(__name__)

LONGEST_SLEEP = 60.0
"""The clock may be set while the thread sleeps: it looks again after this time at the latest."""

RETRY_SECONDS = 1.0


class Alarms:
    """The times come from records, so nothing is lost with the process: a restarted server sets the alarms again."""

    def __init__(self, tell: Tell, clock: Callable[[], float] = time.time) -> None:
        self._tell = tell
        self._clock = clock
        self._due: list[tuple[float, str, float]] = []  # when to act, the run, the time in its record
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def set(self, record: RunRecord, effect: WakeRun) -> None:
        self._add(effect.at, record.id, effect.at)

    def _add(self, when: float, run: str, at: float) -> None:
        with self._changed:
            heapq.heappush(self._due, (when, run, at))
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._stopping and (not self._due or self._due[0][0] > self._clock()):
                    left = min(self._due[0][0] - self._clock(), LONGEST_SLEEP) if self._due else None
                    self._changed.wait(left)
                if self._stopping:
                    return
                _, run, at = heapq.heappop(self._due)
            self._wake(run, at)

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
