"""Agents that wait for another node, from the side of the nursery and from their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


# An agent whose node is over: lock and socket have their numbers, and `state` is what the node has left behind.
AGENT = """
import _thread, os, signal, subprocess, sys, threading, time
from footplate.node import nursery, process_tree, stopping
os.dup2(int(sys.argv[1]), nursery.REQUESTS_NUMBER, inheritable=False)
os.dup2(os.open(os.devnull, os.O_RDONLY), nursery.LOCK_NUMBER)
os.closerange(nursery.REQUESTS_NUMBER + 1, 100)
process_tree.become_subreaper()
signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
state = sys.argv[2]
if state == "file of a library":  # libffi keeps one open from the first import of ctypes on
    os.open(os.devnull, os.O_RDONLY)
following = nursery.NextRequests()
if state == "file":
    os.open(os.devnull, os.O_RDONLY)
elif state == "thread":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
elif state == "ending thread":  # one that Python does not count any more, but the kernel does
    nursery.ENDING_SECONDS = 60.0
    _thread.start_new_thread(time.sleep, (0.01,))
elif state == "child":
    subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
elif state == "signal":
    os.kill(os.getpid(), signal.SIGTERM)
found = following.wait()
print(None if found is None else (found[0], os.fstat(found[1]).st_ino), flush=True)
os._exit(0)
"""


@contextmanager
def agent(state: str) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    ours, theirs = pair()
    with ours:
        with theirs:
            argv = [sys.executable, "-c", AGENT, str(theirs.fileno()), state]
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, pass_fds=[theirs.fileno()])
        try:
            yield process, ours
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("state", ["file", "thread", "child", "signal"])
def test_an_agent_with_something_left_of_its_node_ends(state: str) -> None:
    with agent(state) as (process, ours):
        assert process.communicate(timeout=60)[0] == "None\n"
        assert ours.recv(1) == b""


@pytest.mark.parametrize("state", ["nothing", "ending thread", "file of a library"])
def test_an_agent_with_nothing_left_takes_the_next_request(state: str, tmp_path: Path) -> None:
    with agent(state) as (process, ours):
        assert ours.recv(1) == b"."
        lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
        socket.send_fds(ours, [b"request"], [lock])
        assert process.communicate(timeout=60)[0] == f"{(b'request', os.fstat(lock).st_ino)}\n"
        os.close(lock)


def test_an_agent_ends_when_the_nursery_dismisses_it_or_a_signal_arrives() -> None:
    with agent("nothing") as (process, ours):
        assert ours.recv(1) == b"."
        ours.close()
        assert process.communicate(timeout=60)[0] == "None\n"
    with agent("nothing") as (process, ours):
        assert ours.recv(1) == b"."
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == -signal.SIGTERM
