"""Answers that were found a moment ago, so that most requests need no database."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

RECALL_SECONDS = 5.0
"""How long an answer counts: in another server process on the same database, a change applies after that time."""

_MOST_RECALLED = 4096


class Recent(Generic[K, V]):
    """Values by key, each for a few seconds. Any thread may use it.

    A value that was looked up before a `forget` is not remembered after it: take a `mark` first.
    """

    def __init__(self) -> None:
        self._values: dict[K, tuple[float, V]] = {}
        self._changes = 0
        self._guard = threading.Lock()

    @property
    def mark(self) -> int:
        return self._changes

    def get(self, key: K) -> V | None:
        entry = self._values.get(key)
        return entry[1] if entry is not None and time.monotonic() < entry[0] else None

    def put(self, key: K, value: V, mark: int) -> None:
        """Remember a value that was looked up since the mark."""
        with self._guard:
            if mark != self._changes:
                return
            if len(self._values) >= _MOST_RECALLED:
                self._values.clear()
            self._values[key] = (time.monotonic() + RECALL_SECONDS, value)

    def forget(self) -> None:
        with self._guard:
            self._changes += 1
            self._values = {}
