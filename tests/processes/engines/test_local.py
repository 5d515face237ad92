from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest

from footplate.engines.base import AgentJob, Observation
from footplate.engines.local import LocalEngine, agent_argv
from footplate.engines.nursery_client import Nursery
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder
from footplate.testing.waiting import PATIENCE_SECONDS, wait_until


def job(home: Path, run: str = "run_1", nodes: int = 1, token: str | None = None) -> AgentJob:
    return AgentJob(run, 2, nodes, "unix:///s", token, str(home))


def handle(home: Path, pid: int, identity: str) -> str:
    return json.dumps({"home": str(home), "run": "run_1", "attempt": 1, "agents": [{"pid": pid, "identity": identity}]})


def test_an_agent_at_another_node_has_ended_for_the_earlier_one(home: Path) -> None:
    engine, second = LocalEngine(), NodeFolder(str(home), "run_2", 0)
    code = "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [15]); print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None and agent.stdout.readline()
        earlier = handle(home, agent.pid, process_tree.identity(agent.pid) or "")
        later = earlier.replace("run_1", "run_2")
        assert engine.poll([earlier])[earlier].state == "running"
        engine._assigned[agent.pid] = second.path
        assert engine.poll([earlier])[earlier] == Observation("exited", {0: 0})
        assert engine.poll([later])[later].state == "running"
        for each, is_sent in ((earlier, False), (later, True)):
            engine.cancel(each, 600.0)
            status = Path(f"/proc/{agent.pid}/status").read_text()
            pending = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("ShdPnd"))
            assert bool(pending & 1 << signal.SIGTERM - 1) is is_sent
        agent.kill()


SLEEPER = "import os, sys, time; print(os.getpid(), sorted(os.listdir('/proc/self/fd')), flush=True); time.sleep(600)"


def test_concurrent_submits_of_one_run_start_one_agent(home: Path) -> None:
    engine = LocalEngine([sys.executable, "-c", SLEEPER])
    request = engine.prepare(job(home))
    with ThreadPoolExecutor(8) as pool:
        handles = set(pool.map(lambda _: engine.submit(request), range(16)))
    (only,) = handles
    log = home / "work" / "run_1" / "node_0_attempt_2" / "agent.log"
    line = wait_until(lambda: log.exists() and log.read_text())
    assert len(line.splitlines()) == 1
    pid = json.loads(only)["agents"][0]["pid"]
    assert line.split()[0] == str(pid)
    assert "'0', '1', '2', '3'" in line, "the standard streams and the lock"
    assert os.getsid(pid) == pid
    engine.cancel(only, 1.0)
    wait_until(lambda: engine.poll([only])[only].state == "exited")


def test_agents_outlive_the_nursery_without_zombies(home: Path) -> None:
    engine = LocalEngine([sys.executable, "-c", SLEEPER])
    known = engine.submit(engine.prepare(job(home)))
    agent = json.loads(known)["agents"][0]["pid"]
    process = process_tree.look(agent)
    assert process is not None
    os.kill(process.parent, signal.SIGKILL)
    second = engine.submit(engine.prepare(job(home, "run_2")))
    assert engine.poll([known])[known].state == "running"
    for each in (known, second):
        engine.cancel(each, 1.0)
        wait_until(lambda h=each: engine.poll([h])[h].state == "exited")
    last = json.loads(second)["agents"][0]["pid"]
    wait_until(lambda: process_tree.look(last) is None)


def test_the_nursery_exits_with_the_engine(home: Path) -> None:
    nursery = Nursery(agent_argv())
    folder = NodeFolder(str(home), "run_1", 0)
    lock = folder.take_lock()
    assert lock is not None
    message = {"program": ["/bin/true"], "arguments": [], "variables": {}, "log": folder.agent_log}
    child = nursery.fork(message, lock)
    os.close(lock)
    assert child is not None
    mine = [
        p.pid
        for p in process_tree.everyone().values()
        if p.parent == os.getpid() and b"FOOTPLATE_AGENT=nursery" in process_tree.variables(p.pid)
    ]
    assert mine
    nursery.close()
    wait_until(lambda: all(process_tree.look(pid) is None for pid in mine))


# An engine that is killed while another process holds its end of the nursery's socket open.
KILLED = """
import os, signal, sys
from footplate.engines.local import agent_argv
from footplate.engines.nursery_client import Nursery
from footplate.node.node_directory import NodeFolder
nursery, folder = Nursery(agent_argv()), NodeFolder(sys.argv[1], "run_1", 0)
message = {"program": ["/bin/true"], "arguments": [], "variables": {}, "log": folder.agent_log}
if sys.argv[2] == "started":  # and perhaps not even watching its engine yet
    connection = nursery._start()
else:
    nursery.fork(message, folder.take_lock())
holder = os.fork()
if holder == 0:
    os.close(1)
    signal.pause()
print(holder, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def nurseries(engine: int) -> list[int]:
    """Return the pids of nurseries that were started by this process, dead or alive."""
    return [pid for pid in process_tree.everyone() if _is_nursery(pid, engine)]


def _is_nursery(pid: int, engine: int) -> bool:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"--nursery" in argv and str(engine).encode() in argv


@pytest.mark.parametrize("nursery", ["started", "used"])
def test_the_nursery_of_a_killed_engine_exits(home: Path, nursery: str) -> None:
    engine = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(home), nursery], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert engine.stdout is not None
    holder = int(engine.stdout.readline())
    try:
        wait_until(lambda: len(nurseries(engine.pid)) == 1)  # a fork looks like one until it begins its program
        engine.communicate(b"\n")
        assert engine.returncode == -signal.SIGKILL
        wait_until(lambda: not nurseries(engine.pid))
    finally:
        os.kill(holder, signal.SIGKILL)


CROWDED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = [os.dup(0) for _ in range(1100)]
from footplate.engines.local import agent_argv
from footplate.engines.nursery_client import Nursery
from footplate.node.node_directory import NodeFolder
nursery, folder = Nursery(agent_argv()), NodeFolder(sys.argv[1], "run_1", 0)
message = {"program": ["/bin/true"], "arguments": [], "variables": {}, "log": folder.agent_log}
assert nursery.fork(message, folder.take_lock()) is not None
nursery.close()
"""


def test_an_engine_with_many_open_files_starts_agents(home: Path) -> None:
    """During a flood of connections, a server's files have numbers that `select` does not take."""
    subprocess.run([sys.executable, "-c", CROWDED, str(home)], check=True, timeout=PATIENCE_SECONDS)


def test_agents_start_without_a_nursery_that_does_not_live(home: Path) -> None:
    engine = LocalEngine([sys.executable, "-c", SLEEPER])
    engine._nursery = Nursery(["/bin/false"])
    known = engine.submit(engine.prepare(job(home)))
    log = home / "work" / "run_1" / "node_0_attempt_2" / "agent.log"
    line = wait_until(lambda: log.exists() and log.read_text())
    pid = json.loads(known)["agents"][0]["pid"]
    assert (line.split()[0], os.getsid(pid)) == (str(pid), pid)
    assert engine.submit(engine.prepare(job(home))) == known
    engine.cancel(known, 1.0)
    wait_until(lambda: process_tree.look(pid) is None)


def test_an_agent_without_a_nursery_holds_its_lock(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        endpoint = f"http://127.0.0.1:{mute.getsockname()[1]}"
        engine = LocalEngine()
        folder = NodeFolder(str(home), "run_1", 0)
        lock = folder.take_lock()
        assert lock is not None
        body = engine.prepare(AgentJob("run_1", 1, 1, endpoint, home=str(home))).body
        agent = {**body["agents"][0], "program": [], "log": folder.agent_log}
        pid = engine._nursery.start_alone({**agent, "variables": {**os.environ, **agent["variables"]}}, lock)
        os.close(lock)
        wait_until((home / "work" / "run_1" / "node_0" / "wd").exists)
        assert folder.take_lock() is None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: process_tree.look(pid) is None)


def test_a_lock_that_a_dying_nursery_holds_is_waited_for(home: Path) -> None:
    engine = LocalEngine([sys.executable, "-c", SLEEPER])
    folder = NodeFolder(str(home), "run_1", 0, 2)
    held = folder.take_lock()
    assert held is not None
    timer = Timer(0.2, os.close, [held])
    timer.start()
    known = engine.submit(engine.prepare(job(home)))
    timer.join()
    engine.cancel(known, 1.0)
    wait_until(lambda: engine.poll([known])[known].state == "exited")


def test_an_agent_for_which_there_are_no_processes_starts_later(home: Path) -> None:
    program = """
import resource, sys
from footplate.engines.base import AgentJob, NotStarted
from footplate.engines.local import LocalEngine
resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
held = [open("/dev/null") for _ in range(7)]
engine = LocalEngine(["/bin/true"])
request = engine.prepare(AgentJob("run_1", 1, 1, "unix:///s", None, sys.argv[1]))
try:
    engine.submit(request)
except NotStarted as error:
    print(error.message)
for file in held:
    file.close()
engine.submit(request)
"""
    done = subprocess.run([sys.executable, "-c", program, str(home)], capture_output=True, text=True, check=False)
    assert (done.returncode, "Too many open files" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_nursery_whose_engine_died_before_it_began_exits() -> None:
    """Between fork and exec: its parent is another process than the engine that it was started for."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        number, gone = theirs.fileno(), subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        argv = [*agent_argv(), "--nursery", str(number), str(gone.pid)]
        assert subprocess.run(argv, pass_fds=[number], timeout=PATIENCE_SECONDS, check=False).returncode == 0


def test_the_default_program_is_the_agent(home: Path) -> None:
    """Against a server that never answers: the agent waits, and exits when it is asked to stop."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        endpoint = f"http://127.0.0.1:{mute.getsockname()[1]}"
        engine = LocalEngine()
        known = engine.submit(engine.prepare(AgentJob("run_1", 1, 1, endpoint, home=str(home))))
        wait_until((home / "work" / "run_1" / "node_0" / "wd").exists)
        assert engine.poll([known])[known].state == "running"
        engine.cancel(known, 0.3)
        wait_until(lambda: engine.poll([known])[known].state == "exited")
