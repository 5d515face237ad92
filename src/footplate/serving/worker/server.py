"""The worker's loop: batches come in over a Unix socket, responses go out in the same order.

The socket appears under its final name only when the model is loaded, so that a socket which accepts is a model that
answers. Each connection has a thread; a scorer that is not safe for threads is called by one at a time.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import threading
from typing import Any, BinaryIO, cast

from footplate.serving.protocol import BadFrame, pack, read_frame, split
from footplate.serving.worker.messages import Scorer, ScoreRequest, ScoreResponse, error_response

BACKLOG = 64
_LONGEST_PATH = 100  # of a Unix socket, in bytes


class WorkerServer:
    """Serves one scorer at one socket until it is told to stop."""

    def __init__(self, path: str, scorer: Scorer, hello: dict[str, Any]) -> None:
        self._path = path
        self._scorer = scorer
        self._hello = {
            "hello": 1,
            "framework": scorer.framework,
            "batches": scorer.batches,
            "protocols": list(scorer.protocols),
            **scorer.describe(),
            **hello,
        }
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)

    def serve(self) -> None:
        """Accept connections until SIGTERM, then finish the batch in hand."""
        signal.signal(signal.SIGTERM, self._on_signal)
        aside = f"{self._path}.{os.getpid()}"
        _bind(self._listener, aside)
        self._listener.listen(BACKLOG)
        os.replace(aside, self._path)
        try:
            while not self._stopping.is_set():
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    break
                threading.Thread(target=self._talk, args=[connection], daemon=True).start()
        finally:
            with self._turn:  # a batch in hand is answered first
                pass

    def _on_signal(self, number: int, frame: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take no more connections."""
        self._stopping.set()
        self._listener.close()

    def _talk(self, connection: socket.socket) -> None:
        stream = connection.makefile("rwb")
        try:
            self._send(stream, self._hello)
            while True:
                frame = read_frame(cast("BinaryIO", stream))
                if frame is None:
                    return
                self._handle(stream, *frame)
        except (BadFrame, OSError, ValueError):
            return  # the gateway opens another connection
        finally:
            connection.close()

    def _handle(self, stream: Any, meta: dict[str, Any], payload: memoryview) -> None:
        if "batch" in meta:
            with self._turn:  # until it is sent: a worker that is told to stop waits for the turn, then exits
                responses = self._answer(meta["items"], payload)
                items = [{"s": r.status, "t": r.content_type, "h": r.headers, "n": len(r.body)} for r in responses]
                self._send(stream, {"batch": meta["batch"], "items": items}, [r.body for r in responses])
        elif "ping" in meta:
            self._send(stream, {"pong": 1, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
        elif "drain" in meta:
            os.kill(os.getpid(), signal.SIGTERM)

    def _answer(self, items: list[dict[str, Any]], payload: memoryview) -> list[ScoreResponse]:
        requests = [
            ScoreRequest(
                bytes(body),
                item.get("p", "score"),
                item.get("m", "POST"),
                item.get("q", ""),
                item.get("h") or {},
                bool(item.get("c")),
            )
            for item, body in zip(items, split(payload, items))
        ]
        try:
            responses = self._scorer.answer(requests)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            responses = [error_response(words, 500) for _ in requests]
        return responses

    @staticmethod
    def _send(stream: Any, meta: dict[str, Any], parts: Any = ()) -> None:
        for piece in pack(meta, parts):
            stream.write(piece)
        stream.flush()


def _bind(listener: socket.socket, path: str) -> None:
    """Bind to a path of any length: the kernel takes at most 107 bytes, but resolves a short name of the folder."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        listener.bind(path)
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)
