"""Notifications inside the server: services publish topics from any thread, long polls wait for them on the loop.

A reader gets the topic's `sequence`, reads the store, and if there is nothing new waits until the sequence has grown.
Nothing can slip in between, and waiting is cheap: one future and no thread.
"""

from __future__ import annotations

import asyncio
import itertools
import threading

from footplate.errors import Unavailable
from footplate.services.topics import Anything, Topic

MEMORY = 4096
"""Number of topics that are remembered. The oldest are forgotten together; their readers look once more."""


ANY = Anything()
"""The topic of readers who follow all changes; it is never published itself."""


class Hub:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._count = 0
        self._forgotten = 0  # the highest count among forgotten topics
        self._last: dict[Topic, int] = {}  # topic → count of its last publication, oldest first
        self._waiters: dict[Topic, set[asyncio.Future[None]]] = {}
        self._closed = False

    def publish(self, topic: Topic) -> None:
        """Announce a change of the topic, from any thread. This costs almost nothing while nobody waits."""
        with self._guard:
            self._count += 1
            self._last.pop(topic, None)
            self._last[topic] = self._count
            if len(self._last) > MEMORY:
                self._forget()
            waiters = [*self._waiters.pop(topic, ()), *self._waiters.pop(ANY, ())]
        _wake(waiters)

    def sequence(self, topic: Topic) -> int:
        """Return a number that grows with every publication of the topic."""
        with self._guard:
            return self._last.get(topic, self._forgotten)

    async def wait(self, topic: Topic, seen: int, timeout: float) -> int:
        """Return the topic's sequence once it is higher than `seen`, or its current value at the timeout.

        Raise Unavailable, marked as `stopping`, when the hub is closed: the client then asks the next server.
        """
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._closed:
                raise stopping()
            if self._last.get(topic, self._forgotten) > seen:
                return self._last.get(topic, self._forgotten)
            future: asyncio.Future[None] = loop.create_future()
            self._waiters.setdefault(topic, set()).add(future)
        timer = loop.call_later(max(timeout, 0.0), _resolve, future)
        try:
            await future
        finally:
            timer.cancel()
            self._leave(topic, future)
        if self._closed:
            raise stopping()
        return self.sequence(topic)

    def changes(self, seen: int) -> tuple[int, list[Topic] | None]:
        """Return the present count, and the topics published after the count `seen`, oldest first.

        None instead of topics: too many were published since, and some are forgotten.
        """
        with self._guard:
            if seen < self._forgotten or seen > self._count:
                return self._count, None
            newest = itertools.takewhile(lambda topic: self._last[topic] > seen, reversed(self._last))
            return self._count, list(newest)[::-1]

    async def wait_for_any(self, seen: int, timeout: float) -> None:
        """Wait until anything was published after the count `seen`, or for the time."""
        with self._guard:
            if self._count > seen and not self._closed:
                return
        await self.wait(ANY, seen, timeout)

    def close(self) -> None:
        """End all waits, present and future."""
        with self._guard:
            self._closed = True
            waiters = [future for group in self._waiters.values() for future in group]
            self._waiters.clear()
        _wake(waiters)

    def waiting(self) -> int:
        with self._guard:
            return sum(len(group) for group in self._waiters.values())

    def _leave(self, topic: Topic, future: asyncio.Future[None]) -> None:
        with self._guard:
            group = self._waiters.get(topic)
            if group is not None:
                group.discard(future)
                if not group:
                    del self._waiters[topic]

    def _forget(self) -> None:
        for topic in list(self._last)[: MEMORY // 2]:
            self._forgotten = self._last.pop(topic)


def stopping() -> Unavailable:
    return Unavailable(
        "the server is stopping", "send the request again: the next server will answer it", stopping=True
    )


def _wake(waiters: set[asyncio.Future[None]] | list[asyncio.Future[None]] | tuple[()]) -> None:
    for future in waiters:
        try:
            future.get_loop().call_soon_threadsafe(_resolve, future)
        except RuntimeError:  # its loop is closed: nobody waits any more
            pass


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
