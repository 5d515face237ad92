"""All services over a real store, with an engine that starts nothing and remembers everything."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from footplate.domain.orders import Program
from footplate.domain.records import RunView
from footplate.domain.shapes import Shape
from footplate.domain.specs import EnvironmentSpec, RunSpec
from footplate.engines.base import AgentJob, LaunchRequest, NotStarted, Observation
from footplate.errors import InvalidInput, NotFound, Unavailable
from footplate.services import Services
from footplate.services.orchestration.agent_jobs import Listeners
from footplate.services.topics import Topic
from footplate.storage import Storage


@dataclass
class FakeEngine:
    name: str = "local"
    submitted: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    seen: dict[str, Observation] = field(default_factory=dict)
    refuses: str = ""
    busy_times: int = 0  # submissions that cannot be started yet
    silent: bool = False
    asked: int = 0
    handles: int = 0  # in the last poll
    shares_home: bool = True
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    shape: Shape | None = None
    jobs: list[AgentJob] = field(default_factory=list)
    run_options: tuple[str, ...] = ()
    away: str = ""
    bad_value: str = ""
    unknown: set[str] = field(default_factory=set[str])  # handles whose state it cannot know at the moment

    def node_shape(self) -> Shape | None:
        return self.shape

    def prepare(self, job: AgentJob) -> LaunchRequest:
        self.jobs.append(job)
        if self.bad_value and self.bad_value in job.options.values():
            raise InvalidInput(f"an option is {self.bad_value!r}", "give another value")
        return LaunchRequest(self.name, job.run, job.attempt, {"nodes": job.node_count})

    def reach(self, options: Mapping[str, Any]) -> int | None:
        if self.away:
            raise Unavailable(self.away, "start it")
        return None

    def submit(self, request: LaunchRequest) -> str:
        if self.refuses:
            raise Unavailable(self.refuses, "try later")
        if self.busy_times > 0:
            self.busy_times -= 1
            raise NotStarted("no process is left", "wait")
        self.submitted.append(request.run)
        return f"handle-{request.run}"

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        self.asked += 1
        self.handles = len(handles)
        if self.silent:
            raise Unavailable("the scheduler does not answer")
        return {h: self.seen.get(h, Observation("running")) for h in handles if h not in self.unknown}

    def cancel(self, handle: str, grace: float) -> None:
        self.cancelled.append(handle)

    def forget(self, handle: str) -> bool:
        if self.away:
            raise Unavailable(self.away, "start it")
        self.forgotten.append(handle)
        return True


class Statements:
    """The SQL statements that a store executes: their number by the name of the thread, and all texts."""

    def __init__(self, store: Storage) -> None:
        self.count: Counter[str] = Counter()
        self.texts: list[str] = []
        event.listen(store.database.engine, "before_cursor_execute", self._take)

    def _take(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        self.count[threading.current_thread().name] += 1
        self.texts.append(statement)


class Bulletin:
    """A hub for tests: `until` waits for a condition. It checks on every publication and every few milliseconds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def publish(self, topic: Topic) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, true: Callable[[], bool], timeout: float = 20.0) -> None:
        end = time.monotonic() + timeout
        with self._changed:
            while not true():
                assert time.monotonic() < end, "it did not happen in time"
                self._changed.wait(0.02)


@dataclass
class House:
    store: Storage
    services: Services
    engine: FakeEngine
    bulletin: Bulletin
    workspace: str
    home: Path

    def submit(self, run: str, **changes: object) -> RunView:
        spec = RunSpec(
            experiment="lab",
            program=Program(script="train.py"),
            environment=EnvironmentSpec(builder="existing", interpreter=sys.executable),
        )
        self.services.runs.submit(self.workspace, run, replace(spec, **changes), "tester")  # type: ignore[arg-type]
        return self.services.runs.view(run)

    def status(self, run: str) -> str:
        return self.services.runs.view(run).status

    def until_status(self, run: str, *wanted: str) -> None:
        def is_there() -> bool:
            try:
                return self.status(run) in wanted
            except NotFound:  # a child that its group is about to submit
                return False

        self.bulletin.until(is_there)

    def until_launched(self, run: str) -> None:
        self.bulletin.until(lambda: self._is_launched(run))

    def _is_launched(self, run: str) -> bool:
        try:
            return self.store.runs.record(run).handle is not None
        except NotFound:  # a child that its group has not submitted yet
            return False


def open_house(home: Path, engine: FakeEngine, gpus: int = 0) -> House:
    store, bulletin = Storage.open(home), Bulletin()
    engine.shape = Shape(4, 16.0, gpus)
    services = Services(
        store,
        bulletin.publish,
        Listeners("unix:///nowhere.sock"),
        home,
        load_engine=lambda name: engine,
        watch_seconds=0.02,
    )
    views = services.workspaces.find("lab-ws", "s", "g")
    view = views[0] if views else services.workspaces.create("lab-ws", "s", "g")
    services.start()
    return House(store, services, engine, bulletin, view.id, home)


def run_through(house: House, run: str) -> None:
    """Act as the agent: join, start, succeed, ship."""
    house.until_launched(run)
    house.services.nodes.join(run, 0, 1, "host", "127.0.0.1", {})
    house.services.nodes.report(run, 0, "started", None, None)
    house.services.nodes.report(run, 0, "exited", None, None)
    house.services.nodes.report(run, 0, "done", None, None)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = open_house(tmp_path, FakeEngine())
    yield opened
    opened.services.stop()
    opened.store.close()
