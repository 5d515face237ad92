"""Kills of server, agent, both, and the nursery at many moments: nothing is lost or duplicated."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from footplate import Experiment, Model, Run, Workspace
from footplate.node import process_tree
from footplate.testing.waiting import wait_until
from support.ops_tools import agent_pid, bytes_of, finish, kill_server, send_agent, server_pid, submit

LINES = 60
SCRIPT = f"""
    import time
    from azureml.core import Run
    run = Run.get_context()
    for i in range({LINES}):
        print(f"line {{i}}", flush=True)
        run.log("value", float(i))
        with open("logs/own.txt", "a") as own:
            own.write(f"own {{i}}\\n")
        with open(f"outputs/{{i}}.txt", "w") as output:
            output.write(str(i) * 1000)
        time.sleep(0.01)
"""
Break = Callable[[Path, Run], None]


def kill_the_server(home: Path, run: Run) -> None:
    kill_server(home)


def kill_the_agent(home: Path, run: Run) -> None:
    send_agent(home, run, signal.SIGKILL)


def kill_both(home: Path, run: Run) -> None:
    kill_server(home)
    send_agent(home, run, signal.SIGKILL)


def nurseries(home: Path) -> list[int]:
    """Return the processes that agents are forked from, not the agents, which live in sessions of their own."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or f"FOOTPLATE_HOME={home}".encode() not in (entry / "environ").read_bytes():
                continue
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"--nursery" in words and b"FOOTPLATE_AGENT=nursery" in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill_the_nursery(home: Path, run: Run) -> None:
    """Kill it, and neither the agent, which it became by a fork, nor a rank that the agent forks at this moment."""
    for pid in nurseries(home):
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if agent_pid(home, run) not in (pid, psutil.Process(pid).ppid()):
                os.kill(pid, signal.SIGKILL)


def assert_whole(run: Run, tmp_path: Path) -> None:
    assert run.get_status() == "Completed", f"{run.get_details().get('error')}\n{run.story()}"
    names = set(run.get_file_names())
    assert {f"outputs/{i}.txt" for i in range(LINES)} == {name for name in names if name.startswith("outputs/")}
    assert bytes_of(run, "user_logs/std_log.txt", tmp_path).decode().splitlines() == [f"line {i}" for i in range(LINES)]
    assert bytes_of(run, "logs/own.txt", tmp_path).decode().splitlines() == [f"own {i}" for i in range(LINES)]
    assert run.get_metrics()["value"] == [float(i) for i in range(LINES)]
    assert bytes_of(run, f"outputs/{LINES - 1}.txt", tmp_path) == str(LINES - 1).encode() * 1000


BREAKS = {
    "server": kill_the_server,
    "agent": kill_the_agent,
    "both": kill_both,
    "nursery": kill_the_nursery,
}


def test_both_killed_after_the_run_but_before_cleanup(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """Restore its folder as it was at that moment while no process runs; the next server removes it."""
    run = submit(workspace, project, SCRIPT)
    kept = tmp_path / "kept"
    wait_until((home / "work" / run.id / "node_0" / "agent.lock").exists)
    shutil.copytree(home / "work" / run.id, kept, ignore=shutil.ignore_patterns("wd"))
    finish(run)
    wait_until(lambda: not (home / "work" / run.id).exists())
    kill_server(home)
    stranger = home / "work" / "of_nobody"
    stranger.mkdir()
    shutil.copytree(kept, home / "work" / run.id)
    assert_whole(run, tmp_path)
    wait_until(lambda: not (home / "work" / run.id).exists())
    assert stranger.exists()


def test_kept_working_directory_stays(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("FOOTPLATE_KEEP_WORK", "1")
    workspace = request.getfixturevalue("workspace")
    first = finish(submit(workspace, project, "open('made', 'w').write('x')"))
    kill_server(home)
    finish(submit(workspace, project, "print()"))  # by then the server has looked for leftovers
    time.sleep(2)  # and so has the watcher, once a second
    assert (home / "work" / first.id / "node_0" / "wd" / "made").exists()


def test_a_run_that_restarted_the_server_ends_no_other_run(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    script = """
        import os, time
        while not os.path.exists({!r}):
            time.sleep(0.05)
        print("released")
    """
    first = submit(workspace, project, script.format(str(tmp_path / "first")))
    wait_until(lambda: first.get_status() == "Running")
    agent, victim = agent_pid(home, first), server_pid(home)
    kill_server(home)
    wait_until(lambda: server_pid(home) != victim)  # nobody else is here to restart it
    revived = process_tree.look(server_pid(home))
    assert revived is not None and revived.parent != agent
    second = submit(workspace, project, script.format(str(tmp_path / "second")))
    wait_until(lambda: second.get_status() == "Running")
    (tmp_path / "first").touch()
    assert finish(first).get_status() == "Completed"
    wait_until(lambda: not (home / "work" / first.id).exists())
    (tmp_path / "second").touch()
    assert finish(second).get_status() == "Completed", second.get_details()
    assert bytes_of(second, "user_logs/std_log.txt", tmp_path) == b"released\n"


def test_an_agent_that_serves_one_run_after_another_is_killed(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """The next agent adopts the last run; the earlier ones, and a cancel of one of them, are not involved."""
    waiting = f"""
        import os, time
        print("began", os.getppid(), flush=True)
        while not os.path.exists({str(tmp_path / "go")!r}):
            time.sleep(0.05)
        print("released")
    """
    served: dict[int, Run] = {}  # the last run of each agent

    def serve_again() -> tuple[Run, Run] | None:
        """Return two runs of one agent, the second of which waits; an agent waits only a moment for its next one."""
        quick = submit(workspace, project, "import os; print(os.getppid())")
        agent = int(bytes_of(finish(quick), "user_logs/std_log.txt", tmp_path))
        served[agent] = quick
        wait_until(lambda: not (home / "work" / quick.id).exists())
        last = submit(workspace, project, waiting)
        pid = wait_until(lambda: last.get_status() == "Running" and agent_pid(home, last))
        if pid in served:
            return served[pid], last
        last.cancel()
        finish(last)
        return None

    earlier, last = wait_until(serve_again)
    earlier.cancel()  # it has ended
    send_agent(home, last, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert finish(last).get_status() == "Completed", last.get_details()
    lines = bytes_of(last, "user_logs/std_log.txt", tmp_path).decode().split("\n")
    assert [line.split(" ")[0] for line in lines] == ["began", "released", ""]
    assert earlier.get_status() == "Completed"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", sorted(BREAKS))
def test_kills_at_many_random_moments_lose_nothing(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path, what: str
) -> None:
    chance = random.Random(f"{what}2")
    for _ in range(15):
        moment = chance.uniform(0.0, 1.8)
        run = submit(workspace, project, SCRIPT)
        time.sleep(moment)
        BREAKS[what](home, run)
        finish(run)
        try:
            assert_whole(run, tmp_path)
        except BaseException:
            print(f"killed {what} {moment:.3f} s after the submission of {run.id}")
            raise
        wait_until(lambda run=run: not (home / "work" / run.id).exists())


def test_agent_that_was_paused_ships_afterwards(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """As on a laptop that sleeps: the ranks continue, and their output arrives later."""
    run = submit(workspace, project, SCRIPT)
    wait_until(lambda: run.get_status() == "Running")
    send_agent(home, run, signal.SIGSTOP)
    time.sleep(10)
    send_agent(home, run, signal.SIGCONT)
    finish(run)
    assert_whole(run, tmp_path)
    assert not any("lost" in line.text for line in run.story())


class Murderer:
    """A thread that kills the server several times, each time after a new one has started."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home = home
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.killed = 0

    def __enter__(self) -> Murderer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while self.killed < 4 and not self._over.wait(self._chance.uniform(0.05, 0.6)):
            victim = server_pid(self._home)
            kill_server(self._home)
            self.killed += 1
            while server_pid(self._home) == victim and not self._over.wait(0.02):
                pass


def test_server_killed_while_models_are_registered(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "net").mkdir()
    for i in range(20):
        (tmp_path / "net" / f"{i}.bin").write_bytes(os.urandom(200_000))
    with Murderer(home, seed=3) as murderer:
        versions: list[int] = []
        while murderer.killed < 4 or len(versions) < 8:
            versions.append(Model.register(workspace, str(tmp_path / "net"), "net").version)
    assert versions == list(range(1, len(versions) + 1)), "each once, none lost, none twice"
    assert sorted(model.version for model in Model.list(workspace, name="net")) == versions
    target = Path(Model(workspace, "net", version=8).download(str(tmp_path / "back")))
    assert all((target / f"{i}.bin").read_bytes() == (tmp_path / "net" / f"{i}.bin").read_bytes() for i in range(20))


def test_server_killed_while_a_folder_is_uploaded(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    contents = {f"{i}.bin": os.urandom(100_000) for i in range(100)}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    run = Experiment(workspace, "ops").start_logging(snapshot_directory=None)
    with Murderer(home, seed=4) as murderer:
        copies = 0
        while murderer.killed < 4 or copies < 6:
            run.upload_folder(f"copy{copies}", str(folder))
            copies += 1
    run.complete()
    names = [name for name in run.get_file_names() if name.startswith("copy")]
    assert sorted(names) == sorted(f"copy{number}/{name}" for number in range(copies) for name in contents)
    for name in ("0.bin", "99.bin"):
        assert bytes_of(run, f"copy5/{name}", tmp_path) == contents[name]
