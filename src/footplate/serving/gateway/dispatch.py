"""From a request to a worker: queues, batches without waiting, weights between versions, one retry.

A free connection takes everything that is queued, up to the service's limit: at low load a request goes alone and at
once, at high load batches form by themselves while workers are busy.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from footplate.domain.serving.rollouts import VersionFigures
from footplate.domain.serving.routes import ServiceRoute, VersionRoute
from footplate.serving.gateway.collection import keep_rows
from footplate.serving.gateway.memory import Memory
from footplate.serving.gateway.metrics import VersionMetrics
from footplate.serving.gateway.second_opinion import SecondOpinion
from footplate.serving.gateway.worker_link import Answer, WorkerLink, keep_accepted, keep_connected
from footplate.serving.worker.data_collector import KeptRows

RETRY_AFTER = "1"
_TRIES = 2
_BATCH_BYTES = 16 << 20  # a batch takes no more requests beyond this size
Done = Callable[[Answer], None]


@dataclass
class Pending:
    """A request that waits for its answer."""

    item: dict[str, Any]
    body: bytes
    done: Done
    began: float
    deadline: float
    tries: int = 0
    is_over: bool = False
    is_copy: bool = False  # for a second opinion: it does not count
    work: float = 0.0  # seconds that a worker was busy with it; its part of those of a batch


def unavailable(message: str) -> Answer:
    """Return the declared 503 of a service that cannot answer now."""
    return 503, "application/json", {"Retry-After": RETRY_AFTER}, f'{{"message":"{message}"}}'.encode()


class VersionPool:
    """The workers of one version and the requests that wait for them."""

    def __init__(self, service: ServiceRoute, version: VersionRoute, metrics: VersionMetrics, memory: Memory) -> None:
        self.service = service
        self.version = version
        self.metrics = metrics
        self._memory = memory
        self._queue: deque[Pending] = deque()
        self._links = set[WorkerLink]()
        self._in_flight: dict[WorkerLink, list[Pending]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._by_path: dict[str, WorkerLink] = {}
        self._leaving: dict[WorkerLink, asyncio.Task[None]] = {}
        self.copies = 0  # for second opinions, on their way
        self._sweeper = asyncio.get_running_loop().call_later(1.0, self._sweep)

    # ── What the server decides ───────────────────────────────────────────────────────────────────────────────────────

    def update(self, service: ServiceRoute, version: VersionRoute) -> None:
        """Take over new settings; connect to new sockets and leave workers that are gone."""
        self.service = service
        self.version = version
        for path in set(self._tasks) - {*version.sockets, *version.tunnels}:
            self._leave(path)
        for path in version.sockets:
            if path not in self._tasks:
                connecting = keep_connected(path, lambda path=path: self._connect(path))
                self._tasks[path] = asyncio.get_running_loop().create_task(connecting)

    def accept(self, run: str, connection: socket.socket, head: bytes) -> None:
        """Use a connection that the worker of this run has opened. An earlier one of it is dead."""
        if run in self._tasks:
            self._by_path[run].abort()
            self._tasks[run].cancel()
        keeping = keep_accepted(connection, head, self._connect(run))
        self._tasks[run] = asyncio.get_running_loop().create_task(keeping)

    def _connect(self, path: str) -> WorkerLink:
        link = self._by_path[path] = WorkerLink(self._on_free, self._on_lost, self._on_kept, self._memory)
        return link

    def _leave(self, path: str) -> None:
        """Give a worker nothing more; disconnect when it has answered what it has."""
        link = self._by_path.pop(path, None)
        task = self._tasks.pop(path)
        if link is None or link not in self._in_flight:
            task.cancel()
        else:
            link.is_leaving = True
            self._links.discard(link)
            self._leaving[link] = task

    async def drain(self, seconds: float, successor: Callable[[], VersionPool | None] | None = None) -> None:
        """Answer what is here, then disconnect. Requests that no worker is left for go to the successor."""
        deadline = time.monotonic() + seconds
        while (self._queue or any(self._in_flight.values())) and time.monotonic() < deadline:
            other = successor() if successor and self._queue and not self._links else None
            if other is not None:
                other.take_over(self._queue)
                self._queue = deque()
            await asyncio.sleep(0.01)
        self.close()

    def take_over(self, waiting: Iterable[Pending]) -> None:
        """Queue requests of a version that has ended before it answered them."""
        self._queue.extend(waiting)
        self._use_free_links()

    def close(self) -> None:
        self._sweeper.cancel()
        for task in (*self._tasks.values(), *self._leaving.values()):
            task.cancel()
        for pending in [*self._queue, *(p for batch in self._in_flight.values() for p in batch)]:
            self._finish(pending, unavailable("the service is being removed"))

    # ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self, item: dict[str, Any], body: bytes, done: Done, is_copy: bool = False) -> Pending | None:
        """Queue one request; `done` is called once, now or later. Return None if the queue is full."""
        now = time.monotonic()
        pending = Pending(item, body, done, now, now + self.service.limits.timeout_seconds, is_copy=is_copy)
        if len(self._queue) >= self.service.limits.queue:
            self._finish(pending, unavailable("too many requests are waiting"))
            return None
        self._queue.append(pending)
        for link in self._links:
            if link.is_free:
                self._on_free(link)
                break
        return pending

    def submit_copy(self, item: dict[str, Any], body: bytes, done: Done, counts: bool = True) -> Pending | None:
        """Queue a copy of a request whose client has its answer; none if there is no memory to keep its body."""
        if self._memory.is_full:
            return None
        self._memory.take(len(body))

        def finish(answer: Answer) -> None:
            self._memory.give_back(len(body))
            done(answer)

        return self.submit(item, body, finish, is_copy=not counts)

    @property
    def hello(self) -> dict[str, Any]:
        """The description of the model by a worker that is up; empty where none is."""
        return next((link.hello for link in self._links if link.hello), dict[str, Any]())

    @property
    def takes_requests(self) -> bool:
        return self.version.weight > 0 and not self.version.shadow

    @property
    def healthy(self) -> int:
        return sum(1 for link in self._links if link.hello)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def running(self) -> int:
        return sum(len(batch) for batch in self._in_flight.values())

    def figures(self) -> VersionFigures:
        return self.metrics.figures(self.healthy, self.waiting, self.running)

    # ── Workers ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _on_free(self, link: WorkerLink) -> None:
        if link.is_leaving:
            if link in self._leaving and link not in self._in_flight:
                self._leaving.pop(link).cancel()
            return
        self._links.add(link)
        if not link.is_free or not self._queue:
            return
        if self._memory.is_unread:
            self._memory.wait_for_readers(self._use_free_links)
            return
        most = self.service.limits.max_batch if link.hello.get("batches") else 1
        batch: list[Pending] = []
        size = 0
        while self._queue and len(batch) < most and size < _BATCH_BYTES:
            pending = self._queue.popleft()
            if not pending.is_over:
                pending.tries += 1
                size += len(pending.body)
                batch.append(pending)
        if not batch:
            return
        self._in_flight[link] = batch
        self.metrics.batches.add(len(batch))
        began = time.monotonic()
        link.send(
            [p.item for p in batch], [p.body for p in batch], lambda answers: self._on_answers(link, answers, began)
        )

    def _on_answers(self, link: WorkerLink, answers: list[Answer], began: float) -> None:
        """Give the worker its next batch, so that it works on that while these answers are written."""
        work = (time.monotonic() - began) / max(1, len(answers))
        batch = self._in_flight.pop(link, [])
        with self._memory.expecting(sum(len(body) for _, _, _, body in answers)):
            self._on_free(link)
        for pending, answer in zip(batch, answers, strict=True):
            pending.work = work
            self._finish(pending, answer)

    def _on_lost(self, link: WorkerLink) -> None:
        """Try what a lost worker had in hand once more: scoring is repeatable, but a request may also kill workers."""
        self._links.discard(link)
        if link in self._leaving:
            self._leaving.pop(link).cancel()
        for pending in reversed(self._in_flight.pop(link, [])):
            if pending.tries >= _TRIES:
                self._finish(pending, unavailable("the worker ended while it answered this request, twice"))
            elif not pending.is_over:
                self.metrics.retries += 1
                self._queue.appendleft(pending)
        self._use_free_links()

    def _use_free_links(self) -> None:
        for link in list(self._links):
            self._on_free(link)

    def _on_kept(self, rows: KeptRows) -> None:
        if self.version.model_data is not None:
            keep_rows(self.version.model_data, rows)

    def _finish(self, pending: Pending, answer: Answer) -> None:
        if not pending.is_over:
            pending.is_over = True
            if not pending.is_copy:
                self.metrics.add_answer(answer[0], time.monotonic() - pending.began, pending.work)
            pending.done(answer)

    def _sweep(self) -> None:
        """Answer requests whose time is over, wherever they are."""
        now = time.monotonic()
        for pending in [*self._queue, *(p for batch in self._in_flight.values() for p in batch)]:
            if now > pending.deadline:
                seconds = self.service.limits.timeout_seconds
                words = f"no answer within {seconds:g} seconds" if pending.tries else "no worker was ready in time"
                self._finish(pending, unavailable(words))
        while self._queue and self._queue[0].is_over:
            self._queue.popleft()
        self._sweeper = asyncio.get_running_loop().call_later(0.25, self._sweep)


class ServicePool:
    """The versions of one service: a request goes to one of them by weight, and copies go to shadows."""

    def __init__(self, name: str, service: ServiceRoute, memory: Memory) -> None:
        self.name = name
        self.service = service
        self._memory = memory
        self.pools: dict[str, VersionPool] = {}
        self._leaving: dict[str, VersionPool] = {}
        self._random = random.Random()
        self._draining: set[asyncio.Task[None]] = set()
        self.update(service)

    def update(self, service: ServiceRoute) -> None:
        """Take over new versions and weights; versions that are gone answer what they have, then disconnect."""
        self.service = service
        for name in set(self.pools) - set(service.versions):
            self._leaving[name] = self.pools.pop(name)
            task = asyncio.get_running_loop().create_task(self._drain(name, service.limits.timeout_seconds))
            self._draining.add(task)
            task.add_done_callback(self._draining.discard)
        for name, version in service.versions.items():
            if name not in self.pools:
                metrics = VersionMetrics(self.name, name)
                self.pools[name] = VersionPool(service, version, metrics, self._memory)
            self.pools[name].update(service, version)

    async def _drain(self, name: str, seconds: float) -> None:
        pool = self._leaving[name]
        await pool.drain(seconds, None if pool.version.shadow else self.choose)
        if self._leaving.get(name) is pool:
            del self._leaving[name]

    @property
    def all_pools(self) -> dict[str, VersionPool]:
        """All versions, those included that still answer what they have."""
        return {**self._leaving, **self.pools}

    def submit(self, item: dict[str, Any], body: bytes, done: Done) -> None:
        chosen = self.choose()
        if chosen is None:
            done(unavailable("the service has no version that takes requests"))
            return
        shadows = [pool for pool in self.pools.values() if pool.version.shadow]
        if shadows:
            done = _compare(done, shadows, item, body)
        rivals = [self.pools[name] for name in chosen.version.rivals if name in self.pools]
        if rivals:
            opinion = SecondOpinion(chosen, rivals, item, body, done)
            opinion.pending = chosen.submit(item, body, opinion.take_answer)
        else:
            chosen.submit(item, body, done)

    def choose(self) -> VersionPool | None:
        """Return the version for the next request."""
        pools = [pool for pool in self.pools.values() if pool.takes_requests]
        if len(pools) < 2:
            return pools[0] if pools else None
        return self._random.choices(pools, [pool.version.weight for pool in pools])[0]

    def close(self) -> None:
        for pool in self.pools.values():
            pool.close()


def _compare(done: Done, shadows: list[VersionPool], item: dict[str, Any], body: bytes) -> Done:
    """Return a function that answers the client, and then compares shadows with that answer."""

    def take_answer(answer: Answer) -> None:
        done(answer)
        for pool in shadows:
            pool.submit_copy(item, body, lambda other, pool=pool: compare(pool, answer, other))

    def compare(pool: VersionPool, answer: Answer, other: Answer) -> None:
        if (answer[0], answer[3]) != (other[0], other[3]):
            pool.metrics.shadow_differences += 1

    return take_answer
