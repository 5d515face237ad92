"""The only place where decisions become deeds: takes events, saves what the lifecycle decides, performs the effects.

Threads: any thread may call `tell`. Effects that may take long (resolving an environment) run in a small pool; the
queue is looked at by one thread, so that two runs never get the same node; one watcher asks the engines how their
agents are, and sleeps for good while nothing runs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from footplate import engines, environments
from footplate.domain import events, lifecycle, queue
from footplate.domain.codec import to_json
from footplate.domain.events import Effect, Event
from footplate.domain.records import Cause, Lock, NodeState, RunRecord, RunView, Stage, StoryLine, Waiting
from footplate.engines.base import AgentJob, Engine, Observation
from footplate.errors import Conflict, FootplateError, InvalidInput, NotFound, OutOfSpace, Unavailable
from footplate.services.capacity import capacity_of
from footplate.services.settings import workshop_of
from footplate.storage import Store
from footplate.storage.faults import translate

log = logging.getLogger(__name__)

GRACE_SECONDS = 120.0
"""How long a node may take to end its ranks and ship before the engine ends it by force. Agents enforce their own,
much shorter grace on the ranks; this one is for an agent that hangs."""

FORGET_SECONDS = 60.0
"""How long the agents of a run that is over may take to clean up behind themselves."""

MAX_REVIVALS = 3
LOCK_LOG = "azureml-logs/10_environment_lock.txt"


class Orchestrator:
    def __init__(
        self,
        store: Store,
        publish: Callable[[str], None],
        endpoint: str,
        home: Path,
        load_engine: Callable[[str], Engine] = engines.load,
        watch_seconds: float = 1.0,
    ) -> None:
        self._store = store
        self._load_engine = load_engine
        self._watch_seconds = watch_seconds
        self._publish = publish
        self._endpoint = endpoint
        self._home = home
        self._engines: dict[str, Engine] = {}
        self._waits: dict[str, Waiting] = {}
        self._revivals: defaultdict[str, int] = defaultdict(int)
        self._missing_since: dict[str, float] = {}
        self._earlier: defaultdict[str, list[str]] = defaultdict(list)
        self._to_forget: dict[str, tuple[RunRecord, float]] = {}
        self._unsure: set[str] = set()
        self._active: set[str] = set()
        self._active_guard = threading.Lock()
        self._dirty: set[tuple[str, str]] = set()
        self._wake_scheduler = threading.Condition()
        self._wake_watcher = threading.Event()
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="effects")
        self._threads = [
            threading.Thread(target=self._schedule_forever, name="scheduler", daemon=True),
            threading.Thread(target=self._watch_forever, name="watcher", daemon=True),
        ]

    # ── Life of the orchestrator itself ───────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        for record in self._store.runs.active("job"):
            self._track(record)
            self._perform_all(record, lifecycle.resume(record))
        self._take_up_leftovers()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake_watcher.set()
        with self._wake_scheduler:
            self._wake_scheduler.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=10)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def active_runs(self) -> int:
        with self._active_guard:
            return len(self._active)

    # ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, record: RunRecord, created_by: str, event: lifecycle.Submitted) -> RunView:
        """Store a new run, already one event old, so that a server killed right after this finds it whole."""
        after, effects = lifecycle.apply(record, event, record.created)
        with self._perhaps_stored(record.id):
            view = self._store.runs.create(after, created_by, [_line(after, event, record.created)])
        self._track(after)
        self._perform_all(after, effects)
        return view

    def tell(self, run: str, event: Event, attempt: int | None = None) -> RunRecord:
        """Apply an event to a run. Repeats until the compare-and-set succeeds: somebody else may be first.

        With `attempt` the event counts only as long as the run is at that attempt: it was decided by looking at it.
        """
        while True:
            record = self._store.runs.record(run)
            if attempt not in (None, record.attempt):
                return record
            now = time.time()
            after, effects = lifecycle.apply(record, event, now)
            if after is record:
                return record
            with self._perhaps_stored(run):
                saved = self._store.runs.save(after, record.version, _lines(record, after, event, now))
            if saved:
                self._track(after)
                self._publish(f"run:{run}")
                self._perform_all(after, effects)
                return after

    @contextlib.contextmanager
    def _perhaps_stored(self, run: str) -> Generator[None, None, None]:
        """A database that goes away may have kept what it did not confirm: then the effects are still to be performed,
        and whoever repeats the event finds nothing left to decide. The watcher looks after such runs."""
        try:
            yield
        except (Unavailable, OutOfSpace):
            self._unsure.add(run)
            self._wake_watcher.set()
            raise

    def waiting(self, run: str) -> Waiting | None:
        """Why a queued run waits and its place in the line, as of the last look at the queue."""
        return self._waits.get(run)

    def _track(self, record: RunRecord) -> None:
        over = record.stage is Stage.ENDED or record.spec.kind != "job"
        with self._active_guard:
            (self._active.discard if over else self._active.add)(record.id)
        if record.stage is not Stage.QUEUED:
            self._waits.pop(record.id, None)
        if over:
            self._revivals.pop(record.id, None)
            self._missing_since.pop(record.id, None)
        else:
            self._wake_watcher.set()

    # ── Effects ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _perform_all(self, record: RunRecord, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, lifecycle.Schedule):
                self.look_at_queue(record.workspace, record.spec.target)
            elif isinstance(effect, lifecycle.Conclude):
                self._to_be_forgotten(record)
            elif isinstance(effect, lifecycle.FreeGpus):
                self._wake_those_who_wait_for_gpus()
            elif isinstance(effect, lifecycle.NextAttempt):
                self._begin_anew(record.id, effect.handle)
            else:
                with contextlib.suppress(RuntimeError):  # the pool is shut: the next server resumes from the record
                    self._pool.submit(self._perform, record, effect)

    def _wake_those_who_wait_for_gpus(self) -> None:
        """Their agents wait for orders; asking again, they learn whether it is their turn."""
        for record in self._store.runs.active("job"):
            if lifecycle.is_ready(record) and not lifecycle.is_equipped(record):
                self._publish(f"run:{record.id}")

    def _begin_anew(self, run: str, handle: str | None) -> None:
        """The agents of the next attempt save what those of the last one could not; so nothing is removed yet."""
        self._revivals.pop(run, None)
        self._missing_since.pop(run, None)
        if handle is not None:
            self._earlier[run].append(handle)

    def _perform(self, record: RunRecord, effect: Effect) -> None:
        try:
            self._perform_once(record, effect)
        except (Unavailable, OutOfSpace) as error:  # of the store: nobody repeats an effect but the watcher
            log.warning("run %s: %s has to wait: %s", record.id, type(effect).__name__, error.message)
            self._unsure.add(record.id)
            self._wake_watcher.set()

    def _perform_once(self, record: RunRecord, effect: Effect) -> None:
        try:
            if isinstance(effect, lifecycle.ResolveLock):
                self._resolve_lock(record)
            elif isinstance(effect, lifecycle.Launch):
                self._launch(record)
            elif isinstance(effect, lifecycle.StopNodes):
                self._stop_nodes(record)
        except _StoreAway as away:
            raise away.error from None
        except FootplateError as error:
            self._fail(record, type(effect).__name__, Cause(_cause_code(effect), error.message, error.hint))
        except OSError as error:
            known = translate(error)
            self._fail(record, type(effect).__name__, Cause(_cause_code(effect), known.message, known.hint))
        except Exception as error:
            log.exception("effect %s of run %s failed", type(effect).__name__, record.id)
            words = f"Footplate could not go on with this run: {type(error).__name__}: {error}"
            self._fail(record, type(effect).__name__, Cause("internal", words, "see: footplate server logs"))

    def _fail(self, record: RunRecord, effect: str, cause: Cause) -> None:
        try:
            self.tell(record.id, lifecycle.Fails(cause), record.attempt)
        except (NotFound, Conflict):
            log.warning("run %s was over when %s failed: %s", record.id, effect, cause.message)

    def _resolve_lock(self, record: RunRecord) -> None:
        """What the run asks for, resolved; or the very lock that it names, whatever the indexes have by now."""
        lock = self._resolved(record) if record.spec.lock is None else None
        with _of_the_store():
            if lock is None:
                lock = self._store.locks.get(record.spec.lock or "")
            else:
                self._store.locks.put(lock)
            self.tell(record.id, lifecycle.Locked(lock.digest, lock.warnings), record.attempt)

    def _resolved(self, record: RunRecord) -> Lock:
        size = 0

        def say(line: str) -> None:
            nonlocal size
            size = self._store.logs.append(record.id, LOCK_LOG, size, f"{line}\n".encode(), replace=size == 0)

        return environments.resolve(record.spec.environment, workshop_of(self._home), say)

    def _launch(self, record: RunRecord) -> None:
        engine = self._engine(record)
        job = AgentJob(
            run=record.id,
            attempt=record.attempt,
            node_count=len(record.nodes),
            endpoint=self._endpoint,
            home=str(self._home),
        )
        handle = engine.submit(engine.prepare(job))
        with _of_the_store():
            self.tell(record.id, lifecycle.Launched(handle), record.attempt)

    def _stop_nodes(self, record: RunRecord) -> None:
        """Nodes also learn it from the answer to their next heartbeat; the engine is the faster and the harder way."""
        with _of_the_store():
            current = self._store.runs.record(record.id)
        if current.handle is not None and current.stage is not Stage.ENDED:
            self._engine(current).cancel(current.handle, GRACE_SECONDS)

    def _engine(self, record: RunRecord) -> Engine:
        with _of_the_store():
            name = capacity_of(self._store, record.workspace, record.spec.target).engine
        if name not in self._engines:
            self._engines[name] = self._load_engine(name)
        return self._engines[name]

    # ── The queue ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def look_at_queue(self, workspace: str, target: str) -> None:
        with self._wake_scheduler:
            self._dirty.add((workspace, target))
            self._wake_scheduler.notify()

    def _schedule_forever(self) -> None:
        while True:
            with self._wake_scheduler:
                while not self._dirty and not self._stopping.is_set():
                    self._wake_scheduler.wait()
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
            self.look_at_queue(workspace, target)

    def _schedule(self, workspace: str, target: str) -> None:
        records = {r.id: r for r in self._store.runs.waiting(workspace, target)}
        if not records:
            return
        try:
            capacity = capacity_of(self._store, workspace, target)
        except NotFound as error:
            for record in records.values():
                self._fail(record, "Schedule", Cause("no_target", error.message, error.hint))
            return
        now = time.time()
        tickets = [_ticket(record) for record in records.values()]
        holding = [_holding(record, now) for record in self._store.runs.holding(workspace, target)]
        started, waits = queue.admit(tickets, holding, capacity.max_nodes, target, now)
        for run in started:
            with contextlib.suppress(Conflict):  # cancelled in between
                self.tell(run, lifecycle.Admitted())
        for wait in waits:
            with self._active_guard:
                if wait.run in self._active:  # not cancelled since we looked: nobody would take it out again
                    self._waits[wait.run] = Waiting(wait.reason, wait.position, wait.promised)
            if records[wait.run].waiting is None:
                with contextlib.suppress(Conflict):
                    self.tell(wait.run, lifecycle.Waits(wait.reason, wait.position))

    # ── The watch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _watch_forever(self) -> None:
        while not self._stopping.is_set():
            if self._is_idle():
                self._wake_watcher.clear()
                if self._is_idle():
                    self._wake_watcher.wait()
                continue
            try:
                self._watch_once()
            except (Unavailable, OutOfSpace) as error:
                log.warning("cannot look after the runs: %s", error.message)
            except _StoreAway as away:
                log.warning("cannot look after the runs: %s", away.error.message)
            except Exception:
                log.exception("watching the agents failed")
            self._stopping.wait(self._watch_seconds)

    def _is_idle(self) -> bool:
        return self.active_runs() == 0 and not self._unsure and not self._to_forget

    def _take_up_leftovers(self) -> None:
        """An agent that was killed after its last word left its folder; so did a server that was killed with it."""
        for folder in (self._home / "work").glob("*"):
            with contextlib.suppress(NotFound):  # of another database: not ours to judge
                record = self._store.runs.record(folder.name)
                if record.stage is Stage.ENDED:
                    self._to_be_forgotten(record)

    def _to_be_forgotten(self, record: RunRecord) -> None:
        for handle in [*self._earlier.pop(record.id, []), *([record.handle] if record.handle else [])]:
            self._to_forget[handle] = (record, time.monotonic() + FORGET_SECONDS)
            self._wake_watcher.set()

    def _forget_ended(self) -> None:
        for handle, (record, deadline) in list(self._to_forget.items()):
            if self._engine(record).forget(handle) or time.monotonic() > deadline:
                del self._to_forget[handle]

    def _watch_once(self) -> None:
        self._forget_ended()
        by_engine: defaultdict[str, list[RunRecord]] = defaultdict(list)
        unsure = set(self._unsure)
        active = self._store.runs.active("job")
        self._unsure -= unsure
        for record in active:
            if record.id in unsure:
                self._track(record)
                self._perform_all(record, lifecycle.resume(record))
            if record.handle is not None:
                by_engine[capacity_of(self._store, record.workspace, record.spec.target).engine].append(record)
        for records in by_engine.values():
            engine = self._engine(records[0])
            handles = [r.handle for r in records if r.handle is not None]
            seen = engine.poll(handles)
            for record in records:
                self._check(record, seen[record.handle or ""])

    def _check(self, record: RunRecord, seen: Observation) -> None:
        """Agents that are gone without having said Done are started again a few times, then given up as lost."""
        over = (NodeState.DONE, NodeState.LOST)
        unfinished = {n.index for n in record.nodes if n.state not in over}
        gone = unfinished if seen.state in ("exited", "gone") else unfinished & set(seen.lost)
        if not gone:
            self._missing_since.pop(record.id, None)
            return
        self._tell_of_vanished(record, gone, seen)
        if record.outcome is not None and all(record.nodes[n].state is NodeState.LAUNCHED for n in gone):
            self._give_up(record, gone, "its agent ended before it had begun")
            return
        # The agent's last word may still be on its way to us.
        if time.monotonic() - self._missing_since.setdefault(record.id, time.monotonic()) < 2 * self._watch_seconds:
            return
        self._missing_since.pop(record.id, None)
        if self._revivals[record.id] < MAX_REVIVALS:
            self._revivals[record.id] += 1
            log.warning("run %s: agent of node %s is gone, starting it again", record.id, sorted(gone))
            self._launch(record)
            return
        self._give_up(record, gone, f"its agent died {MAX_REVIVALS + 1} times and was given up")

    def _tell_of_vanished(self, record: RunRecord, gone: set[int], seen: Observation) -> None:
        """An agent that died without a word takes its node out of the gang; the next one only cleans up there."""
        running = (NodeState.RUNNING, NodeState.ATTENDING)
        for node in sorted(gone):
            died = node in seen.lost or (seen.state == "exited" and seen.codes.get(node) is None)
            if len(record.nodes) == 1 or not died or record.nodes[node].state not in running:
                continue
            words = f"lost node {node} of {len(record.nodes)}: its agent died while the script ran there"
            hint = "see whether somebody ended it or the machine ran out of memory; the other nodes were stopped"
            with contextlib.suppress(Conflict):
                self.tell(record.id, lifecycle.Vanished(node, Cause(lifecycle.NODE_LOST, words, hint, node=node)))

    def _give_up(self, record: RunRecord, nodes: set[int], why: str) -> None:
        hint = "see system_logs of the run, and whether the machine runs out of memory"
        for node in sorted(nodes):
            with contextlib.suppress(Conflict):
                cause = Cause(lifecycle.NODE_LOST, f"lost node {node}: {why}", hint, node=node)
                self.tell(record.id, lifecycle.Lost(node, cause), record.attempt)


class _StoreAway(Exception):
    """The store, and not what an effect wanted to do, is in trouble."""

    def __init__(self, error: FootplateError) -> None:
        super().__init__(error.message)
        self.error = error


@contextlib.contextmanager
def _of_the_store() -> Generator[None, None, None]:
    try:
        yield
    except (Unavailable, OutOfSpace) as error:
        raise _StoreAway(error) from None


def _ticket(record: RunRecord) -> queue.Ticket:
    spec = record.spec
    return queue.Ticket(record.id, spec.distribution.node_count, spec.priority, record.created, spec.max_seconds)


def _holding(record: RunRecord, now: float) -> queue.Holding:
    """A time limit counts from the start of the script, which may still be to come."""
    limit = record.spec.max_seconds
    ends = None if limit is None else (record.started or now) + limit
    return queue.Holding(record.id, record.spec.distribution.node_count, ends)


def _cause_code(effect: Effect) -> str:
    if isinstance(effect, lifecycle.ResolveLock):
        return "environment_failed"
    return "launch_failed" if isinstance(effect, lifecycle.Launch) else "internal"


def _line(record: RunRecord, event: Event, now: float) -> StoryLine:
    data: dict[str, Any] = to_json(event)
    return StoryLine(record.version, now, type(event).__name__, lifecycle.status(record), events.tell(event), data)


def _lines(before: RunRecord, after: RunRecord, event: Event, now: float) -> list[StoryLine]:
    """What the story says of an event, and of the attempt that begins because of it."""
    lines = [_line(after, event, now)]
    if after.attempt > before.attempt:
        words = f"attempt {after.attempt} begins" + (
            "" if isinstance(event, lifecycle.Restarted) else f" by itself, of at most {after.spec.max_attempts}"
        )
        data = {"attempt": after.attempt}
        lines.append(StoryLine(after.version, now, "AttemptBegins", lifecycle.status(after), words, data))
    return lines


def with_waiting(view: RunView, waiting: Waiting | None) -> RunView:
    """The view with what the queue said last, which is fresher than what was stored."""
    return replace(view, waiting=waiting) if view.stage is Stage.QUEUED and waiting is not None else view


def refuse_if_too_large(node_count: int, max_nodes: int, target: str) -> None:
    if node_count > max_nodes:
        raise InvalidInput(
            f"the run asks for {node_count} nodes and {target!r} has at most {max_nodes}",
            f"lower node_count, or raise max_nodes of {target!r}",
        )
