"""Requests to stop an agent: signals of the engine or the system, and the server's answer to a heartbeat."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop an agent. Whoever forks an agent blocks them until it handles them."""

WARNING = signal.SIGUSR1
"""The engine's warning that its time limit is near. It does not stop an agent."""

REPEAT_SECONDS = 5.0
"""Seconds until Stopped is raised again in a block that has not ended: somebody may have swallowed the first one."""


class Stopped(BaseException):
    """The agent was asked to stop before it had started the ranks. Not an Exception: no handler may swallow it."""


class StopRequest:
    """Why the agent is to stop. `reason` is None until somebody asks; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.by_signal = False  # whether a signal was the first to ask, so that only the sender knows why
        self._interruptible = False
        self._deferred = False

    def listen(self, wakeup: int) -> None:
        """Handle the signals from now on, also pending ones; each writes a byte to the file `wakeup`."""
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        signal.signal(WARNING, _ignore)
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*SIGNALS, WARNING))

    def ask(self, reason: str) -> None:
        """Stop, called from another thread. The signal interrupts a main thread that waits for a build."""
        if self.reason is None:
            self.reason = reason
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    @contextlib.contextmanager
    def interrupts(self) -> Generator[None, None, None]:
        """Raise Stopped inside this block, at any point but in `deferred` ones, as soon as somebody asks."""
        self._interruptible = True
        try:
            self._interrupt()
            yield
        finally:
            try:
                self._interruptible = False
            finally:  # a signal may arrive before that takes effect
                self._interruptible = False
                signal.setitimer(signal.ITIMER_REAL, 0)

    @contextlib.contextmanager
    def deferred(self) -> Generator[None, None, None]:
        """Raise Stopped only after this block: it takes locks that other threads share, and must release them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before, self._deferred = self._deferred, True
        try:
            yield
        finally:
            self._deferred = before
        self._interrupt()

    def _on_signal(self, number: int, _frame: object) -> None:
        self.by_signal = self.by_signal or self.reason is None
        self.reason = self.reason or f"the node agent was asked to stop ({signal.Signals(number).name})"
        self._interrupt()

    def _on_alarm(self, _number: int, _frame: object) -> None:
        self._interrupt()

    def _interrupt(self) -> None:
        if self.reason is not None and self._interruptible and not self._deferred:
            signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS)
            raise Stopped


def _ignore(_number: int, _frame: object) -> None:
    """Take a signal without effect; unlike SIG_IGN, ranks do not inherit this."""
