"""The orchestrator: takes events, saves the lifecycle's decisions, and has the effects performed.

Threads: any thread may call `tell`. Slow effects run in a small pool. One thread looks at the queues (`scheduler`), one
asks the engines about their agents (`watcher`), and one wakes runs (`alarms`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from footplate.domain.records import RunRecord, Stage, StoryLine, Waiting
from footplate.domain.runs import events, lifecycle, run_status
from footplate.domain.runs.events import Effect, Event
from footplate.domain.runs.run_kinds import kind_of
from footplate.errors import OutOfSpace, Unavailable
from footplate.services import story
from footplate.services.notifications import Notifications
from footplate.services.orchestration.agent_jobs import AgentJobs
from footplate.services.orchestration.alarms import Alarms, ServerClock
from footplate.services.orchestration.client_watcher import ClientWatcher
from footplate.services.orchestration.effects import Effects, Handler
from footplate.services.orchestration.groups import Groups
from footplate.services.orchestration.queues import QueueReader
from footplate.services.orchestration.scheduler import Scheduler
from footplate.services.orchestration.watcher import AgentWatcher
from footplate.services.topics import Publish, RunChanged, RunTurned
from footplate.storage import Storage

log = logging.getLogger(__name__)


class EffectRow(NamedTuple):
    """How one type of effect is performed: inline, on the thread that took the event, or in the pool.

    An inline handler must be quick and must not fail. A handler in the pool that fails ends the run with a cause of the
    code `failure`.
    """

    handler: Handler
    in_pool: bool = False
    failure: str = "internal"


class _Step(NamedTuple):
    """The decision about one event: the record after it, the effects, and its lines of the story."""

    after: RunRecord
    effects: tuple[Effect, ...]
    lines: list[StoryLine]


class Orchestrator:
    def __init__(
        self,
        store: Storage,
        publish: Publish,
        home: Path,
        queues: QueueReader,
        jobs: AgentJobs,
        notifications: Notifications,
        watch_seconds: float = 1.0,
    ) -> None:
        self._store = store
        self._publish = publish
        self._home = home
        self._notifications = notifications
        self._queues = queues
        self._active: set[str] = set()
        self._order = RecordOrder()
        self._tracking = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="effects")
        self.effects = Effects(store, home, jobs, self.tell)
        self._scheduler = Scheduler(queues, self.tell)
        self._watcher = AgentWatcher(store, self.effects, self.tell, self._resume, watch_seconds)
        clock = ServerClock(home)
        self._alarms = Alarms(self.tell, clock)
        self._clients = ClientWatcher(self.tell)
        self.groups = Groups(store, self.tell, self._in_pool, self._watcher.doubt, clock)
        self.handlers: dict[type[Effect], EffectRow] = {
            events.ResolveEnvironment: EffectRow(self.effects.resolve_environment, True, "environment_failed"),
            events.LaunchNodes: EffectRow(self.effects.launch, True, "launch_failed"),
            events.StopNodes: EffectRow(self.effects.stop_nodes, True),
            events.ScheduleQueue: EffectRow(self._schedule_queue),
            events.ReleaseGpus: EffectRow(self._release_gpus),
            events.BeginAttempt: EffectRow(self._watcher.begin_attempt),
            events.ForgetNodes: EffectRow(self._watcher.forget_nodes),
            events.WakeRun: EffectRow(self._alarms.set),
            events.ConsultController: EffectRow(self.groups.consult),
            events.OrderChildren: EffectRow(self.groups.order_children),
            events.EndChildren: EffectRow(self.groups.end_children),
            events.NotifyParent: EffectRow(self.groups.notify_parent),
            events.AnnounceEnd: EffectRow(self._announce),
        }

    # ── Life of the orchestrator itself ───────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        for record in [*self._store.runs.active(with_nodes=True), *self._store.runs.active_groups()]:
            self._resume(record)
        for record in self._store.runs.active_interactive():
            self._clients.note(record)
        self._watcher.take_up_leftovers(self._home)
        self._alarms.start()
        self._clients.start()
        self._scheduler.start()
        self._watcher.start()

    def client_lives(self, run: str) -> None:
        """Take notice of a heartbeat from the client of an interactive run."""
        self._clients.beat(run)

    def stop(self) -> None:
        self._alarms.stop()
        self._clients.stop()
        self._scheduler.stop()
        self._watcher.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def active_runs(self) -> int:
        with self._tracking:
            return len(self._active)

    # ── The queue ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def look_at_queue(self, workspace: str, target: str) -> None:
        self._scheduler.look_at(workspace, target)

    def _schedule_queue(self, record: RunRecord, _: Effect) -> None:
        self._scheduler.look_at(record.workspace, record.spec.target)

    def waiting(self, run: str) -> Waiting | None:
        """Return why a queued run waits and its queue position, as of the last look at the queue."""
        return self._scheduler.waiting(run)

    # ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, record: RunRecord, created_by: str, first: Sequence[Event], person: str | None = None) -> None:
        """Store a new run together with its first events, so that a server killed right after this finds it complete.

        Only the effects of the last event are performed: it says what the earlier ones would have found out.
        """
        steps = _decide(record, [(event, 0.0) for event in first], record.created)
        after, effects, _ = steps[-1]
        with self._tracking:
            self._order.begin(record.id)
        with self._perhaps_stored(record.id):
            self._store.runs.create(after, created_by, [line for step in steps for line in step.lines], person)
        self._track(after)
        self._perform_all(after, effects)

    def tell(self, run: str, event: Event, attempt: int | None = None, seen: RunRecord | None = None) -> RunRecord:
        """Apply an event to a run. Repeats until the compare-and-set succeeds: another thread may be first.

        With `attempt`, the event counts only while the run is at that attempt. `seen` is the record as it was a moment
        ago, for a caller that has just read it.
        """
        return self.tell_all(run, ((event, 0.0),), attempt, seen)

    def tell_all(
        self,
        run: str,
        reports: Sequence[tuple[Event, float]],
        attempt: int | None = None,
        seen: RunRecord | None = None,
    ) -> RunRecord:
        """Apply events in order, all of them or none. They are stored together, which takes half the time.

        Each has an age: the seconds since it happened.
        """
        while True:
            record, seen = seen or self._store.runs.record(run), None
            if attempt not in (None, record.attempt):
                return record
            steps = _decide(record, reports, time.time())
            if not steps:
                return record
            after = steps[-1].after
            lines = [line for step in steps for line in step.lines]
            with self._perhaps_stored(run):
                saved = self._store.runs.save(after, record.version, lines)
            if saved:
                self._track(after)
                self._publish(RunChanged(run))
                if run_status.turning_points(after) != run_status.turning_points(record):
                    self._publish(RunTurned(run))
                for step in steps:
                    self._perform_all(step.after, step.effects)
                return after

    @contextlib.contextmanager
    def _perhaps_stored(self, run: str) -> Generator[None, None, None]:
        """Have the watcher resume the run if the database goes away: it may have stored what it did not confirm.

        Then the effects are still to be performed, and a repetition of the event finds nothing left to decide.
        """
        try:
            yield
        except (Unavailable, OutOfSpace):
            self._watcher.doubt(run)
            raise

    def _track(self, record: RunRecord) -> None:
        """Have all who watch runs take notice of a record, unless another thread has shown them a newer one."""
        expected = kind_of(record.spec).has_nodes or record.wake_at is not None  # something will happen to it
        over = record.stage is Stage.ENDED or not expected
        with self._tracking:
            if not self._order.take(record):
                return
            (self._active.discard if over else self._active.add)(record.id)
            self.groups.note(record)
            self._queues.note(record)
            self._watcher.note(record)
            self._clients.note(record)

    # ── Effects ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _resume(self, record: RunRecord) -> None:
        """Resume a run whose last effects may not have been performed."""
        self._track(record)
        self._perform_all(record, lifecycle.resume(record))

    def _perform_all(self, record: RunRecord, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            row = self.handlers[type(effect)]
            if not row.in_pool:
                row.handler(record, effect)
                continue
            self._in_pool(partial(self._perform, record, effect, row))

    def _in_pool(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the pool is closed: the next server resumes from the record
            self._pool.submit(work)

    def _perform(self, record: RunRecord, effect: Effect, row: EffectRow) -> None:
        try:
            self.effects.perform(record, effect, row.handler, row.failure)
        except (Unavailable, OutOfSpace) as error:  # of the store, or NotStarted: only the watcher repeats an effect
            log.warning("run %s: %s has to wait: %s", record.id, type(effect).__name__, error.message)
            self._watcher.doubt(record.id)

    def _announce(self, record: RunRecord, _: Effect) -> None:
        self._notifications.announce(record)

    def _release_gpus(self, record: RunRecord, _: Effect) -> None:
        """Wake agents that wait for GPUs: they request their orders again and learn whether they may start."""
        for other in self._queues.active():
            if other.nodes and run_status.is_ready(other) and not run_status.is_equipped(other):
                self._publish(RunTurned(other.id))
        self._scheduler.look_at(record.workspace, record.spec.target)


def _decide(record: RunRecord, reports: Sequence[tuple[Event, float]], now: float) -> list[_Step]:
    """Return the steps by which the events change the record; an event that changes nothing is left out."""
    steps: list[_Step] = []
    for event, age in reports:
        when = max(now - max(0.0, age), record.started or record.created)  # no clock of a node turns time back
        after, effects = lifecycle.apply(record, event, when)
        if after is not record:
            steps.append(_Step(after, effects, story.lines(record, after, event, when)))
            record = after
    return steps


_ENDED_KEPT = 5_000
"""How many ended runs are remembered: an older record must not bring one back."""


class RecordOrder:
    """Versions of the records that were shown last. The caller holds a lock."""

    def __init__(self, ended_kept: int = _ENDED_KEPT) -> None:
        self._limit = ended_kept
        self._active: dict[str, int] = {}
        self._ended: dict[str, int] = {}  # oldest first

    def begin(self, run: str) -> None:
        """Forget a deleted run whose id is used again."""
        self._ended.pop(run, None)

    def take(self, record: RunRecord) -> bool:
        """Remember a record and return True, unless a newer one of this run was shown."""
        if record.version < self._active.get(record.id, self._ended.get(record.id, -1)):
            return False
        self._active.pop(record.id, None)
        self._ended.pop(record.id, None)
        (self._ended if record.stage is Stage.ENDED else self._active)[record.id] = record.version
        if len(self._ended) > self._limit:
            del self._ended[next(iter(self._ended))]
        return True
