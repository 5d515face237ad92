"""The thread that talks to the server while the ranks run: events in order, heartbeats, and growing files.

While the server is away it retries with growing pauses. Nothing is lost, because everything is in files.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from footplate.backoff import Backoff
from footplate.domain.orders import Cause, ReportedEvent
from footplate.domain.shipments import NodeHost, NodeReport
from footplate.errors import Broken, FootplateError, OutOfSpace, Unavailable
from footplate.node import host_info
from footplate.node.delivery.disk_wait import DiskWatch
from footplate.node.delivery.server_link import BACKOFF, Abandoned, Link
from footplate.node.delivery.shipper import Gathered, NodeShipper
from footplate.node.node_directory import NodeFolder

HEARTBEAT_SECONDS = 3.0
_BUSY_PAUSE = 0.05
_IDLE_PAUSE = 0.15
_QUIET_PAUSE = 0.5
_QUIET_SECONDS = 2.0
"""After so long without news the shipper looks less often: each look takes a core from a rank for a moment. The next
line then appears slightly later."""

_LONGEST_PAUSE = 2.0
_SHARE = 0.002
"""The share of one processor that looking for news may cost: the more files there are, the less often it looks."""

_PASSING = (Unavailable, OutOfSpace, Broken)
"""Problems of the server, not of the run: not a reason to end a training."""


class Reporter:
    """The reporting thread, which the first event starts.

    It calls `on_stop(reason)` whenever the server answers that the ranks must stop.

    It calls `on_question(key)` when somebody asks for the stacks of the ranks; that must return quickly.
    """

    def __init__(
        self,
        link: Link,
        shipper: NodeShipper,
        on_stop: Callable[[str], None],
        folder: NodeFolder,
        disk: DiskWatch,
        on_question: Callable[[str], None] = lambda _key: None,
    ) -> None:
        self._link = link
        self._shipper = shipper
        self._on_stop = on_stop
        self._folder = folder
        self._disk = disk
        self._on_question = on_question
        self._events: deque[tuple[float, NodeReport]] = deque()  # with the time at which they happened
        self._warnings: deque[str] = deque()
        self._wake = threading.Event()
        self._finishing = self._concludes = False
        self.has_concluded = False  # the server knows that the node is done
        self._full_disk_seconds: float | None = None
        self._has_given_up = False
        self._next_beat = time.monotonic() + HEARTBEAT_SECONDS
        self._last_news = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def tell(
        self, event: ReportedEvent, message: str | None = None, cause: Cause | None = None, wake: bool = True
    ) -> None:
        """Queue an event for the server, after earlier ones. Without `wake` it goes with the next news."""
        self._events.append((time.monotonic(), NodeReport(event, message, cause)))
        if wake:
            self._wake.set()
        self._start()

    def note_joined(self, name: str, address: str, info: dict[str, Any]) -> None:
        """Queue the event that the node has joined, on this host. It goes with the first event of another kind."""
        self._events.append((time.monotonic(), NodeReport("joined", host=NodeHost(name, address, info))))

    def finish(self, full_disk_seconds: float | None, concludes: bool) -> bool:
        """Ship everything that is left, and return when the server has it; all writers must be dead.

        `concludes`: the node is done then, and the server may learn it at once (`has_concluded`). Return False if the
        server's disk was full for so long that the rest stays here.
        """
        self._full_disk_seconds, self._concludes = full_disk_seconds, concludes
        self._finishing = True
        self._wake.set()
        self._start()
        self._thread.join()
        return not self._has_given_up

    def _start(self) -> None:
        """Start the thread with the first event, which goes with the first news."""
        if self._thread.ident is None:
            self._thread.start()

    def _run(self) -> None:
        host_info.step_back()
        try:
            self._go_on()
        except Abandoned as why:
            self._on_stop(str(why))  # nobody can ever see what the ranks do; a service would run for ever
        except BaseException:
            if self._folder.vanishes():
                self._on_stop("the work folder is gone")
                return
            # Crash-only: half an agent is worse than none. The next one continues from the files.
            traceback.print_exc()
            os._exit(71)

    def _go_on(self) -> None:
        backoff = Backoff(*BACKOFF)
        full_since = None
        while True:
            finishing = self._finishing
            pause = 0.0
            self._wake.clear()
            if finishing:
                host_info.step_forward()
            try:
                pause = self._step(finishing)
                backoff.reset()
                full_since = None
                if self.has_concluded or (finishing and pause > 0.0 and not self._events):
                    return
            except _PASSING as error:
                if not self._folder.exists():
                    raise Abandoned("the work folder is gone, and so is the server") from None
                is_full = finishing and isinstance(error, OutOfSpace)
                full_since = (full_since or time.monotonic()) if is_full else None
                if self._gives_up(full_since):
                    self._has_given_up = True
                    return
                pause = backoff.next()
            self._wake.wait(pause)

    def _gives_up(self, full_since: float | None) -> bool:
        """Whether the disk was full for too long. A server that takes no event takes no failure of the run either."""
        limit = self._full_disk_seconds
        if full_since is None or limit is None or self._events:
            return False
        return time.monotonic() - full_since >= limit

    def _step(self, finishing: bool) -> float:
        """Do everything once; return the pause before the next time, 0 if there is more to ship."""
        is_due = time.monotonic() >= self._next_beat
        if is_due or finishing:
            self._warnings.extend(filter(None, [self._disk.look()]))
        began = time.thread_time()
        gathered = self._shipper.gather(writers_are_dead=finishing)
        cost = time.thread_time() - began
        together = self._ship_together(gathered, finishing)
        if self.has_concluded:
            return 0.0
        self._report_one_by_one()
        if is_due:
            self._next_beat = time.monotonic() + HEARTBEAT_SECONDS
            self._ask(self._beat)
        if gathered.has_news if together else self._shipper.ship(writers_are_dead=finishing):
            self._last_news = time.monotonic()
            return 0.0 if finishing else _BUSY_PAUSE
        is_quiet = time.monotonic() - self._last_news >= _QUIET_SECONDS
        return min(max(_QUIET_PAUSE if is_quiet else _IDLE_PAUSE, cost / _SHARE), _LONGEST_PAUSE)

    def _report_one_by_one(self) -> None:
        while self._events:
            self._report(self._events[0][1])
            self._events.popleft()
        while self._warnings:
            self._ask(lambda: self._warn(self._warnings[0]))
            self._warnings.popleft()

    def _warn(self, message: str) -> bool:
        self._link.warn(message)
        return False

    def _ship_together(self, gathered: Gathered, finishing: bool) -> bool:
        """Send the events and the small pieces in one request; return False if something is left for one by one.

        If the server refuses the request as a whole, or its disk is full, each part gets an answer of its own.
        """
        is_last = finishing and self._concludes and gathered.complete and not self._warnings
        now = time.monotonic()
        reports = [replace(report, age=now - when) for when, report in self._events]
        if not reports and not gathered.pieces and not is_last:
            return gathered.complete
        try:
            reply = self._link.ship(reports, gathered.pieces, is_last)
        except (Unavailable, Broken):
            raise
        except FootplateError:
            return False
        for _ in reports:
            self._events.popleft()
        has_all = gathered.confirm(reply.stored)
        self.has_concluded = is_last and has_all
        if reply.stop:
            self._on_stop("the server asked the ranks to stop")
        return has_all

    def _beat(self) -> bool:
        reply = self._link.beat()
        for key in reply.stacks:
            self._on_question(key)
        return reply.stop

    def _report(self, report: NodeReport) -> None:
        host = report.host
        if host is not None:
            self._ask(lambda: self._link.join(host.name, host.address, host.info).stop)
        else:
            self._ask(lambda: self._link.tell(report.event, report.message, report.cause))

    def _ask(self, call: Callable[[], bool]) -> None:
        try:
            if call():
                self._on_stop("the server asked the ranks to stop")
        except _PASSING:
            raise
        except FootplateError as error:
            # The run is unknown, has ended, or is at another attempt: in each case it does not need its ranks any more.
            self._on_stop(error.message)
