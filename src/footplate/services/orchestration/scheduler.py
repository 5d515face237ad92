"""Admits waiting runs by the decision of `domain.queue`, on one thread, so that two runs never get the same node."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import replace

from footplate.background import RETRY_SECONDS, Loop
from footplate.domain import queue
from footplate.domain.orders import Cause
from footplate.domain.records import RunRecord, RunView, Stage, Waiting
from footplate.domain.runs import events
from footplate.errors import Conflict, NotFound, OutOfSpace, Unavailable
from footplate.services.orchestration.effects import Tell
from footplate.services.orchestration.queues import QueueReader, SharedQueues, Target, target_of

log = logging.getLogger(__name__)


class Scheduler:
    def __init__(self, queues: QueueReader, tell: Tell) -> None:
        self._queues = queues
        self._tell = tell
        self._decisions: dict[Target, tuple[SharedQueues, queue.Decision]] = {}  # the last ones
        self._dirty: set[tuple[str, str]] = set()
        self._loop = Loop("scheduler", self._schedule_next)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop(timeout=10)

    def look_at(self, workspace: str, target: str) -> None:
        """Look at the queue of this target soon: a run may be able to start."""
        self._dirty.add((workspace, target))
        self._loop.wake()

    def waiting(self, run: str) -> Waiting | None:
        """Return why a queued run waits and its queue position, as of the last look at the queue."""
        queued = self._queues.find_queued(run)
        return None if queued is None else self._explain(*queued)

    def _explain(self, record: RunRecord, position: int) -> Waiting | None:
        queues, decision = self._decisions.get(target_of(record), (None, None))
        if queues is None or decision is None:
            return None
        ticket = queues.ticket(record)
        wait = decision.wait_of(ticket, position)
        return wait and Waiting(wait.reason, wait.position, wait.promised, ticket.nodes, ticket.gpus)

    def _schedule_next(self) -> float | None:
        if not self._dirty:
            return None
        workspace, target = self._dirty.pop()
        try:
            self._schedule(workspace, target)
            return 0.0
        except (Unavailable, OutOfSpace) as error:
            log.warning("cannot look at the queue of %s: %s", target, error.message)
        except Exception:
            log.exception("looking at the queue of %s failed", target)
        self._loop.sleep(RETRY_SECONDS)
        self._dirty.add((workspace, target))
        return 0.0

    def _schedule(self, workspace: str, target: str) -> None:
        now = time.time()
        try:
            snapshot = self._queues.look(workspace, target, now)
        except NotFound as error:
            for record in self._queues.waiting(workspace, target):
                with contextlib.suppress(NotFound, Conflict):  # ended in the meantime
                    cause = Cause("no_target", error.message, error.hint)
                    self._tell(record.id, events.RunFailed(cause), record.attempt)
            return
        if snapshot is None:
            self._decisions.pop((workspace, target), None)
            return
        queues = snapshot.queues
        decision = queue.admit(snapshot.waiting, snapshot.holding, queues.by_name, now, queues.gpus)
        self._decisions.update(dict.fromkeys(queues.capacities, (queues, decision)))
        for run in decision.started:
            with contextlib.suppress(Conflict):  # canceled in the meantime
                self._tell(run, events.RunAdmitted())
        for record in snapshot.unexplained:
            self._show_reason(record.id)

    def _show_reason(self, run: str) -> None:
        waiting = self.waiting(run)
        if waiting is not None:
            with contextlib.suppress(Conflict):
                self._tell(run, events.WaitReasonChanged(waiting.reason, waiting.position))


def with_waiting(view: RunView, waiting: Waiting | None) -> RunView:
    """Return the view with the queue's latest answer, which is fresher than the stored one."""
    return replace(view, waiting=waiting) if view.stage is Stage.QUEUED and waiting is not None else view
