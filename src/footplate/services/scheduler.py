"""Who of those that wait may start: `domain/queue`, asked by one thread, so that two runs never get the same node."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from dataclasses import replace

from footplate.domain import lifecycle, queue
from footplate.domain.records import Cause, RunRecord, RunView, Stage, Waiting
from footplate.errors import Conflict, NotFound, OutOfSpace, Unavailable
from footplate.services.capacity import capacity_of
from footplate.services.effects import Tell
from footplate.storage import Store

log = logging.getLogger(__name__)


class Scheduler:
    def __init__(self, store: Store, tell: Tell) -> None:
        self._store = store
        self._tell = tell
        self._waits: dict[str, Waiting] = {}
        self._queued: set[str] = set()
        self._queued_guard = threading.Lock()
        self._dirty: set[tuple[str, str]] = set()
        self._wake = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._schedule_forever, name="scheduler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        with self._wake:
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def look_at(self, workspace: str, target: str) -> None:
        """Something changed that may let a run of this target start."""
        with self._wake:
            self._dirty.add((workspace, target))
            self._wake.notify()

    def waiting(self, run: str) -> Waiting | None:
        """Why a queued run waits and its place in the line, as of the last look at the queue."""
        return self._waits.get(run)

    def note(self, record: RunRecord) -> None:
        """Where a run stands now."""
        with self._queued_guard:
            if record.stage is Stage.QUEUED:
                self._queued.add(record.id)
            else:
                self._queued.discard(record.id)
                self._waits.pop(record.id, None)

    def _schedule_forever(self) -> None:
        while True:
            with self._wake:
                while not self._dirty and not self._stopping.is_set():
                    self._wake.wait()
                if self._stopping.is_set():
                    return
                workspace, target = self._dirty.pop()
            try:
                self._schedule(workspace, target)
                continue
            except (Unavailable, OutOfSpace) as error:
                log.warning("cannot look at the queue of %s: %s", target, error.message)
            except Exception:
                log.exception("looking at the queue of %s failed", target)
            if self._stopping.wait(1.0):
                return
            self.look_at(workspace, target)

    def _schedule(self, workspace: str, target: str) -> None:
        records = {r.id: r for r in self._store.runs.waiting(workspace, target)}
        if not records:
            return
        try:
            capacity = capacity_of(self._store, workspace, target)
        except NotFound as error:
            for record in records.values():
                with contextlib.suppress(NotFound, Conflict):  # over in between
                    cause = Cause("no_target", error.message, error.hint)
                    self._tell(record.id, lifecycle.Fails(cause), record.attempt)
            return
        now = time.time()
        tickets = [_ticket(record) for record in records.values()]
        holding = [_holding(record, now) for record in self._store.runs.holding(workspace, target)]
        started, waits = queue.admit(tickets, holding, capacity.max_nodes, target, now)
        for run in started:
            with contextlib.suppress(Conflict):  # cancelled in between
                self._tell(run, lifecycle.Admitted())
        for wait in waits:
            with self._queued_guard:
                if wait.run in self._queued:  # not cancelled since we looked: nobody would take it out again
                    self._waits[wait.run] = Waiting(wait.reason, wait.position, wait.promised)
            if records[wait.run].waiting is None:
                with contextlib.suppress(Conflict):
                    self._tell(wait.run, lifecycle.Waits(wait.reason, wait.position))


def _ticket(record: RunRecord) -> queue.Ticket:
    spec = record.spec
    return queue.Ticket(record.id, spec.distribution.node_count, spec.priority, record.created, spec.max_seconds)


def _holding(record: RunRecord, now: float) -> queue.Holding:
    """A time limit counts from the start of the script, which may still be to come."""
    limit = record.spec.max_seconds
    ends = None if limit is None else (record.started or now) + limit
    return queue.Holding(record.id, record.spec.distribution.node_count, ends)


def with_waiting(view: RunView, waiting: Waiting | None) -> RunView:
    """The view with what the queue said last, which is fresher than what was stored."""
    return replace(view, waiting=waiting) if view.stage is Stage.QUEUED and waiting is not None else view
