"""Effects of jobs: resolve the environment, launch agents, stop nodes.

Each can be repeated, and reports its result to the run as an event.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from footplate import environments
from footplate.domain.node_kinds import NODE, describe, summarize
from footplate.domain.orders import Cause, Lock, NodeOrders
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import events
from footplate.domain.runs.events import Effect, Event
from footplate.engines.base import Engine, NotStarted
from footplate.errors import Conflict, FootplateError, NotFound, OutOfSpace, Unavailable
from footplate.services.orchestration.agent_jobs import GRACE_SECONDS, AgentJobs
from footplate.services.orchestration.node_kind_memory import KindUnknown, NodeKinds
from footplate.services.settings import read_resolver_settings
from footplate.storage import Storage
from footplate.storage.database_errors import translate

log = logging.getLogger(__name__)

LOCK_LOG = "azureml-logs/10_environment_lock.txt"


class Tell(Protocol):
    """Applies an event to a run, of which the caller may have seen a record (`Orchestrator.tell`)."""

    def __call__(
        self, run: str, event: Event, attempt: int | None = None, seen: RunRecord | None = None
    ) -> RunRecord: ...


Handler = Callable[[RunRecord, Any], None]
"""A function that performs one type of effect of a run."""


class StoreAway(Exception):
    """The store failed, not the effect itself."""

    def __init__(self, error: FootplateError) -> None:
        super().__init__(error.message)
        self.error = error


class Effects:
    def __init__(self, store: Storage, home: Path, jobs: AgentJobs, tell: Tell) -> None:
        self._store = store
        self._home = home
        self._jobs = jobs
        self._tell = tell
        self._kinds = NodeKinds(store, jobs, home)
        self._failed_launches: set[str] = set()
        self._orders: Callable[[RunRecord], NodeOrders | None] = lambda _: None

    def connect(self, orders: Callable[[RunRecord], NodeOrders | None]) -> None:
        """Set the function that gives agents their orders at the launch; it exists only after the orchestrator."""
        self._orders = orders

    def perform(self, record: RunRecord, effect: Effect, handler: Handler, failure: str) -> None:
        """Run the handler; if it fails, fail the run with a cause of the code `failure`.

        Raises Unavailable or OutOfSpace when the store is away, and NotStarted when an engine can start agents only
        later: then the caller must try again.
        """
        try:
            handler(record, effect)
        except StoreAway as away:
            raise away.error from None
        except NotStarted:
            raise
        except FootplateError as error:
            self._fail(record, effect, Cause(failure, error.message, error.hint))
        except OSError as error:
            translated = translate(error)
            self._fail(record, effect, Cause(failure, translated.message, translated.hint))
        except Exception as error:
            log.exception("effect %s of run %s failed", type(effect).__name__, record.id)
            message = f"Footplate could not continue this run: {type(error).__name__}: {error}"
            self._fail(record, effect, Cause("internal", message, "see: footplate server logs"))

    def launch(self, record: RunRecord, effect: events.LaunchNodes) -> None:
        """Have the engine start the agents; it leaves living agents alone.

        A launch that only revives dead agents does not fail the run: the watcher has it repeated.
        """
        try:
            self._launch(record, effect.is_first)
            self._failed_launches.discard(record.id)
        except (FootplateError, OSError) as error:
            if record.handle is None:
                raise
            self._failed_launches.add(record.id)
            log.warning("run %s: cannot start its agents again: %s", record.id, error)

    def repeat_launch(self, record: RunRecord) -> bool:
        """Repeat the launch of a run's agents if the last one failed; return whether that was so."""
        if record.id not in self._failed_launches:
            return False
        self.launch(record, events.LaunchNodes())
        return True

    def _launch(self, record: RunRecord, is_first: bool) -> None:
        engine = self.engine(record)
        with _of_the_store():
            job = self._jobs.build(record, is_first)
            if is_first:
                job = replace(job, orders=self._orders(record))
        handle = engine.submit(engine.prepare(job))
        with _of_the_store():
            self._tell(record.id, events.NodesLaunched(handle), record.attempt)

    def engine(self, record: RunRecord) -> Engine:
        return self.engine_of(record.workspace, record.spec.target)

    def engine_of(self, workspace: str, target: str) -> Engine:
        with _of_the_store():
            return self._jobs.engine_of(workspace, target)

    def _fail(self, record: RunRecord, effect: Effect, cause: Cause) -> None:
        try:
            self._tell(record.id, events.RunFailed(cause), record.attempt)
        except (NotFound, Conflict):
            log.warning("run %s had ended when %s failed: %s", record.id, type(effect).__name__, cause.message)

    def resolve_environment(self, record: RunRecord, _: Effect) -> None:
        """Resolve the environment, or use the lock that the spec names, whatever the indexes offer by now.

        If only a node of the run can tell what can be installed there, the run is launched first.
        """
        try:
            lock = self._resolve(record) if record.spec.lock is None else None
        except KindUnknown:
            with _of_the_store():
                self._tell(record.id, events.EnvironmentDeferred(), record.attempt)
            return
        with _of_the_store():
            if lock is None:
                lock = self._store.locks.get(record.spec.lock or "")
            else:
                self._store.locks.put(lock)
            node = lock.content.get(NODE)
            made_for = "" if node is None else describe(node)
            self._tell(record.id, events.EnvironmentLocked(lock.digest, lock.warnings, made_for), record.attempt)

    def _resolve(self, record: RunRecord) -> Lock:
        with _of_the_store():
            node = self._kinds.find(record)
        size = 0

        def append(line: str) -> None:
            nonlocal size
            size = self._store.logs.append(record.id, LOCK_LOG, size, f"{line}\n".encode(), replace=size == 0)

        if node is not None:
            append(f"resolving for nodes with {describe(summarize(node))}")
        settings = read_resolver_settings(self._home, self._store.logins.all(), node)
        return environments.resolve(record.spec.environment, settings, append)

    def stop_nodes(self, record: RunRecord, _: Effect) -> None:
        """Have the engine stop the run's agents.

        Nodes also learn it from their next heartbeat; this is faster and stricter.
        """
        with _of_the_store():
            current = self._store.runs.record(record.id)
        if current.handle is not None and current.stage is not Stage.ENDED:
            self.engine(current).cancel(current.handle, GRACE_SECONDS)


@contextlib.contextmanager
def _of_the_store() -> Generator[None, None, None]:
    try:
        yield
    except (Unavailable, OutOfSpace) as error:
        raise StoreAway(error) from None
