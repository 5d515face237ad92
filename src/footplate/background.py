"""A step that is repeated on a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

RETRY_SECONDS = 1.0
"""The pause after a step that raised an error."""

_log = logging.getLogger(__name__)


class Loop:
    """Repeats `step` on a daemon thread. A step returns the seconds until the next one, None to sleep until `wake`.

    The thread starts with a pause of `first` seconds, and outlives errors of a step, which it logs.
    """

    def __init__(self, name: str, step: Callable[[], float | None], first: float | None = 0.0) -> None:
        self._name = name
        self._step = step
        self._first = first
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a thread, in this process, that has not been stopped."""
        return self._thread is not None and self._thread.is_alive() and not self._stopping.is_set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the thread unless it runs; also after `stop`."""
        if not self.is_running:
            self._wake.clear()
            self._stopping = threading.Event()
            self._thread = threading.Thread(target=self._run, args=[self._stopping], name=self._name, daemon=True)
            self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End the thread after the step in progress, and wait for that. A step may stop its own loop."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def wake(self) -> None:
        """Do the next step now."""
        self._wake.set()

    def sleep(self, seconds: float) -> None:
        """Pause a step; only `stop` makes it shorter."""
        self._stopping.wait(seconds)

    def _run(self, stopping: threading.Event) -> None:
        pause = self._first
        while not stopping.is_set():
            self._wake.wait(pause)
            if stopping.is_set():
                return
            self._wake.clear()
            try:
                pause = self._step()
            except Exception:
                _log.exception("%s: a step failed, and is repeated", self._name)
                pause = RETRY_SECONDS
