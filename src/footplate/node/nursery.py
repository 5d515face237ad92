"""A process that has everything loaded that an agent needs, and forks one whenever the local engine asks.

A fork takes two milliseconds where a new interpreter and its imports take eighty, and the agents of a machine share
most of their memory. It has no threads, opens nothing, and ends when nobody has asked for a while or when the engine is
gone. Agents are forks of it, so its environment, like theirs, says that it is machinery (`tree.MACHINERY`).

A request is one message on a socket pair: `{"arguments", "variables", "log", "program"}` as JSON, with the agent's lock
as an open file. The answer is the pid. `program` is an argv to run instead of the agent.
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
from footplate.node import agent, sampler
from footplate.node.node_directory import LOCK_NUMBER, see_installed_packages

IDLE_SECONDS = 300.0
_LARGEST_MESSAGE = 1 << 20


def serve(number: int) -> int:
    """Answer requests on the socket with this file number until there is nobody left to ask."""
    door = socket.socket(fileno=number)
    door.set_inheritable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries our children; agents write down how they ended
    _preload()
    while select.select([door], [], [], IDLE_SECONDS)[0]:
        message, files, _, _ = socket.recv_fds(door, _LARGEST_MESSAGE, 1)
        if not message:
            break
        # An agent that is told to stop before it can listen shall hear it when it does, and not just die of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, agent.SIGNALS)
        pid = os.fork()
        if pid == 0:
            _become_agent(json.loads(message), files[0])
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for file in files:
            os.close(file)
        try:
            door.send(str(pid).encode())
        except OSError:
            break  # the engine is gone; the agent does not need it
    return 0


def _preload() -> None:
    """What an agent will want, loaded once for all of them, and put out of the garbage collector's way."""
    sampler.preload()
    see_installed_packages()
    importlib.import_module("footplate.node.data")  # each run on data would wait 10 to 16 ms for it
    for name in environments.names():
        environments.load(name)
    gc.collect()
    gc.freeze()


def _become_agent(request: dict[str, Any], lock: int) -> None:
    """In the child: never returns."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _take_files(request["log"], lock)
        os.environ.clear()
        os.environ.update(request["variables"])
        if request["program"]:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, agent.SIGNALS)
            os.execve(request["program"][0], [*request["program"], *request["arguments"]], dict(os.environ))
        code = agent.main(request["arguments"])
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 64
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_files(log: str, lock: int) -> None:
    """Nothing of ours stays open but the log, on both outputs, and the lock."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.dup2(lock, LOCK_NUMBER)
    os.closerange(LOCK_NUMBER + 1, 65536)
