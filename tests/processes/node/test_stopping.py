from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
