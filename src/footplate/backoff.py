"""Growing pauses between retries."""

from __future__ import annotations

import os
import time
from typing import Callable, Type, TypeVar

T = TypeVar("T")


class Backoff:
    """Pauses that grow by `factor` from `first` to `longest` seconds.

    `jitter` spreads each pause by up to this share in both directions, so that many callers do not retry in step.
    """

    def __init__(
        self,
        first: float,
        longest: float,
        factor: float = 2.0,
        jitter: float = 0.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._first = first
        self._longest = longest
        self._factor = factor
        self._jitter = jitter
        self._sleep = sleep
        self._next = first

    def next(self) -> float:
        """Return the pause before the next attempt, and make the one after it longer."""
        pause = self._next
        self._next = min(pause * self._factor, self._longest)
        if not self._jitter:
            return pause
        return pause * (1 + self._jitter * (os.urandom(1)[0] / 127.5 - 1))  # not `random`: one import less

    def wait(self) -> None:
        """Sleep before the next attempt."""
        self._sleep(self.next())

    def reset(self) -> None:
        """Start again from the first pause, after an attempt that made progress."""
        self._next = self._first


def retry(call: Callable[[], T], attempts: int, backoff: Backoff, error: Type[Exception]) -> T:
    """Repeat a call that raises `error`, with pauses; the last attempt's error is raised."""
    for _ in range(attempts - 1):
        try:
            return call()
        except error:
            backoff.wait()
    return call()
