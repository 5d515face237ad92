"""The process at the other end of a Unix socket.

The socket's file mode admits only the user who owns the home, and the kernel names the process. A process that belongs
to a run is not the owner, whatever variables it was started with: it, or a process above it, carries the run's marker
(`node/process_tree`). It must send the token of its run.

A hostile process of the same user can read the home folder directly; this protects against mistakes.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import struct
from functools import lru_cache

from footplate import environ

STATE = "peer"
"""The key of the peer in the state of a request."""

_CREDENTIALS = struct.Struct("3i")
_OPTION = getattr(socket, "SO_PEERCRED", None)  # Linux only; elsewhere the file mode alone decides
_DEEPEST, _MOST_KNOWN = 64, 4096


class Peer:
    """A client process on this machine. It is examined once, when a request needs it."""

    def __init__(self, pid: int, uid: int) -> None:
        self.pid, self._uid = pid, uid
        self._refusal: tuple[str | None] | None = None

    @property
    def login(self) -> str:
        """The name of the user whose process this is."""
        return _login(self._uid)

    def refusal(self, home: str) -> str | None:
        """Return why this process is not the owner of `home`; None if it is."""
        if self._refusal is None:
            self._refusal = (self._examine(home),)
        return self._refusal[0]

    def _examine(self, home: str) -> str | None:
        if self._uid not in (0, os.geteuid()):
            return f"the user with the id {self._uid} does not own this server"
        if _OPTION is None:  # this system does not name the process
            return None
        variables = _variables(self.pid)
        if variables is None:
            return f"process {self.pid} cannot be examined"
        run = _run_of(variables, home) or _run_above(_look(self.pid)[0], home)
        return None if run is None else f"process {self.pid} belongs to run {run}"


@lru_cache(maxsize=64)
def _login(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may have no such user
        return f"uid {uid}"


def own_login() -> str:
    """Return the name of the user who runs this server."""
    return _login(os.geteuid())


_outside: dict[tuple[int, bytes, str], None] = {}
"""Processes, by pid, start time and home, that belong to no run, and never will: most clients share their ancestors."""


def _run_above(pid: int, home: str) -> str | None:
    """Return the run of this home that a process, or one above it, belongs to."""
    seen: list[tuple[int, bytes, str]] = []
    while pid > 1 and len(seen) < _DEEPEST:
        parent, started = _look(pid)
        if not started or (pid, started, home) in _outside:
            break
        run = _run_of(_variables(pid) or {}, home)
        if run is not None:
            return run
        seen.append((pid, started, home))
        pid = parent
    if len(_outside) > _MOST_KNOWN:
        _outside.clear()
    _outside.update(dict.fromkeys(seen))
    return None


def peer_of(transport: asyncio.Transport) -> Peer | None:
    """Return the process at the other end of a connection; None over TCP."""
    connection = transport.get_extra_info("socket")
    if connection.family != socket.AF_UNIX:
        return None
    if _OPTION is None:
        return Peer(os.getpid(), os.geteuid())
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, _OPTION, _CREDENTIALS.size))
    return Peer(pid, uid)


def _run_of(variables: dict[str, str], home: str) -> str | None:
    """Return the run of this home that a process with these variables belongs to."""
    if variables.get(environ.EXITS, "").startswith(os.path.join(home, "work", "")):
        return variables.get(environ.RUN_ID, "?")
    if environ.AGENT in variables and variables.get(environ.HOME, home) == home:
        return variables[environ.AGENT].partition("/")[0]
    return None


def _variables(pid: int) -> dict[str, str] | None:
    """Return Footplate's variables of a process; None if it is gone or hidden from us."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    ours = (os.fsdecode(entry).partition("=") for entry in entries if entry.startswith(environ.PREFIX.encode()))
    return {name: value for name, _, value in ours}


def _look(pid: int) -> tuple[int, bytes]:
    """Return the parent of a process and its start time."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return 0, b""
    fields = text[text.rfind(b")") + 2 :].split()  # the name of the command may contain spaces and brackets
    return int(fields[1]), fields[19]
