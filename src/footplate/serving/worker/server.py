"""The worker's loop: batches come in over a connection, responses go out in the same order.

On the server's machine the gateway connects to a Unix socket. It appears under its final name only when the model is
loaded, so that a socket which accepts is a model that answers. On another machine the worker opens the connection
itself when the model is loaded. Each connection has a thread; a scorer that is not safe for threads is called by one at
a time.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
from typing import Any, BinaryIO, Callable, cast

from footplate.backoff import Backoff
from footplate.disk import socket_address
from footplate.errors import FootplateError
from footplate.serving.protocol import SILENT_SECONDS, BadFrame, detect_loss, pack, read_frame, split
from footplate.serving.worker.data_collector import SERVICE
from footplate.serving.worker.messages import Scorer, ScoreRequest, ScoreResponse, error_response

BACKLOG = 64
_BUFFER_BYTES = 256 * 1024  # more than a Unix socket holds, so that most batches are read at once
RETRY_SECONDS = (0.1, 3.0)
"""The first and the longest pause before a worker opens a connection to the gateway again."""


class WorkerServer:
    """Serves one scorer until it is told to stop."""

    def __init__(self, scorer: Scorer, hello: dict[str, Any]) -> None:
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

    def serve(self, path: str) -> None:
        """Accept connections at a socket until SIGTERM, then finish the batch in hand."""
        listener = socket.socket(socket.AF_UNIX)
        aside = f"{path}.{os.getpid()}"
        with socket_address(aside) as address:
            listener.bind(address)
        listener.listen(BACKLOG)
        os.replace(aside, path)
        self._work_until_stopped(lambda: self._accept(listener))

    def serve_through(self, connect: Callable[[], socket.socket]) -> None:
        """Open a connection to the gateway, again whenever it is lost, until SIGTERM; then finish the batch in hand."""
        self._work_until_stopped(lambda: self._keep_connected(connect))

    def _work_until_stopped(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            finally:  # it ends only by an error
                self._stopping.set()

        signal.signal(signal.SIGTERM, self._on_signal)
        threading.Thread(target=run, daemon=True).start()
        self._stopping.wait()
        with self._turn:  # a batch in hand is answered first
            pass

    def _on_signal(self, number: int, frame: object) -> None:
        self._stopping.set()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._talk, args=[connection], daemon=True).start()

    def _keep_connected(self, connect: Callable[[], socket.socket]) -> None:
        backoff = Backoff(*RETRY_SECONDS, jitter=0.5)
        reported = ""
        while True:
            try:
                connection = connect()
                connection.settimeout(SILENT_SECONDS)
                detect_loss(connection)
            except (FootplateError, OSError) as error:
                if str(error) != reported:
                    reported = str(error)
                    sys.stderr.write(f"this worker has no connection to the gateway, and tries again: {error}\n")
            else:
                reported = ""
                backoff.reset()
                self._talk(connection)
            backoff.wait()

    def _talk(self, connection: socket.socket) -> None:
        stream = connection.makefile("rwb", buffering=_BUFFER_BYTES)
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
                items = [_described(response) for response in responses]
                collected = [(each, each.rows.encode()) for each in SERVICE.take_outbox()]
                rows = [{"path": each.path, "header": each.header, "n": len(text)} for each, text in collected]
                answer = {"batch": meta["batch"], "items": items, **({"kept": rows} if rows else {})}
                self._send(stream, answer, [*(r.body for r in responses), *(text for _, text in collected)])
        elif "ping" in meta:
            self._send(stream, {"pong": 1, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})

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
            return self._scorer.answer(requests)
        except Exception as error:
            return [error_response(f"{type(error).__name__}: {error}", 500) for _ in requests]

    @staticmethod
    def _send(stream: Any, meta: dict[str, Any], parts: Any = ()) -> None:
        for piece in pack(meta, parts):
            stream.write(piece)
        stream.flush()


def _described(response: ScoreResponse) -> dict[str, Any]:
    """Return the item of a frame for a response."""
    item: dict[str, Any] = {"s": response.status, "t": response.content_type, "n": len(response.body)}
    return {**item, "h": dict(response.headers)} if response.headers else item
