"""The engine's client of the process that agents are forked from (`footplate.node.nursery`)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from footplate.domain.inherited_variables import agent_variables
from footplate.engines import open_files
from footplate.node.process_tree import MACHINERY

_ANSWER_SECONDS = 30.0
_BUFFER = 1 << 20


class Nursery:
    """A nursery process, started on first use and again if it has gone. It exits when idle, or with the engine."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        self._guard = threading.Lock()
        self._socket: socket.socket | None = None

    def fork(self, message: Mapping[str, Any], lock: int) -> int | None:
        """Return the pid of a new process that has `lock` open; None if it is unknown whether there is one."""
        data = json.dumps(message).encode()
        with self._guard:
            for _ in range(2):
                connection = self._socket or self._start()
                try:
                    socket.send_fds(connection, [data], [lock])
                except OSError:  # it exited before it received this: ask the next one
                    self._disconnect()
                    continue
                return self._receive_pid(connection)
        return None

    def start_alone(self, message: Mapping[str, Any], lock: int) -> int:
        """Start the process without a nursery, which takes longer but cannot die in between; return its pid."""
        argv = [*(message["program"] or self._argv), *message["arguments"], "--lock", str(lock)]
        with open(message["log"], "ab", opener=_open_private) as log:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=message["variables"], pass_fds=[lock],
                start_new_session=True,
            )  # fmt: skip
        open_files.restore_limit(process.pid)
        threading.Thread(target=process.wait, name="agent", daemon=True).start()
        return process.pid

    def _receive_pid(self, connection: socket.socket) -> int | None:
        try:
            answer = connection.recv(64)
        except OSError:
            answer = b""
        if not answer:
            self._disconnect()
            return None
        return int(answer)

    def close(self) -> None:
        """Let the nursery exit now; agents live on."""
        with self._guard:
            self._disconnect()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        ours.settimeout(_ANSWER_SECONDS)
        with theirs:
            process = subprocess.Popen(
                [*self._argv, "--nursery", str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                env={**agent_variables(os.environ), MACHINERY: "nursery"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            open_files.restore_limit(process.pid)
        threading.Thread(target=process.wait, name="nursery", daemon=True).start()
        self._socket = ours
        return ours

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
