"""`make torture-services`: fuzzed requests, slow clients, killed workers and an update, all at once, on one service.

    python scripts/torture_services.py [--bodies 10000] [--slow 100] [--kills 50] [--seed N]

A scikit-learn model is served without code by four replicas while steady clients send valid requests. Nothing but the
model's own answers may come back: 2xx and 4xx to fuzzed requests, 200 to steady ones, or a 503 that is declared with
Retry-After while workers are killed. The update in the middle fails no request, and the gateway's memory stays flat.
The exit code is 1 if a promise was broken. It uses the home of FOOTPLATE_HOME, or one of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression

from azureml.core import Model, Workspace
from azureml.core.webservice import AksWebservice, Webservice
from footplate import environ
from footplate.client.launcher import stop_server
from footplate.testing.waiting import wait_until

REPLICAS = 4
STEADY = 3
VALID = {"data": [[3.0, 3.0]], "method": "predict"}
GROWTH_MEGABYTES = 20.0
PATHS = ("score", "score", "score", "v1/models/points:predict", "v2/models/points/infer", "v2", "v1/models/points",
         "../../etc/passwd", "score/%00", "swagger.json", "v2/models/points/infer?x=" + "y" * 500)  # fmt: skip
WRONG = ("1e999", "NaN", "-0", "[]", "{}", "null", '"\\ud800"', "[[[[1]]]]", "1" * 400, '{"b64": "%"}', "[" * 20_000,
         '{"data": [[1, 2], [3]]}', '{"data": [["a", {}]]}', '{"inputs": [{"name": 1}]}', '{"instances": 5}',
         '{"data": [[1, 2]], "method": "__class__"}', '{"inputs": {"x": {"dims": [-1], "rawData": "AA"}}}',
         '{"inputs": [{"name": "data", "shape": [1, 2], "datatype": "FP64", "data": [1e400, "x"]}]}')  # fmt: skip
GARBAGE = (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"POST /x HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
           b"A" * 70_000, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")  # fmt: skip


class Torture:
    """One service, the clients that torment it, and what they saw."""

    def __init__(self, service: Webservice, home: Path, seed: int) -> None:
        self.service = service
        self.home = home
        self.seed = seed
        self.url = urlsplit(str(service.scoring_uri))
        self.base = self.url.path.rpartition("/")[0]
        self.problems: list[str] = []
        self.steady: Counter[int] = Counter()
        self.fuzzed: Counter[int] = Counter()
        self.slowly: Counter[str] = Counter()
        self._over = threading.Event()

    # ── Clients ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def send_steadily(self) -> None:
        """Send valid requests until the end; every answer is right, or a declared 503."""
        body = json.dumps(VALID).encode()
        connection = self._connection()
        while not self._over.is_set():
            status, headers, answer = _exchange(connection, "POST", self.url.path, body, {})
            self.steady[status] += 1
            if status == 200 and json.loads(answer) != {"predict": [1]}:
                self.problems.append(f"a steady client got {answer!r}")
            elif status != 200 and (status != 503 or "retry-after" not in headers):
                self.problems.append(f"a steady client got {status} {answer[:200]!r}")
            self._over.wait(0.005)

    def fuzz(self, count: int) -> None:
        chance = random.Random(self.seed)
        connection = self._connection()
        for number in range(count):
            if number % 50 == 49:
                self._send_garbage(chance.choice(GARBAGE))
                continue
            path, body, headers = fuzzed_request(chance)
            method = chance.choice(("POST", "POST", "POST", "POST", "GET", "PUT"))
            status, seen, answer = _exchange(connection, method, f"{self.base}/{path}", body, headers)
            self.fuzzed[status] += 1
            if status >= 500 and (status != 503 or "retry-after" not in seen):
                self.problems.append(f"{method} {path} {body[:100]!r} {headers}: {status} {answer[:200]!r}")

    def _send_garbage(self, data: bytes) -> None:
        """Send bytes that are not HTTP: the gateway says so or disconnects, and stays."""
        with socket.create_connection((str(self.url.hostname), int(self.url.port or 0)), timeout=60) as raw:
            with contextlib.suppress(ConnectionError):
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
                answer = raw.recv(4096)
                if answer and not answer.startswith(b"HTTP/1.1 4"):
                    self.problems.append(f"{data[:50]!r}: {answer[:200]!r}")

    def send_slowly(self, number: int) -> None:
        """Send a request byte by byte, again and again, until the end."""
        body = json.dumps(VALID).encode()
        head = f"POST {self.url.path} HTTP/1.1\r\nhost: slow\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        data = head + body if number % 2 else head[:40]
        while not self._over.is_set():
            try:
                with socket.create_connection((str(self.url.hostname), int(self.url.port or 0)), timeout=120) as raw:
                    self.slowly[self._drip(raw, data)] += 1
            except OSError as error:
                self.slowly[type(error).__name__] += 1

    def _drip(self, raw: socket.socket, data: bytes) -> str:
        for place in range(len(data)):
            if self._over.wait(0.1):
                return "not finished"
            raw.sendall(data[place : place + 1])
        raw.settimeout(30)
        return raw.recv(4096)[9:12].decode("ascii", "replace") or "closed"

    def kill(self, count: int) -> None:
        """Kill one worker after the other, each when at least two are up."""
        for _ in range(count):
            wait_until(lambda: self.healthy() >= 2)
            pids = worker_pids(self.home)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids[len(pids) // 2], signal.SIGKILL)
            self._over.wait(0.3)

    def update(self) -> None:
        """Roll over to a new version in the middle of it all."""
        self.service.update(tags={"again": "yes"}, cpu_cores=1)
        self.service.wait_for_deployment()

    # ── All of it ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, bodies: int, slow: int, kills: int) -> None:
        background = [threading.Thread(target=self.send_steadily) for _ in range(STEADY)]
        background += [threading.Thread(target=self.send_slowly, args=[number]) for number in range(slow)]
        for thread in background:
            thread.start()
        try:
            self.fuzz(bodies // 5)  # buffers and the log of recent requests fill
            before = self.memory()
            parts: list[Callable[[], None]] = [lambda: self.fuzz(bodies - bodies // 5), lambda: self.kill(kills)]
            self._at_once([*parts])
            failed = self.steady[503]
            self._at_once([self.update, lambda: self.fuzz(bodies // 10)])
            if self.steady[503] > failed:
                self.problems.append(f"{self.steady[503] - failed} requests failed during the update")
            after = self.memory()
        finally:
            self._over.set()
            for thread in background:
                thread.join()
        self._report(before, after)

    def _at_once(self, parts: list[Callable[[], None]]) -> None:
        def run(part: Callable[[], None]) -> None:
            try:
                part()
            except Exception as error:
                self.problems.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=run, args=[part]) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _report(self, before: float, after: float) -> None:
        if after - before > GROWTH_MEGABYTES:
            self.problems.append(f"the gateway grew from {before:.1f} to {after:.1f} MB")
        print(f"fuzzed: {dict(sorted(self.fuzzed.items()))}")
        print(f"steady: {dict(sorted(self.steady.items()))}")
        print(f"slow clients: {dict(sorted(self.slowly.items()))}")
        print(f"memory of the gateway: {before:.1f} MB, then {after:.1f} MB")
        for problem in self.problems[:20]:
            print(f"error: {problem}", file=sys.stderr)

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def healthy(self) -> int:
        return sum(version.healthy for version in self.service.versions)

    def memory(self) -> float:
        """Return the gateway's own memory in megabytes."""
        pid = json.loads((self.home / "serving" / "gateway.json").read_text())["pid"]
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("RssAnon"))

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(str(self.url.hostname), self.url.port, timeout=120)


def fuzzed_request(chance: random.Random) -> tuple[str, bytes, dict[str, str]]:
    """Return a path, a body and headers: valid ones that were damaged, or never were valid."""
    body = json.dumps(VALID).encode() if chance.random() < 0.4 else chance.choice(WRONG).encode()
    for _ in range(chance.choice((0, 0, 1, 3))):
        place, cut = chance.randrange(len(body) + 1), chance.choice((0, 1, 5))
        added = bytes(chance.randrange(256) for _ in range(chance.choice((0, 1, 4))))
        body = body[:place] + added + body[place + cut :]
    headers = {"content-type": chance.choice(("application/json", "application/octet-stream", "text/\xe4"))}
    if chance.random() < 0.1:
        headers["inference-header-content-length"] = chance.choice(("5", "-1", "x", "99999999"))
    return chance.choice(PATHS), body, headers


def _exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, dict[str, str], bytes]:
    """Send a request; on an idle connection that the gateway has closed meanwhile, send it again."""
    for attempt in (1, 2):
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        except (http.client.RemoteDisconnected, ConnectionError):
            connection.close()
            if attempt == 2:
                raise
    raise AssertionError


def worker_pids(home: Path) -> list[int]:
    """Return the workers of all services of a home."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"footplate.serving.worker" in words and any(word.startswith(os.fsencode(home)) for word in words):
                found.append(int(path.parent.name))
    return sorted(found)


@contextlib.contextmanager
def deployed(workspace: Workspace, folder: Path) -> Iterator[Webservice]:
    x, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0]]), np.array([0, 1, 0, 1])
    joblib.dump(LogisticRegression().fit(x, y), folder / "points.pkl")
    model = Model.register(workspace, str(folder / "points.pkl"), "points", model_framework="ScikitLearn")
    options = AksWebservice.deploy_configuration(num_replicas=REPLICAS, auth_enabled=False)
    service = Model.deploy(workspace, "tortured", [model], deployment_config=options)
    try:
        service.wait_for_deployment()
        yield service
    finally:
        service.delete()


def main() -> int:
    parser = argparse.ArgumentParser(description="Torment one web service.")
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=100)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fp-") as name:
        own = environ.HOME not in os.environ
        home = Path(os.environ.setdefault(environ.HOME, f"{name}/home"))
        try:
            with deployed(Workspace.create("torture", exist_ok=True), Path(name)) as service:
                torture = Torture(service, home, given.seed)
                torture.run(given.bodies, given.slow, given.kills)
        finally:
            if own:
                stop_server(str(home))
    print(f"{given.kills} workers were killed; {time.monotonic() - began:.0f} s; {len(torture.problems)} problems")
    return 1 if torture.problems else 0


if __name__ == "__main__":
    sys.exit(main())
