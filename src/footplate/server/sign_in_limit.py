"""A limit on failed attempts to sign in, by the address of the client."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from footplate.errors import TooManyRequests

MOST_FAILURES = 10
WINDOW_SECONDS = 60.0
_MOST_ADDRESSES = 10_000


class SignInLimit:
    """Refuses more attempts from an address after too many failures. It lives on the event loop and needs no lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}

    def check(self, address: str) -> None:
        """Raise TooManyRequests for an address with too many failures in the last minute."""
        failures = self._recent(address)
        if len(failures) >= MOST_FAILURES:
            seconds = max(1, round(failures[0] + WINDOW_SECONDS - self._clock()))
            raise TooManyRequests(
                f"{len(failures)} attempts to sign in from {address} have failed",
                f"try again in {seconds} s",
                seconds=seconds,
            )

    def note_failure(self, address: str) -> None:
        if len(self._failures) >= _MOST_ADDRESSES:
            self._failures = {each: recent for each in list(self._failures) if (recent := self._recent(each))}
        if len(self._failures) < _MOST_ADDRESSES:
            self._failures.setdefault(address, deque(maxlen=MOST_FAILURES)).append(self._clock())

    def _recent(self, address: str) -> deque[float]:
        failures = self._failures.get(address, deque())
        while failures and failures[0] <= self._clock() - WINDOW_SECONDS:
            failures.popleft()
        return failures
