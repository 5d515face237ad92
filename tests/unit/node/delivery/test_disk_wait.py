from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from footplate.disk import LITTLE_SPACE
from footplate.errors import InvalidInput, OutOfSpace, Unavailable
from footplate.node.delivery.disk_wait import DISK_FULL, DiskWait, DiskWatch, not_stored
from footplate.node.node_directory import NodeFolder

T = TypeVar("T")
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Server:
    """Repeats calls as the agent's link does; each pause takes ten seconds of a clock without time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.warnings: list[str] = []
        self.is_full = False

    def retry(self, call: Callable[[], T], enough: Callable[[], bool] = lambda: False) -> T:
        while True:
            try:
                return call()
            except (Unavailable, OutOfSpace):
                self.now += 10.0
                if enough():
                    raise

    def warn(self, message: str) -> None:
        if self.is_full:
            self.is_full = self.now < 40.0
            raise OutOfSpace("the database is full")
        self.warnings.append(message)


def store(*errors: Exception | None) -> Callable[[], str]:
    """Return a call that raises these errors, one at a time, and then succeeds."""
    left = list(errors)

    def call() -> str:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return "stored"

    return call


@pytest.fixture
def server() -> Server:
    return Server()


def wait(server: Server, limit: float | None = None) -> DiskWait:
    return DiskWait(server, limit, lambda _: None, lambda: server.now)


def test_a_wait_is_announced_and_recorded_with_its_duration(server: Server) -> None:
    assert wait(server).run(store(FULL, FULL, FULL), "the outputs") == "stored"
    first, last = server.warnings
    assert first.startswith("waiting for disk space to store the outputs: ")
    assert last == "waited 30 s for disk space to store the outputs"


def test_a_wait_is_recorded_even_if_the_database_was_full_meanwhile(server: Server) -> None:
    server.is_full = True
    wait(server).run(store(FULL, FULL), "the outputs")
    assert server.warnings == ["waited 20 s for disk space to store the outputs"]


def test_no_wait_is_no_warning(server: Server) -> None:
    assert wait(server, 5.0).run(store(), "the outputs") == "stored"
    assert server.warnings == []


def test_after_the_limit_nothing_waits_any_more(server: Server) -> None:
    waiting = wait(server, 25.0)
    with pytest.raises(OutOfSpace):
        waiting.run(store(*[FULL] * 9), "the outputs")
    assert server.now == 30.0
    with pytest.raises(OutOfSpace):
        waiting.run(store(*[FULL] * 9), "the outputs")
    assert server.now == 40.0, "one attempt, and no wait"
    assert waiting.run(store(), "the outputs") == "stored"


def test_a_server_that_is_away_does_not_count_as_a_full_disk(server: Server) -> None:
    away = [Unavailable("away")] * 9
    assert wait(server, 25.0).run(store(FULL, *away, FULL, FULL), "the outputs") == "stored"


def test_other_errors_are_not_waited_for(server: Server) -> None:
    with pytest.raises(InvalidInput):
        wait(server).run(store(InvalidInput("bad")), "the outputs")
    assert server.now == 0.0


def test_a_disk_reports_an_episode_and_its_duration() -> None:
    free, now = [LITTLE_SPACE], [0.0]
    far = DiskWatch("/", "the disk of node 1", True, lambda _: free[0], lambda: now[0])
    near = DiskWatch("/", "the disk of node 0", False, lambda _: free[0], lambda: now[0])
    assert (far.look(), near.look()) == (None, None)
    free[0] -= 1
    assert (far.look(), near.look()) == ("the disk of node 1 is full: free some space there", None)
    now[0] = 12.0
    assert (far.look(), near.look()) == (None, None)
    free[0] += 1
    assert far.look() == "the disk of node 1 was full for about 12 s"
    assert near.look() == "the disk of node 0 was full for about 12 s"
    assert (far.look(), near.look()) == (None, None)


def test_the_cause_names_the_files_and_their_only_copy(tmp_path: Path) -> None:
    folder = NodeFolder(str(tmp_path), "run_1", 0)
    assert not_stored([], False, folder, 0, 60.0) is None
    cause = not_stored([f"outputs/{i}.bin" for i in range(7)], True, folder, 0, 60.0)
    assert cause is not None and cause.code == DISK_FULL and cause.node == 0
    assert "no disk space for 60 seconds" in cause.message
    assert "7 outputs (outputs/0.bin, outputs/1.bin" in cause.message and "and 2 more" in cause.message
    assert "logs and metrics" in cause.message
    assert cause.hint is not None and folder.path in cause.hint and os.uname().nodename in cause.hint
