"""How the mpirun of one node gets its daemons started on the others, from agent to agent.

`remote_shell.py`, which mpirun runs, calls the `LauncherClient` of its own node over a socket file that only its owner
may open. The client calls the `LauncherServer` of the other node, which starts the daemon and reports its exit. The
agents of a run share a secret; a request carries only a proof of knowing it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from io import BufferedRWPair
from typing import Any, Callable

from footplate.disk import socket_address
from footplate.domain.orders import NodePlace

_PATIENCE_SECONDS = 10.0
"""Limits for a peer that has not yet proved that it belongs to the run."""

_CONNECT_SECONDS = 60.0
_LONGEST_REQUEST = 1 << 20

Start = Callable[[str], Callable[[], int]]
"""Starts a command and returns a function that waits for its exit code. Raises OSError if it cannot."""


class LauncherServer:
    """Accepts requests for a daemon from the mpirun of another node. `start` is called on the request's thread."""

    def __init__(self, address: str, port: int, secret: str, start: Start) -> None:
        self._secret = secret
        self._start = start
        self._listening = _Listening(socket.create_server((address, port)), "door", self._answer)

    def close(self) -> None:
        self._listening.close()

    def _answer(self, link: socket.socket) -> None:
        nonce = os.urandom(32).hex()
        link.settimeout(_PATIENCE_SECONDS)
        with link.makefile("rwb") as lines:
            _write(lines, {"nonce": nonce})
            request = _read(lines)
            command = str(request["command"])
            if not hmac.compare_digest(str(request["proof"]), _proof(self._secret, nonce, command)):
                _write(lines, {"error": "it does not know the secret of this run"})
                return
            try:
                wait = self._start(command)
            except OSError as error:
                _write(lines, {"error": str(error)})
                return
            link.settimeout(None)
            _write(lines, {"started": True})
            _write(lines, {"code": wait()})


class LauncherClient:
    """Forwards requests of `remote_shell.py`, received at the socket file `path`, to the servers at these places."""

    def __init__(self, path: str, places: Sequence[NodePlace], secret: str) -> None:
        self._path, self._places, self._secret = path, places, secret
        self._listening = _Listening(_listen(path), "switchboard", self._connect)

    def close(self) -> None:
        self._listening.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _connect(self, link: socket.socket) -> None:
        request = b""
        while len(request) <= _LONGEST_REQUEST and (piece := link.recv(1 << 16)):
            request += piece
        host, _, command = request.decode("utf-8", "surrogateescape").partition("\0")
        try:
            place = self._places[int(host.rpartition("-")[2])]
            answer = str(knock(place.address, place.ports[0], self._secret, command))
        except (OSError, ValueError, KeyError, IndexError) as error:
            answer = f"1 {error}"
        link.sendall(answer.encode("utf-8", "surrogateescape"))


def knock(address: str, port: int, secret: str, command: str) -> int:
    """Let the agent at this place run the command; return its exit code. Raise OSError if it cannot."""
    link = _open_link(address, port)
    with link, link.makefile("rwb") as lines:
        nonce = str(_read(lines)["nonce"])
        _write(lines, {"command": command, "proof": _proof(secret, nonce, command)})
        answer = _read(lines)
        if "error" in answer:
            raise OSError(f"its agent does not start {command.partition(' ')[0]}: {answer['error']}")
        return int(_read(lines)["code"])


def _open_link(address: str, port: int) -> socket.socket:
    """Connect. The other agent may be a moment behind: it listens when it learns that all nodes are prepared."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            link = socket.create_connection((address, port), timeout=_CONNECT_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)
            continue
        link.settimeout(None)
        return link


def _proof(secret: str, nonce: str, command: str) -> str:
    message = f"{nonce}\n{command}".encode("utf-8", "surrogateescape")
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def _read(lines: BufferedRWPair) -> dict[str, Any]:
    line = lines.readline(_LONGEST_REQUEST)
    if not line.endswith(b"\n"):
        raise ConnectionError("the other side is gone")
    return json.loads(line)


def _write(lines: BufferedRWPair, message: dict[str, Any]) -> None:
    lines.write(json.dumps(message).encode() + b"\n")
    lines.flush()


class _Listening:
    """Answers every connection on a thread of its own."""

    def __init__(self, listening: socket.socket, name: str, answer: Callable[[socket.socket], None]) -> None:
        self._socket, self._name, self._answer = listening, name, answer
        threading.Thread(target=self._listen_forever, name=name, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _listen_forever(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=[link], name=self._name, daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        # The caller may be gone, or send garbage.
        with link, contextlib.suppress(OSError, ValueError, KeyError):
            self._answer(link)


def _listen(path: str) -> socket.socket:
    """Listen on a socket file, wherever it is."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket_address(path) as address:
            listening.bind(address)
        os.chmod(path, 0o600)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening
