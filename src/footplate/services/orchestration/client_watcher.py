"""Watches the clients of interactive runs: a run whose process is gone will never be completed.

The server looks for processes of its own machine. Clients elsewhere send heartbeats; one that is silent for a while
counts as gone. The time without a server does not count, nor the time in which this process did not run.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable

from footplate.background import Loop
from footplate.domain.orders import Cause
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import events
from footplate.engines.client_processes import is_gone
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.services.orchestration.effects import Tell

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
SILENT_SECONDS = 40.0
"""Four heartbeats of a client (`sdk.runs.heartbeat`). With the two looks that follow, it is less than a minute."""

_HINT = "call run.complete() or run.fail() before the process ends"


class ClientWatcher:
    """One thread, which sleeps while no interactive run is active."""

    def __init__(
        self,
        tell: Tell,
        is_gone: Callable[[str], bool] = is_gone,
        seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._is_gone = is_gone
        self._seconds = seconds
        self._clock = clock
        self._processes: dict[str, str] = {}  # by run
        self._last_beats: dict[str, float] = {}  # by run, of those with a client that sends heartbeats
        self._last_look = clock()
        self._suspects: set[str] = set()
        self._loop = Loop("clients", self._watch)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop(timeout=10)

    def note(self, record: RunRecord) -> None:
        """Take notice of a run that changed."""
        if record.spec.process is None and not record.spec.heartbeats:
            return
        if record.stage is Stage.ENDED:
            self._forget(record.id)
            return
        self._processes[record.id] = record.spec.process or ""
        if record.spec.heartbeats:
            self._last_beats.setdefault(record.id, self._clock())
        self._loop.wake()

    def beat(self, run: str) -> None:
        """Take a heartbeat of a client."""
        if run in self._last_beats:
            self._last_beats[run] = self._clock()

    def _forget(self, run: str) -> None:
        self._processes.pop(run, None)
        self._last_beats.pop(run, None)

    def _watch(self) -> float | None:
        if not self._processes:
            return None
        self._loop.sleep(self._seconds)
        if not self._loop.is_stopping:
            self._look()
        return 0.0

    def _look(self) -> None:
        """End the runs whose process was gone at the last look as well: its last request may still be on its way."""
        silent = self._silent()
        missing = {run for run, process in list(self._processes.items()) if run in silent or self._is_gone(process)}
        for run in missing & self._suspects:
            try:
                with contextlib.suppress(Conflict, NotFound):  # ended in the meantime
                    self._tell(run, events.RunFailed(self._cause(run, run in silent)))
                self._forget(run)
            except FootplateError as error:
                log.warning("cannot end run %s yet: %s", run, error.message)
        self._suspects = missing

    def _silent(self) -> set[str]:
        """Return the runs without a heartbeat for too long. After a pause of this process, all get their time again."""
        now = self._clock()
        paused, self._last_look = now - self._last_look > 3 * self._seconds + 1.0, now
        for run in list(self._last_beats) if paused else ():
            self._last_beats[run] = now
        return {run for run, beat in list(self._last_beats.items()) if now - beat >= SILENT_SECONDS}

    def _cause(self, run: str, is_silent: bool) -> Cause:
        pid = self._processes.get(run, "").partition(" ")[0]
        name = f"process {pid}" if pid else "the client"
        if not is_silent:
            return Cause("process_gone", f"the process is gone: {name} ended before it had completed the run", _HINT)
        return Cause(
            "process_gone",
            f"the process is gone: no heartbeat of {name} for {SILENT_SECONDS:g} seconds",
            f"{_HINT}; a client whose machine sleeps or has no network counts as gone as well",
        )
