"""The conformance suite of engines (`engines/base.py`). A new engine subclasses `EngineSuite` and gives a fixture.

The agents of these tests are stand-ins: small programs that do what the test needs. A fixture `arena` of the subclass
gives an `EngineArena`, which knows how to make an engine that starts such a program instead of the agent.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Protocol

import pytest

from footplate.engines.base import AgentJob, Engine, Observation
from footplate.errors import InvalidInput
from footplate.testing.waiting import wait_until

PATIENCE = 20.0


class EngineArena(Protocol):
    """A place for the tests of one engine.

    `folder` is visible to the stand-ins; `engine(program)` returns a new engine object each time, as a restart would.
    `restarts_agents`: whether the nodes start a killed agent again by themselves, as those with `remote_start` do.
    """

    folder: Path
    restarts_agents: bool

    def engine(self, program: str) -> Engine: ...

    def job(self, run: str, nodes: int = 1) -> AgentJob: ...


def observe(engine: Engine, handle: str) -> Observation:
    return engine.poll([handle])[handle]


def ended(engine: Engine, handle: str) -> Observation:
    """Wait until every agent has ended, and return the engine's observation."""
    return wait_until(lambda: (seen := observe(engine, handle)).state == "exited" and seen)


# Each start leaves a line with its pid; then it waits until it is told to go.
WAITS = """
import os, sys, time
node = sys.argv[sys.argv.index("--node") + 1]
with open(os.path.join({folder!r}, "starts"), "a") as file:
    file.write(node + " " + str(os.getpid()) + "\\n")
while not os.path.exists(os.path.join({folder!r}, "go" + node)):
    time.sleep(0.01)
"""

# Has a child in a session of its own and hears no request to end.
STUBBORN = """
import os, signal, sys, time
from footplate.node.node_directory import NodeFolder
from footplate.node.options import AgentOptions
options = AgentOptions(sys.argv[1:])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
variables = dict(os.environ, **NodeFolder(options.root, options.run, options.node).marker())
variables.pop("FOOTPLATE_AGENT", None)
child = "import os, time; os.setsid(); open({folder!r} + '/child', 'w').write(str(os.getpid())); time.sleep(600)"
os.spawnve(os.P_NOWAIT, sys.executable, [sys.executable, "-c", child], variables)
time.sleep(600)
"""


class EngineSuite:
    def test_the_request_is_rendered_whole_and_twice_the_same(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        job = arena.job("r1", nodes=2)
        first, second = (engine.prepare(job) for _ in range(2))
        assert first == second
        assert (first.engine, first.run, first.attempt) == (engine.name, job.run, 1)

    def test_what_cannot_be_given_is_refused_by_name(self, arena: EngineArena) -> None:
        with pytest.raises(InvalidInput, match="node_count"):
            arena.engine(WAITS).prepare(arena.job("r1", nodes=0))

    def test_agents_run_until_they_end_by_themselves(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        handle = engine.submit(engine.prepare(arena.job("r1", nodes=2)))
        wait_until(lambda: len(_starts(arena)) == 2)
        assert observe(engine, handle).state == "running"
        _let_go(arena, 0, 1)
        assert set(ended(engine, handle).codes) == {0, 1}

    def test_a_second_submit_leaves_living_agents_alone(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        request = engine.prepare(arena.job("r1", nodes=2))
        handles = {engine.submit(request), engine.submit(request), arena.engine(WAITS).submit(request)}
        wait_until(lambda: len(_starts(arena)) >= 2)
        assert len(handles) == 1
        _let_go(arena, 0, 1)
        ended(engine, handles.pop())
        assert len(_starts(arena)) == 2

    def test_a_dead_agent_is_started_again_and_only_that_one(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        request = engine.prepare(arena.job("r1", nodes=2))
        handle = engine.submit(request)
        wait_until(lambda: len(_starts(arena)) == 2)
        os.kill(_starts(arena)[1], signal.SIGKILL)
        again = handle
        if not arena.restarts_agents:
            wait_until(lambda: observe(engine, handle).lost == (1,))
            again = engine.submit(request)
        wait_until(lambda: len(_lines(arena)) == 3)
        assert [line.split()[0] for line in _lines(arena)].count("1") == 2
        assert (seen := observe(engine, again)).state == "running" and not seen.codes
        _let_go(arena, 0, 1)
        ended(engine, again)

    def test_another_engine_object_knows_the_handle(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        handle = engine.submit(engine.prepare(arena.job("r1")))
        wait_until(lambda: _starts(arena))
        assert observe(arena.engine(WAITS), handle).state == "running"
        _let_go(arena, 0)
        ended(arena.engine(WAITS), handle)

    def test_cancel_ends_the_whole_group_by_force_after_the_grace(self, arena: EngineArena) -> None:
        engine = arena.engine(STUBBORN)
        handle = engine.submit(engine.prepare(arena.job("r1")))
        child = int(wait_until(lambda: _read(arena.folder / "child")))
        engine.cancel(handle, 0.2)
        engine.cancel(handle, 0.2)
        ended(engine, handle)
        wait_until(lambda: not _lives(child))

    def test_cancel_asks_first(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        handle = engine.submit(engine.prepare(arena.job("r1")))
        wait_until(lambda: _starts(arena))
        began = time.monotonic()
        engine.cancel(handle, PATIENCE)
        ended(engine, handle)
        assert time.monotonic() - began < PATIENCE / 2

    def test_unknown_handles_are_gone_and_one_answer_comes_for_each(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        handle = engine.submit(engine.prepare(arena.job("r1")))
        _let_go(arena, 0)
        seen = engine.poll(["", "never heard of", handle])
        assert seen[""].state == seen["never heard of"].state == "gone"
        engine.cancel("never heard of", 0.0)
        ended(engine, handle)
        engine.cancel(handle, 0.0)

    def test_a_run_that_is_over_leaves_nothing_and_one_that_lives_is_left_alone(self, arena: EngineArena) -> None:
        engine = arena.engine(WAITS)
        handle = engine.submit(engine.prepare(arena.job("r1")))
        wait_until(lambda: _starts(arena))
        assert engine.forget(handle) is False
        assert observe(engine, handle).state == "running"
        _let_go(arena, 0)
        ended(engine, handle)
        wait_until(lambda: engine.forget(handle))
        assert engine.forget(handle) is True
        assert engine.forget("never heard of") is True


def _lines(arena: EngineArena) -> list[str]:
    return _read(arena.folder / "starts").splitlines()


def _starts(arena: EngineArena) -> dict[int, int]:
    """{node: pid of its last start}."""
    return {int(node): int(pid) for node, pid in (line.split() for line in _lines(arena))}


def _let_go(arena: EngineArena, *nodes: int) -> None:
    for node in nodes:
        (arena.folder / f"go{node}").touch()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
