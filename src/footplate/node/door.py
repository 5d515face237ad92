"""Where the mpirun of another node asks this one to start a daemon of its own. The other end is `reach.py`."""

from __future__ import annotations

import hmac
import os
import socket
import threading
from collections.abc import Callable

from footplate.node.reach import proof, read, write

_PATIENCE_SECONDS = 10.0
"""For who has not yet proved to be one of us."""


class Door:
    """`start(command)` starts the command and returns a function that waits for its exit code; it raises OSError when
    it cannot. Both are called on a thread of the request."""

    def __init__(self, address: str, port: int, secret: str, start: Callable[[str], Callable[[], int]]) -> None:
        self._secret = secret
        self._start = start
        self._listening = socket.create_server((address, port))
        threading.Thread(target=self._answer_forever, name="door", daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _answer_forever(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._answer, args=[link], name="daemon", daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        nonce = os.urandom(32).hex()
        link.settimeout(_PATIENCE_SECONDS)
        try:
            with link, link.makefile("rwb") as lines:
                write(lines, {"nonce": nonce})
                asked = read(lines)
                command = str(asked["command"])
                if not hmac.compare_digest(str(asked["proof"]), proof(self._secret, nonce, command)):
                    write(lines, {"error": "it does not know the secret of this run"})
                    return
                try:
                    wait = self._start(command)
                except OSError as error:
                    write(lines, {"error": str(error)})
                    return
                link.settimeout(None)
                write(lines, {"started": True})
                write(lines, {"code": wait()})
        except (OSError, ValueError, KeyError):
            return  # whoever asked is gone, or talks nonsense
