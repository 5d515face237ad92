"""A process that has loaded everything an agent needs, and forks an agent when the local engine requests one.

A fork takes two milliseconds where a new interpreter and its imports take eighty, and the agents of a machine share
most of their memory. The nursery has no threads and opens nothing. It exits when it has been idle for a while, when the
engine closes the socket, or when the engine's process ends, however it ends. Its environment, like that of agents,
marks it as Footplate's own (`process_tree.MACHINERY`).

An agent serves one node after another, so that trials which follow each other need no fork: it waits for another node
if nothing of the last one is left in its process, no thread, no child, no open file, and no request to stop. A signal
ends an agent that waits. The nursery ends those that have waited for too long by closing their sockets, and so does its
own end.

A request is one message on a socket pair: `{"arguments", "variables", "log", "program", "orders"}` as JSON, with the
agent's lock as an open file. The response is the pid. `program` is an argv to run instead of the agent. With `orders`
the agent need not request them.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import threading
import time
import traceback
from typing import Any

from footplate import environments
from footplate.domain import codec, orders, records, replies
from footplate.node import agent, process_tree, sampler, stopping
from footplate.node.node_directory import LOCK_NUMBER, see_installed_packages

IDLE_SECONDS = 300.0
REQUESTS_NUMBER = LOCK_NUMBER + 1
"""The file descriptor at which an agent finds the socket of further requests."""

LARGEST_REQUEST = 1 << 20
_AGENT_IDLE_SECONDS = 2.0
ENDING_SECONDS = 0.05
"""The most seconds to wait for the kernel to forget threads that have ended."""

_MOST_NODES = 100
"""Nodes that one process serves: a small leak must not grow for ever."""

_IMPORTED_LATER = (
    *agent.IMPORTED_MEANWHILE,
    "ctypes",
    "subprocess",
    "traceback",
    "footplate.api.files",
    "footplate.api.metrics",
    "footplate.api.nodes",
    "footplate.client.launcher",
    "footplate.domain.shipments",
    "footplate.node.ranks.containers",
    "footplate.node.node_data",
    "footplate.node.ending",
    "footplate.node.mpi.daemons",
    "footplate.node.ports",
    "footplate.node.ranks.rank_watch",
    "footplate.node.delivery.file_events",
    "footplate.node.delivery.reporting",
    "footplate.node.delivery.salvage",
    "footplate.node.stacks",
    "footplate.environments.tensorflow1_check",
)
"""Modules that agents import on first use, for the sake of those that are not forked from here."""

_REPLIES = (
    replies.AddedFiles,
    replies.AppendedBytes,
    replies.HeartbeatReply,
    replies.NodeEventReply,
    replies.ShipmentReply,
)


def serve(number: int, engine: int) -> int:
    """Handle requests on the socket with this file descriptor until the process `engine` is gone or idle."""
    connection = socket.socket(fileno=number)
    connection.set_inheritable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps our children; agents record how they ended
    parent = _watch_parent()
    if os.getppid() != engine:
        return 0
    _preload()
    events = select.poll()  # unlike `select`, it takes descriptors beyond 1023, which a busy server passes on
    for file in (number, *parent):
        events.register(file, select.POLLIN)
    agents = IdleAgents(events)
    while True:
        seconds = _AGENT_IDLE_SECONDS if agents.exist else IDLE_SECONDS
        ready = [file for file, _ in events.poll(seconds * 1000)]
        if any(file in parent for file in ready) or not (ready or agents.exist):
            return 0
        if not ready:
            agents.dismiss()
        for file in ready:
            if file != number:
                agents.note(file)
        if number in ready and not _answer(connection, agents):
            return 0


def _answer(connection: socket.socket, agents: IdleAgents) -> bool:
    """Start the agent of the next request; return False if the engine is gone. The agent does not need it."""
    message, files, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 1)
    if not message:
        return False
    try:
        pid = agents.hand_over(message, files[0]) or _fork(message, files[0], agents)
        connection.send(str(pid).encode())
    except OSError:
        return False
    finally:
        for file in files:
            os.close(file)
    return True


def _fork(message: bytes, lock: int, agents: IdleAgents) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # A signal that stops an agent before it handles signals stays pending, and does not kill it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
    pid = os.fork()
    if pid == 0:
        _become_agent(json.loads(message), lock, theirs.detach())
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    agents.add(pid, ours)
    return pid


def _watch_parent() -> list[int]:
    """Return a pidfd of the engine's process: another process may hold the socket open when that has ended."""
    try:
        return [os.pidfd_open(os.getppid())]
    except (OSError, AttributeError):  # an old kernel, or not Linux: then the socket has to do
        return []


def _preload() -> None:
    """Load the modules that agents need once for all of them, and exempt them from garbage collection."""
    sampler.preload()
    see_installed_packages()
    for name in _IMPORTED_LATER:
        importlib.import_module(name)
    codec.prepare(orders.NodeOrders, records.FileView, *_REPLIES)
    for name in environments.names():
        environments.load(name)
    gc.collect()
    gc.freeze()


def _become_agent(request: dict[str, Any], lock: int, requests: int) -> None:
    """Turn the forked child into the agent of this node and of later ones; never returns."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _take_files(request["log"], lock, requests)
        following = NextRequests()
        while True:
            code, is_over = _work_on(request)
            assignment = following.wait() if is_over else None
            if assignment is None:
                break
            request = json.loads(assignment[0])
            _take_files(request["log"], assignment[1], REQUESTS_NUMBER)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 64
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _work_on(request: dict[str, Any]) -> tuple[int, bool]:
    os.environ.clear()
    os.environ.update(request["variables"])
    if request["program"]:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping.SIGNALS)
        os.execve(request["program"][0], [*request["program"], *request["arguments"]], dict(os.environ))
    return agent.work_on(request["arguments"], request["orders"])


def _take_files(log: str, lock: int, requests: int) -> None:
    """Close everything but the log, on both outputs, the lock, and the socket of further requests."""
    # Beyond the numbers that they are to have: the one must not be closed for the other.
    lock, requests = (fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, REQUESTS_NUMBER + 1) for file in (lock, requests))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.dup2(lock, LOCK_NUMBER)
    os.dup2(requests, REQUESTS_NUMBER, inheritable=False)
    os.closerange(REQUESTS_NUMBER + 1, 65536)


# ── Agents that wait for another node ─────────────────────────────────────────────────────────────────────────────────


class IdleAgents:
    """The nursery's list of agents that wait for another node. `events` reports when one begins to wait or ends."""

    def __init__(self, events: select.poll) -> None:
        self._events = events
        self._agents: dict[int, tuple[int, socket.socket]] = {}  # pid and socket by file descriptor
        self._waiting: list[int] = []

    @property
    def exist(self) -> bool:
        return bool(self._waiting)

    def add(self, pid: int, connection: socket.socket) -> None:
        """Take notice of a new agent, which is busy."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST_REQUEST)
        self._agents[connection.fileno()] = pid, connection
        self._events.register(connection, select.POLLIN)

    def note(self, number: int) -> None:
        """Read from the socket with this file descriptor that its agent waits or has ended."""
        try:
            waits = bool(self._agents[number][1].recv(1))
        except OSError:
            waits = False
        if waits:
            self._waiting.append(number)
        else:
            self._drop(number)

    def hand_over(self, message: bytes, lock: int) -> int | None:
        """Send a request to the agent that has waited for the shortest time; return its pid, None without one."""
        while self._waiting:
            number = self._waiting.pop()
            pid, connection = self._agents[number]
            try:
                socket.send_fds(connection, [message], [lock])
            except OSError:
                self._drop(number)
                continue
            return pid
        return None

    def dismiss(self) -> None:
        """End all agents that wait."""
        for number in list(self._waiting):
            self._drop(number)

    def _drop(self, number: int) -> None:
        self._events.unregister(number)
        self._agents.pop(number)[1].close()
        if number in self._waiting:
            self._waiting.remove(number)


class NextRequests:
    """The agent's end of its socket. Files that are open from the beginning, as libffi's is, are not left of a node."""

    def __init__(self) -> None:
        self._served = 0
        self._open_before = _open_files()

    def wait(self) -> tuple[bytes, int] | None:
        """Return the next request and its lock; None if this process has to end instead.

        The caller has blocked the signals that stop an agent, and they are blocked again afterwards.
        """
        self._served += 1
        if self._served >= _MOST_NODES or not _has_nothing_left(self._open_before):
            return None
        for number in (*stopping.SIGNALS, stopping.WARNING, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        os.close(LOCK_NUMBER)
        with socket.socket(fileno=os.dup(REQUESTS_NUMBER)) as connection:
            connection.send(b".")
            signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping.SIGNALS)
            message, files, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 1)
            signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
        return (message, files[0]) if message else None


def _has_nothing_left(open_before: set[str]) -> bool:
    """Whether this process is as good as a new one."""
    if signal.sigpending() or not process_tree.has_no_descendants() or not _has_one_thread():
        return False
    return _open_files() == open_before


def _open_files() -> set[str]:
    """Return the numbers of open files, that of the listing included: the lowest free one, so equal sets are equal."""
    return set(os.listdir("/proc/self/fd"))


def _has_one_thread() -> bool:
    """Whether no thread but this one is left. The kernel lists a thread for a moment after it was joined."""
    until = time.monotonic() + ENDING_SECONDS
    while len(os.listdir("/proc/self/task")) > 1:
        if threading.active_count() > 1 or time.monotonic() > until:
            return False
        time.sleep(ENDING_SECONDS / 100)
    return True
