"""A process that has loaded everything an agent needs, and forks an agent when the local engine requests one.

A fork takes two milliseconds where a new interpreter and its imports take eighty, and the agents of a machine share
most of their memory. The nursery has no threads and opens nothing. It exits when it has been idle for a while, when the
engine closes the socket, or when the engine's process ends, however it ends. Its environment, like that of agents,
marks it as Footplate's own (`process_tree.MACHINERY`).

A request is one message on a socket pair: `{"arguments", "variables", "log", "program"}` as JSON, with the agent's lock
as an open file. The response is the pid. `program` is an argv to run instead of the agent.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import traceback
from typing import Any

from footplate import environments
from footplate.domain import codec, orders, records, replies
from footplate.node import agent, sampler, stopping
from footplate.node.node_directory import LOCK_NUMBER, see_installed_packages

IDLE_SECONDS = 300.0
_IMPORTED_LATER = (
    "ctypes",
    "subprocess",
    "traceback",
    "footplate.api.files",
    "footplate.api.metrics",
    "footplate.api.nodes",
    "footplate.client.launcher",
    "footplate.domain.shipments",
    "footplate.node.containers",
    "footplate.node.data",
    "footplate.node.mpi.daemons",
    "footplate.node.ports",
    "footplate.node.shipping.reporting",
    "footplate.node.shipping.salvage",
    "footplate.node.stacks",
    "footplate.node.tensorflow1_check",
)
"""Modules that agents import on first use, for the sake of those that are not forked from here."""

_REPLIES = (
    replies.AddedFiles,
    replies.AppendedBytes,
    replies.HeartbeatReply,
    replies.NodeEventReply,
    replies.ShipmentReply,
)
_LARGEST_MESSAGE = 1 << 20


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
    while any(file == number for file, _ in events.poll(IDLE_SECONDS * 1000)):
        message, files, _, _ = socket.recv_fds(connection, _LARGEST_MESSAGE, 1)
        if not message:
            break
        # A signal that stops an agent before it handles signals stays pending, and does not kill it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
        pid = os.fork()
        if pid == 0:
            _become_agent(json.loads(message), files[0])
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for file in files:
            os.close(file)
        try:
            connection.send(str(pid).encode())
        except OSError:
            break  # the engine is gone; the agent does not need it
    return 0


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


def _become_agent(request: dict[str, Any], lock: int) -> None:
    """Turn the forked child into an agent; never returns."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _take_files(request["log"], lock)
        os.environ.clear()
        os.environ.update(request["variables"])
        if request["program"]:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping.SIGNALS)
            os.execve(request["program"][0], [*request["program"], *request["arguments"]], dict(os.environ))
        code = agent.main(request["arguments"])
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 64
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_files(log: str, lock: int) -> None:
    """Close everything but the log, on both outputs, and the lock."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.dup2(lock, LOCK_NUMBER)
    os.closerange(LOCK_NUMBER + 1, 65536)
