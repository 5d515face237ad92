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
