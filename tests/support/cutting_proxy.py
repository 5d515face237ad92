"""A local proxy that forwards bytes to a server and cuts connections after a number of bytes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

_CHUNK = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, as a broken connection looks


class CuttingProxy:
    """A proxy in front of `port`.

    With `limit`, it cuts each connection after that many bytes sent; `sent` counts them all.
    """

    def __init__(self, port: int, limit: int | None = None) -> None:
        self._behind, self.limit, self.sent = port, limit, 0
        self._guard = threading.Lock()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = [self._door]
        self._begin(self._admit)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        with self._guard:
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        for thread in list(self._threads):
            thread.join(timeout=10)

    def _begin(self, act: object, *args: object) -> None:
        thread = threading.Thread(target=act, args=args, daemon=True)  # pyright: ignore[reportArgumentType]
        self._threads.append(thread)
        thread.start()

    def _admit(self) -> None:
        while True:
            try:
                near, _ = self._door.accept()
                far = socket.create_connection(("127.0.0.1", self._behind))
            except OSError:
                return
            with self._guard:
                self._open += (near, far)
            self._begin(self._pass_up, near, far)
            self._begin(self._pass_down, near, far)

    def _pass_up(self, near: socket.socket, far: socket.socket) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := near.recv(_CHUNK):
                far.sendall(data)
                passed += len(data)
                with self._guard:
                    self.sent += len(data)
                if self.limit is not None and passed >= self.limit:
                    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    break
        _close(near, far)

    def _pass_down(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(_CHUNK):
                near.sendall(data)
        _close(near, far)


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
