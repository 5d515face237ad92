"""Requests to stop an agent: signals of the engine or the system, and the server's answer to a heartbeat."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop an agent. Whoever forks an agent blocks them until it handles them."""


class Stopped(Exception):
    """The agent was asked to stop before it had started the ranks."""


class StopRequest:
    """Why the agent is to stop. `reason` is None until somebody asks; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._interruptible = False

    def listen(self, wakeup: int) -> None:
        """Handle the signals from now on, also pending ones; each writes a byte to the file `wakeup`."""
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def ask(self, reason: str) -> None:
        """Stop, called from another thread. The signal interrupts a main thread that waits for a build."""
        if self.reason is None:
            self.reason = reason
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    @contextlib.contextmanager
    def interrupts(self) -> Generator[None, None, None]:
        """Raise Stopped inside this block, at any point, as soon as somebody asks."""
        self._interruptible = True
        try:
            if self.reason is not None:
                raise Stopped
            yield
        finally:
            self._interruptible = False

    def _on_signal(self, number: int, _frame: object) -> None:
        self.reason = self.reason or f"the node agent was asked to stop ({signal.Signals(number).name})"
        if self._interruptible:
            self._interruptible = False
            raise Stopped
