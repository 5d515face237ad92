"""Wait for a condition that only files, processes and other machines can report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 120.0
"""Long enough for a slow machine that runs other tests at the same time; a condition that holds costs nothing."""

_MOST_PAUSE_SECONDS = 0.25
_PAUSES_PER_LOOK = 4


def wait_until(
    condition: Callable[[], T | Literal[False] | None], seconds: float = PATIENCE_SECONDS, interval: float = 0.02
) -> T:
    """Return the first true value of `condition`; fail when there is none within `seconds`.

    The pause between two looks is at least `interval`, and longer after a look that took long: one that calls a server
    or starts a process then uses a fifth of a core at most.
    """
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if value := condition():
            return value
        now = time.monotonic()
        assert now < deadline, f"the condition did not hold within {seconds:g} s; last value: {value!r}"
        time.sleep(max(interval, min(_MOST_PAUSE_SECONDS, _PAUSES_PER_LOOK * (now - began))))


def check_stays(condition: Callable[[], object], seconds: float, interval: float = 0.02) -> None:
    """Fail when `condition` stops holding within `seconds`: for something that another process must not do."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), "the condition no longer holds"
        time.sleep(interval)
