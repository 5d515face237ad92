"""A fake server that speaks the agents' part of the API and records the requests."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from footplate.api import PREFIX
from footplate.content.blobs import BlobFolder
from footplate.domain.codec import to_json
from footplate.domain.launch import plan
from footplate.domain.orders import Lock, NodeOrders, NodePlace, Program
from footplate.domain.specs import Distribution, RunSpec
from footplate.engines.local import agent_argv
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder

RUN = "fake_1"


class FakeServer:
    """Appends to files by offset as the real server does, and can be made unavailable for a while."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.orders: dict[str, Any] = {}
        self.stop = False
        self.away = False
        self.over = False
        self.events: list[dict[str, Any]] = []
        self.refuses_shipments = False
        self.joins: list[dict[str, Any]] = []
        self.held: list[int] | None = None
        self.beats = self.asked = 0
        self.logs: dict[str, bytes] = {}
        self.journals: dict[str, bytes] = {}
        self.system: set[str] = set()
        self.files: dict[str, dict[str, Any]] = {}
        self.checkpoints: dict[str, dict[str, Any]] = {}
        self.store = BlobFolder(str(home / "blobs"))
        self.changed = threading.Condition()
        self.socket = home / "fake.sock"
        self._server = _Unix(str(self.socket), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self, condition: Callable[[], Any], seconds: float = 20.0) -> Any:
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise AssertionError(f"did not happen in {seconds} s; events {self.events}, logs {self.logs}")
            return condition()

    def names(self) -> list[str]:
        return [event["event"] for event in self.events]

    def cause(self) -> dict[str, Any] | None:
        return next(event["cause"] for event in self.events if event["event"] == "exited")

    def grow(self, table: dict[str, bytes], name: str, offset: int, data: bytes) -> dict[str, Any] | None:
        have = table.get(name, b"")
        if offset > len(have):
            return {"code": "conflict", "message": "a gap", "hint": None, "details": {"size": len(have)}}
        table[name] = have + data[max(0, len(have) - offset) :]
        return None


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901  # a fake of the whole API
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None: ...

        def do_POST(self) -> None:
            self.serve()

        do_PUT = do_GET = do_POST

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            parts = urlsplit(self.path)
            path = unquote(parts.path.removeprefix(f"{PREFIX}/"), errors="surrogateescape").split("/")
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            with fake.changed:
                error = {"code": "unavailable", "message": "away", "hint": None, "details": {}} if fake.away else None
                answer = None if error else self.answer(path, query, body)
                fake.changed.notify_all()
            if isinstance(answer, dict) and "code" in answer:
                error, answer = answer, None
            text = answer if isinstance(answer, bytes) else json.dumps({"error": error} if error else answer).encode()
            self.send_response((503 if fake.away else 409) if error else 200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def answer(self, path: list[str], query: dict[str, str], body: bytes) -> Any:  # noqa: C901  # one case per route
            offset = int(query.get("offset", 0))
            match path:
                case ["runs", _, "nodes", *_] if fake.over:
                    return {"code": "bad_transition", "message": "the run has ended", "hint": None, "details": {}}
                case ["runs", _, "nodes", _, "join"]:
                    fake.joins.append(json.loads(body))
                    shipped = {
                        "logs": {name: len(data) for name, data in fake.logs.items()},
                        "journals": {name: len(data) for name, data in fake.journals.items()},
                    }
                    return {**fake.orders, "stop": fake.stop, "shipped": shipped}
                case ["runs", _, "nodes", _, "prepared"]:
                    fake.asked += fake.held is not None
                    fake.held = json.loads(body)["ports"]
                    return {**fake.orders, "stop": fake.stop}
                case ["runs", _, "nodes", _, "orders"]:
                    return {**fake.orders, "stop": fake.stop}
                case ["runs", _, "nodes", _, "events"]:
                    fake.events.append(json.loads(body))
                    return {"stop": fake.stop}
                case ["runs", _, "nodes", _, "shipments"] if fake.refuses_shipments:
                    return {"code": "invalid_input", "message": "too much at once", "hint": None, "details": {}}
                case ["runs", run, "nodes", _, "shipments"]:
                    return self.take(run, json.loads(body)["shipment"])
                case ["runs", _, "nodes", _, "heartbeat"]:
                    fake.beats += 1
                    return {"stop": fake.stop}
                case ["runs", _, "logs", *name]:
                    if query.get("replace") == "true":
                        fake.logs["/".join(name)] = b""
                    return fake.grow(fake.logs, "/".join(name), offset, body) or {
                        "size": len(fake.logs["/".join(name)])
                    }
                case ["runs", run, "journals", writer, part]:
                    name = f"{run}/{writer}.{part}"
                    if query.get("system") == "true":
                        fake.system.add(name)
                    return fake.grow(fake.journals, name, offset, body) or {"size": len(fake.journals[name])}
                case ["blobs", "missing"]:
                    return {"missing": [d for d in json.loads(body)["digests"] if not fake.store.has(d)]}
                case ["blobs", digest] if self.command == "PUT":
                    return fake.store.put_stream(digest, [body])
                case ["blobs", digest]:
                    with fake.store.open(digest) as blob:
                        return blob.read()
                case ["runs", _, "nodes", _, "checkpoints"]:
                    fake.checkpoints = {file["path"]: file for file in json.loads(body)["files"]}
                    return {"skipped": []}
                case ["runs", _, "files"]:
                    files = json.loads(body)["files"]
                    skipped = [file["path"] for file in files if file["path"] in fake.files]
                    fake.files.update({file["path"]: file for file in files if file["path"] not in fake.files})
                    return {"stored": [], "skipped": skipped}
                case _:
                    return {"code": "not_found", "message": f"no such path {path}", "hint": None, "details": {}}

        def take(self, run: str, shipment: dict[str, Any]) -> dict[str, Any]:
            fake.events += shipment["reports"]
            for stored, piece in enumerate(shipment["pieces"]):
                kind = "logs" if piece["stream"] == "log" else "journals"
                path = ["runs", run, kind, piece["path"], *([piece["stream"]] if kind == "journals" else [])]
                query = {key: str(piece[key]).lower() for key in ("offset", "replace", "system")}
                if "code" in self.answer(path, query, base64.b64decode(piece["data"])):
                    return {"stop": fake.stop, "stored": stored}
            if shipment["is_last"]:
                fake.events.append({"event": "done"})
            return {"stop": fake.stop, "stored": len(shipment["pieces"])}

    return Handler


WITH_ORDERS = """
import json, sys
from footplate.node import agent
sys.exit(agent.work_on(sys.argv[2:], json.loads(sys.argv[1]))[0])
"""
"""An agent that gets its orders with its start, as from the nursery."""


class Node:
    """One agent under test, with its fake server and its home."""

    def __init__(self, home: Path, source: Path) -> None:
        self.home, self.source = home, source
        self.server = FakeServer(home)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.folder = home / "work" / RUN / "node_0"

    def give(self, program: Program, ranks: int = 1, **more: Any) -> None:
        """Write the orders for this program, over the files in `source`."""
        kind = Distribution("torch", 1, ranks) if ranks > 1 else Distribution()
        plans = plan(RunSpec("e", program=program, distribution=kind), [NodePlace("127.0.0.1", (6105, 6106))])
        lock = more.pop("lock", Lock("d" * 64, "existing", {"interpreter": sys.executable}))
        snapshot = self.snapshot()
        orders = NodeOrders(
            run=RUN, node=0, attempt=1, ready=True, stop=False, program=program, lock=lock, snapshot=snapshot,
            variables=more.pop("variables", {}), ranks=plans, collect=("outputs",), watch=("logs",), **more,
        )  # fmt: skip
        self.server.orders = to_json(orders)

    def snapshot(self) -> str:
        """Store the files of `source` as a manifest, in the documented format."""
        blobs, entries = self.server.store, list[list[Any]]()
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            digest, size = blobs.put_file(str(path))
            mode = 0o755 if path.stat().st_mode & 0o111 else 0o644
            entries.append([str(path.relative_to(self.source)), "f", mode, size, digest])
        manifest = json.dumps({"entries": entries, "format": 1}, sort_keys=True, separators=(",", ":"))
        return blobs.put_bytes(manifest.encode())

    def script(self, text: str, *arguments: str, **more: Any) -> None:
        (self.source / "train.py").write_text(text)
        self.give(Program(script="train.py", arguments=arguments), **more)

    def start(
        self, options: Sequence[str] = (), shared: bool = True, has_orders: bool = False, **variables: str
    ) -> subprocess.Popen[bytes]:
        """Start an agent; without `shared` one on another machine, which cannot see the server's home."""
        argv = [sys.executable, "-c", WITH_ORDERS, json.dumps(self.server.orders)] if has_orders else agent_argv()
        argv += ["--run", RUN, "--node", "0", "--endpoint", self.server.endpoint, *options]
        argv += ["--home", str(self.home)] if shared else []
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "agent.log", "ab") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, **variables})
        self.processes.append(process)
        return process

    def run(self, **variables: Any) -> dict[str, Any] | None:
        """Start an agent, wait until it has finished, and return the cause that it reported."""
        agent = self.start(**variables)
        assert agent.wait(60) == 0, self.log()
        assert self.server.names()[-1] == "done"
        return self.server.cause()

    def members(self) -> list[int]:
        return process_tree.members(NodeFolder(str(self.home), RUN, 0).marker())

    def log(self) -> str:
        path = self.folder / "agent.log"
        return path.read_text() if path.exists() else self.server.logs.get("system_logs/node_0.txt", b"").decode()

    def content(self, path: str) -> bytes:
        digest = self.server.files[path]["digest"]
        data = (self.home / "blobs" / digest[:2] / digest).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        return data

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                process.wait(120)
        self.server.close()


@pytest.fixture
def node(home: Path) -> Iterator[Node]:
    source = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))
    under_test = Node(home, source)
    yield under_test
    under_test.close()
    shutil.rmtree(source)
