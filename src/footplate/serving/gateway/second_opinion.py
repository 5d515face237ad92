"""A second opinion: whether a version that may be rolled back fails by itself, or because of a request.

While the server may roll a version back, the gateway sends a copy of each request that it fails, or answers slowly, to
a version from before it. That is held against the new version only if the other one does better. Otherwise a client
could have a good version rolled back, by requests that no version can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footplate.serving.gateway.worker_link import Answer

if TYPE_CHECKING:
    from footplate.serving.gateway.dispatch import Done, Pending, VersionPool

MOST_COPIES = 32
"""Copies of the requests of one version that may be on their way at once."""


class SecondOpinion:
    """Answers the client, and then compares an answer that looks bad with that of a rival."""

    def __init__(self, pool: VersionPool, rivals: list[VersionPool], item: dict[str, Any], body: bytes, done: Done):
        self._pool = pool
        self._rivals = rivals
        self._item = item
        self._body = body
        self._done = done
        self._copy: Pending | None = None
        self.pending: Pending | None = None  # None if the queue was full: that is not the version's failure

    def take_answer(self, answer: Answer) -> None:
        self._done(answer)
        if self.pending is None or self._pool.copies >= MOST_COPIES:
            return
        rival = max(self._rivals, key=lambda pool: pool.healthy)
        usual = rival.metrics.p99_work
        is_slow = usual is not None and self.pending.work > usual * self._pool.version.slower_times
        if is_slow or self._has_failed(self.pending, answer):
            item = {name: value for name, value in self._item.items() if name != "c"}  # it is collected once
            self._pool.copies += 1
            self._copy = rival.submit_copy(item, self._body, lambda other: self._compare(answer, other), counts=False)
            if self._copy is None:  # the queue or the memory is full
                self._pool.copies -= 1

    def _has_failed(self, pending: Pending, answer: Answer) -> bool:
        """Whether the version failed. A request that never came to one of its workers, all busy, has not failed."""
        return answer[0] >= 500 and bool(pending.tries or not self._pool.healthy)

    def _compare(self, answer: Answer, other: Answer) -> None:
        if self._copy is None or self.pending is None:
            return
        self._pool.copies -= 1
        if other[0] >= 400:
            return
        if answer[0] >= 500:
            self._pool.metrics.faults.add()
        elif self.pending.work > self._copy.work * self._pool.version.slower_times:
            self._pool.metrics.slow.add()
