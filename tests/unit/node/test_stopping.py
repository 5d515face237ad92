from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from footplate.domain.orders import Cause, Lock, NodeOrders, Program
from footplate.node.stopping import StopRequest, TimeLimit

BEGIN = """
import os, signal, threading
from footplate.node.stopping import SIGNALS, Stopped, StopRequest
stop, (read, write) = StopRequest(), os.pipe()
os.set_blocking(write, False)
"""


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", BEGIN + code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_pending_signal_is_handled_when_the_agent_listens(tmp_path: Path) -> None:
    """An agent is forked with these signals blocked: otherwise they would kill it silently."""
    code = """
signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
os.kill(os.getpid(), signal.SIGTERM)
stop.listen(write)
print(stop.reason)
"""
    assert run(code, tmp_path) == "the node agent was asked to stop (SIGTERM)"


def test_another_thread_interrupts_a_wait(tmp_path: Path) -> None:
    code = """
stop.listen(write)
try:
    with stop.interrupts():
        threading.Thread(target=stop.ask, args=["the run is to end"]).start()
        threading.Event().wait(60)
except Stopped:
    print("stopped:", stop.reason)
"""
    assert run(code, tmp_path) == "stopped: the run is to end"


def test_outside_the_block_only_the_reason_is_recorded(tmp_path: Path) -> None:
    code = """
stop.listen(write)
os.kill(os.getpid(), signal.SIGINT)
stop.ask("later")
print(stop.reason, os.read(read, 1) == bytes([signal.SIGINT]))
try:
    with stop.interrupts():
        print("never")
except Stopped:
    print("stopped")
"""
    assert run(code, tmp_path) == "the node agent was asked to stop (SIGINT) True\nstopped"


def test_a_block_that_shares_locks_ends_before_it_is_interrupted(tmp_path: Path) -> None:
    code = """
stop.listen(write)
lock, event = threading.Condition(), threading.Event()
try:
    with stop.interrupts():
        with stop.deferred():
            with lock:
                os.kill(os.getpid(), signal.SIGTERM)
                event.wait(0.05)
            print("whole")
        print("never")
except Stopped:
    print("free" if lock.acquire(blocking=False) else "locked")
"""
    assert run(code, tmp_path) == "whole\nfree"


def test_a_request_that_was_swallowed_is_repeated(tmp_path: Path) -> None:
    """Python prints and drops an exception that is raised in a destructor."""
    code = """
from footplate.node import stopping
stopping.REPEAT_SECONDS = 0.05
class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(0.01)
stop.listen(write)
try:
    with stop.interrupts():
        Swallows()
        threading.Event().wait(60)
except Stopped:
    print("stopped")
"""
    assert run(code, tmp_path) == "stopped"


def test_signals_at_any_moment_end_the_block_and_leave_no_lock(tmp_path: Path) -> None:
    """A worker shares an Event with the main thread, as the reporter of an agent does."""
    code = """
import random, time
stop.listen(write)
chance, ended = random.Random(1), 0
for number in range(300):
    stop.reason, event, over = None, threading.Event(), threading.Event()
    def work():
        while not over.is_set():
            event.wait(0.01)
            event.clear()
    worker = threading.Thread(target=work)
    worker.start()
    main = threading.main_thread().ident
    timer = threading.Thread(target=lambda: (time.sleep(chance.uniform(0, 0.003)), stop.ask("enough")))
    timer.start()
    try:
        with stop.interrupts():
            while True:
                with stop.deferred():
                    event.set()
    except Stopped:
        ended += 1
    timer.join()
    over.set()
    event.set()  # hangs if the lock was left locked
    worker.join()
print(ended)
"""
    assert run(code, tmp_path) == "300"


def test_a_warning_of_the_engine_is_remembered_and_stops_nothing(tmp_path: Path) -> None:
    code = """
stop.listen(write)
print(stop.is_warned)
with stop.interrupts():
    os.kill(os.getpid(), signal.SIGUSR1)
    print(stop.is_warned, stop.reason, os.read(read, 1) == bytes([signal.SIGUSR1]))
"""
    assert run(code, tmp_path) == "False\nTrue None True"


# ── Time limits ───────────────────────────────────────────────────────────────────────────────────────────────────────

FAILED = Cause("exit_code", "the script ended with exit code 1", node=0, rank=0, exit_code=1)


class Clock:
    """A time limit, and the seconds that its ranks have run."""

    def __init__(self, **orders: Any) -> None:
        self.now = 0.0
        self.stop = StopRequest()
        lock = Lock("d", "existing", {})
        given = NodeOrders("r", 0, 1, True, False, Program("s.py"), lock, None, {}, **orders)
        self.limit = TimeLimit(given, self.stop, lambda: self.now)


def test_without_a_limit_there_is_nothing_to_do() -> None:
    limit = Clock(warning_signal="SIGUSR1").limit
    assert (limit.seconds_left(), limit.passed(), limit.signal_due()) == (None, None, None)


def test_the_signal_is_due_before_the_limit_of_the_run() -> None:
    clock = Clock(max_seconds=100.0, warning_signal="SIGUSR1", warning_seconds=30.0)
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (70.0, None)
    clock.now = 70.0
    assert (clock.limit.seconds_left(), clock.limit.signal_due(), clock.limit.passed()) == (1.0, "SIGUSR1", None)
    clock.now = 99.5
    assert clock.limit.seconds_left() == 0.5
    clock.now = 100.0
    cause = clock.limit.passed()
    assert cause is not None and (cause.code, cause.node) == ("time_limit", 0)


def test_a_run_that_does_not_ask_for_a_warning_gets_none() -> None:
    clock = Clock(max_seconds=100.0, warning_seconds=50.0)
    clock.now, clock.stop.is_warned = 99.0, True
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (1.0, None)


def test_a_rank_that_exits_after_the_warning_ended_at_the_limit() -> None:
    clock = Clock(max_seconds=100.0, warning_signal="SIGUSR1", warning_seconds=30.0)
    clock.stop.is_warned = True
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (1.0, "SIGUSR1")
    cause = clock.limit.explain(FAILED)
    assert (cause.code, cause.exit_code) == ("engine_time_limit", 1)
    clock.now = 80.0
    assert clock.limit.explain(FAILED).code == "time_limit"
    by_signal = Cause("signal", "ended by SIGUSR1", node=0, rank=0, signal="SIGUSR1")
    assert clock.limit.explain(by_signal).code == "time_limit"
    crashed = Cause("signal", "crashed", node=0, rank=0, signal="SIGSEGV")
    raised = Cause("user_exception", "ValueError: no", node=0, rank=0)
    assert (clock.limit.explain(crashed), clock.limit.explain(raised)) == (crashed, raised)
