"""Wait for a condition that only files, processes and other machines can report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 120.0
"""Long enough for a slow machine that runs other tests at the same time; a condition that holds costs nothing."""


def wait_until(
    condition: Callable[[], T | Literal[False] | None], seconds: float = PATIENCE_SECONDS, interval: float = 0.02
) -> T:
    """Return the first true value of `condition`; fail when there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"the condition did not hold within {seconds:g} s; last value: {value!r}"
        time.sleep(interval)
    return value


def check_stays(condition: Callable[[], object], seconds: float, interval: float = 0.02) -> None:
    """Fail when `condition` stops holding within `seconds`: for something that another process must not do."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), "the condition no longer holds"
        time.sleep(interval)
