from __future__ import annotations

from dataclasses import replace

from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs.events import Event, RunFailed
from footplate.domain.runs.run_kinds import INTERACTIVE
from footplate.domain.specs import RunSpec
from footplate.services.orchestration.client_watcher import ClientWatcher
from footplate.testing.waiting import wait_until

RUN = RunRecord("r", "w", RunSpec("e", INTERACTIVE, process="7 x@y z"), Stage.RUNNING, created=0.0)


class Told:
    """Collects the causes by which runs were failed."""

    def __init__(self) -> None:
        self.causes: dict[str, str] = {}

    def __call__(self, run: str, event: Event, attempt: int | None = None, seen: RunRecord | None = None) -> RunRecord:
        assert isinstance(event, RunFailed)
        self.causes[run] = event.cause.message
        return RUN


def test_a_run_whose_process_is_gone_is_failed() -> None:
    told, living = Told(), {"8 x@y z"}
    watcher = ClientWatcher(told, lambda process: process not in living, seconds=0.001)
    watcher.note(replace(RUN, id="lives", spec=replace(RUN.spec, process="8 x@y z")))
    watcher.note(RUN)
    watcher.note(replace(RUN, id="unknown", spec=replace(RUN.spec, process=None)))
    watcher.start()
    wait_until(lambda: told.causes)
    watcher.stop()
    assert told.causes == {"r": "the process is gone: process 7 ended before it had completed the run"}


def test_a_run_that_ends_in_time_is_left_alone() -> None:
    told, looks = Told(), list[str]()
    watcher = ClientWatcher(told, lambda process: looks.append(process) is None, seconds=0.001)
    watcher.note(RUN)
    watcher._look()
    watcher.note(replace(RUN, stage=Stage.ENDED))
    watcher._look()
    assert looks == ["7 x@y z"] and not told.causes


class Clients:
    """A watcher on a clock that only moves when told to, with clients that no look can find."""

    def __init__(self) -> None:
        self.now = 100.0
        self.told = Told()
        self.watcher = ClientWatcher(self.told, lambda _: False, clock=lambda: self.now)
        self.watcher.note(replace(RUN, spec=replace(RUN.spec, heartbeats=True)))

    def look(self, seconds: float) -> None:
        """Look every five seconds for this long."""
        for _ in range(int(seconds / 5)):
            self.now += 5.0
            self.watcher._look()


def test_a_client_without_heartbeats_for_a_while_is_gone() -> None:
    clients = Clients()
    clients.look(30)
    clients.watcher.beat("r")
    clients.look(35)
    assert not clients.told.causes
    clients.look(10)
    assert clients.told.causes == {"r": "the process is gone: no heartbeat of process 7 for 40 seconds"}
    clients.watcher.beat("r")
    clients.look(60)
    assert len(clients.told.causes) == 1


def test_a_heartbeat_after_the_first_doubt_saves_the_run() -> None:
    clients = Clients()
    clients.look(40)
    clients.watcher.beat("r")
    clients.look(30)
    assert not clients.told.causes


def test_a_pause_of_the_server_is_not_silence_of_its_clients() -> None:
    clients = Clients()
    clients.look(10)
    clients.now += 3600.0
    clients.look(35)
    assert not clients.told.causes
    clients.look(15)
    assert clients.told.causes


def test_a_client_of_the_same_machine_needs_no_heartbeats() -> None:
    clients = Clients()
    clients.watcher.note(replace(RUN, id="near"))
    clients.look(60)
    assert set(clients.told.causes) == {"r"}
