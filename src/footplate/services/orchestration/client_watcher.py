"""Watches the processes of interactive runs: a run whose process is gone will never be completed.

Only processes of this machine can be watched; a run of another machine stays Running until somebody ends it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable

from footplate.domain.records import Cause, RunRecord, Stage
from footplate.domain.runs import events
from footplate.engines.client_processes import is_gone
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.services.orchestration.effects import Tell

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class ClientWatcher:
    """One thread, which sleeps while no interactive run is active."""

    def __init__(self, tell: Tell, is_gone: Callable[[str], bool] = is_gone, seconds: float = LOOK_SECONDS) -> None:
        self._tell = tell
        self._is_gone = is_gone
        self._seconds = seconds
        self._processes: dict[str, str] = {}  # by run
        self._suspects: set[str] = set()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch_forever, name="clients", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def note(self, record: RunRecord) -> None:
        """Take notice of a run that changed."""
        if record.spec.process is None:
            return
        if record.stage is Stage.ENDED:
            self._processes.pop(record.id, None)
        else:
            self._processes[record.id] = record.spec.process
            self._wake.set()

    def _watch_forever(self) -> None:
        while not self._stopping.is_set():
            if not self._processes:
                self._wake.wait()
                self._wake.clear()
            self._stopping.wait(self._seconds)
            self._look()

    def _look(self) -> None:
        """End the runs whose process was gone at the last look as well: its last request may still be on its way."""
        gone = {run for run, process in list(self._processes.items()) if self._is_gone(process)}
        for run in gone & self._suspects:
            pid = self._processes.get(run, "").partition(" ")[0]
            cause = Cause(
                "process_gone",
                f"the process is gone: process {pid} ended before it had completed the run",
                "call run.complete() or run.fail() before the process ends",
            )
            try:
                with contextlib.suppress(Conflict, NotFound):  # ended in the meantime
                    self._tell(run, events.RunFailed(cause))
                self._processes.pop(run, None)
            except FootplateError as error:
                log.warning("cannot end run %s yet: %s", run, error.message)
        self._suspects = gone
