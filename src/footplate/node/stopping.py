"""Why an agent ends its ranks: signals of the engine or the system, the server's answer to a heartbeat, time limits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Generator

from footplate.domain.orders import AGENT_STOPPED, Cause, NodeOrders
from footplate.domain.values import replace

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop an agent. Whoever forks an agent blocks them until it handles them."""

WARNING = signal.SIGUSR1
"""The engine's warning that its time limit is near. It does not stop an agent."""

LOOK_SECONDS = 1.0
"""Seconds between looks for ranks to warn when a time limit is near."""

REPEAT_SECONDS = 5.0
"""Seconds until Stopped is raised again in a block that has not ended: somebody may have swallowed the first one."""


class Stopped(BaseException):
    """The agent was asked to stop before it had started the ranks. Not an Exception: no handler may swallow it."""


class StopRequest:
    """Why the agent is to stop. `reason` is None until somebody asks; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.by_signal = False  # whether a signal was the first to ask, so that only the sender knows why
        self.was_signalled = False  # also when that was too late to be the reason
        self.is_warned = False  # the engine's time limit is near
        self._interruptible = False
        self._deferred = False

    def listen(self, wakeup: int) -> None:
        """Handle the signals from now on, also pending ones; each writes a byte to the file `wakeup`."""
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        signal.signal(WARNING, self._on_warning)
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

    def cause(self, node: int) -> Cause:
        """Return the request as the cause of the end of a node."""
        return Cause(AGENT_STOPPED if self.by_signal else "canceled", self.reason or "the run is to end", node=node)

    def _on_signal(self, number: int, _frame: object) -> None:
        self.was_signalled = True
        self.by_signal = self.by_signal or self.reason is None
        self.reason = self.reason or f"the node agent was asked to stop ({signal.Signals(number).name})"
        self._interrupt()

    def _on_warning(self, _number: int, _frame: object) -> None:
        self.is_warned = True

    def _on_alarm(self, _number: int, _frame: object) -> None:
        self._interrupt()

    def _interrupt(self) -> None:
        if self.reason is not None and self._interruptible and not self._deferred:
            signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS)
            raise Stopped


class TimeLimit:
    """The run's own limit, which the agent enforces, and the engine's, of which the engine warns the agent.

    `seconds_run` returns how long the ranks have run.
    """

    def __init__(self, orders: NodeOrders, stop: StopRequest, seconds_run: Callable[[], float]) -> None:
        self._orders = orders
        self._stop = stop
        self._seconds_run = seconds_run

    def seconds_left(self) -> float | None:
        """Return the seconds until there is something to do: to warn the ranks, or to end them."""
        remaining = self._own_seconds_left()
        if self.signal_due():  # a rank may yet install a handler
            return LOOK_SECONDS if remaining is None else min(remaining, LOOK_SECONDS)
        return (
            remaining
            if remaining is None or self._orders.warning_signal is None
            else remaining - self._orders.warning_seconds
        )

    def signal_due(self) -> str | None:
        """Return the signal that the ranks are to get from now on, because a limit is near."""
        return self._orders.warning_signal if self._is_near() or self._stop.is_warned else None

    def cause_if_passed(self) -> Cause | None:
        """Return the cause of the end if the run's own limit has passed."""
        remaining = self._own_seconds_left()
        if remaining is None or remaining > 0:
            return None
        words = f"ran longer than the limit of {self._orders.max_seconds:g} seconds"
        return Cause("time_limit", words, "raise max_run_duration_seconds", self._orders.node)

    def explain(self, cause: Cause) -> Cause:
        """Return the limit as the cause if a rank that was warned ended with an exit code or by that signal."""
        if cause.code != "exit_code" and (cause.code, cause.signal) != ("signal", self._orders.warning_signal):
            return cause
        code = "time_limit" if self._is_near() else "engine_time_limit"
        return replace(cause, code=code, message=f"ended after the warning of the time limit: {cause.message}")

    def _is_near(self) -> bool:
        remaining = self._own_seconds_left()
        return remaining is not None and remaining <= self._orders.warning_seconds

    def _own_seconds_left(self) -> float | None:
        limit = self._orders.max_seconds
        return None if limit is None else limit - self._seconds_run()
