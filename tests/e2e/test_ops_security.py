"""Hostile requests: paths that climb, endless bodies, nonsense, and files of other runs."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from footplate import Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, resident, submit

DIGEST = hashlib.sha256(b"hi").hexdigest()


@dataclass
class Answer:
    status: int
    body: bytes

    def error(self) -> dict[str, Any]:
        return json.loads(self.body)["error"]


class RawServer:
    """A server on TCP, addressed in raw bytes without our client."""

    def __init__(self, home: Path) -> None:
        self.home = home
        options = ["--home", str(home), "--host", "127.0.0.1", "--port", "0"]
        self.process = subprocess.Popen([sys.executable, "-m", "footplate.server", *options])
        wait_until((home / "server.json").exists, 60)
        self._port = int(json.loads((home / "server.json").read_text())["url"].rpartition(":")[2])
        self._token = (home / "token").read_text().strip()
        names = {"name": "testing", "subscription_id": "s", "resource_group": "g"}
        self.workspace = json.loads(self.json("POST", "/workspaces", names).body)["id"]
        assert self.new_run("r1").status == 200

    def dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=60)

    def head(self, method: str, path: str, length: int, *more: str) -> bytes:
        lines = [f"{method} /api/v1{path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self._token}"]
        return "\r\n".join([*lines, f"Content-Length: {length}", *more, "", ""]).encode()

    def send(self, method: str, path: str, body: bytes = b"", *more: str) -> Answer:
        return self.raw(self.head(method, path, len(body), "Connection: close", *more) + body)

    def json(self, method: str, path: str, value: Any) -> Answer:
        return self.send(method, path, json.dumps(value).encode(), "Content-Type: application/json")

    def new_run(self, run: str) -> Answer:
        spec = {"experiment": "e", "kind": "interactive"}
        return self.json("POST", f"/workspaces/{self.workspace}/runs", {"id": run, "spec": spec})

    def raw(self, data: bytes) -> Answer:
        with self.dial() as door:
            door.sendall(data)
            received = b"".join(iter(lambda: door.recv(1 << 16), b""))
        head, _, body = received.partition(b"\r\n\r\n")
        return Answer(int(head.split()[1]), body)


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        server = RawServer(Path(folder) / "h")
        yield server
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=60)
        log = (server.home / "logs" / "server.log").read_text()
        assert "Traceback" not in log, log
        outside = {entry.name for entry in Path(folder).iterdir()}
        assert outside == {"h"}, "something was written outside the home"


CLIMBING = [
    "/runs/..%2f..%2fetc/logs/passwd",
    "/runs/%2e%2e/logs/x",
    "/runs/r1/logs/..%2f..%2f..%2fx",
    "/runs/r1/logs/../../x",
    "/runs/r1/logs//etc/passwd",
    "/runs/r1/logs/%00",
    "/runs/r1/logs/",
    "/runs/r1/logs/" + "a/" * 2000 + "b",
    "/runs/r1/journals/..%2f..%2fx/slots",
    "/runs/r1/journals/../slots",
    "/runs/r1/journals/w/..",
    "/blobs/..%2f..%2fx",
    "/blobs/..",
    "/blobs/" + "A" * 64,
]


@pytest.mark.parametrize("path", CLIMBING)
def test_no_path_leads_out_of_a_run(server: RawServer, path: str) -> None:
    for method in ("PUT", "GET"):
        answer = server.send(method, path, b"data" if method == "PUT" else b"")
        assert answer.status in (400, 404, 405), answer
        assert answer.error()["hint"]


@pytest.mark.parametrize("run", ["../x", "a/b", "..", "a\0b", "x" * 300, "a..b", " ", "r1\n", ""])
def test_run_ids_are_names_and_not_paths(server: RawServer, run: str) -> None:
    assert server.new_run(run).status == 400


@pytest.mark.parametrize("path", ["..%2f..%2f..%2ftoken", "..%2f..%2fjournals%2fw.slots", "%ff%fe", "a%0d%0ab"])
def test_files_of_other_runs_are_not_served(server: RawServer, path: str) -> None:
    assert server.send("GET", f"/runs/r1/files/{path}").status in (400, 404)
    assert server.send("GET", f"/runs/r1/follow?log={path}&offset=0").status in (200, 400)


def test_missing_blob_is_an_error_and_not_half_a_response(server: RawServer) -> None:
    answer = server.send("GET", f"/blobs/{'b' * 64}")
    assert (answer.status, answer.error()["code"]) == (404, "not_found")


@pytest.mark.parametrize("size", [3, 0, -5, 10**30])
def test_size_of_a_file_is_that_of_its_content(server: RawServer, size: int) -> None:
    assert server.send("PUT", f"/blobs/{DIGEST}", b"hi").status == 204
    file = {"path": "lie", "digest": DIGEST, "size": size}
    assert server.json("POST", "/runs/r1/files", {"files": [file]}).status == 400
    model = {"key": uuid.uuid4().hex, "name": "m", "root": "lie", "files": [file]}
    assert server.json("POST", f"/workspaces/{server.workspace}/models", model).status == 400


@pytest.mark.parametrize(
    ("root", "path"), [("..", "../x"), ("m", "m/../../x"), ("/", "/etc/passwd"), ("m", "m\0/x"), ("a/b", "a/b/c")]
)
def test_models_stay_inside_their_root(server: RawServer, root: str, path: str) -> None:
    assert server.send("PUT", f"/blobs/{DIGEST}", b"hi").status == 204
    files = [{"path": path, "digest": DIGEST, "size": 2}]
    model = {"key": uuid.uuid4().hex, "name": "m", "root": root, "files": files}
    assert server.json("POST", f"/workspaces/{server.workspace}/models", model).status == 400


@pytest.mark.parametrize(
    "query",
    [
        "/runs/r1/logs/x?offset=-1",
        "/runs/r1/logs/x?offset=99999999999999999999999999",
        "/runs/r1/journals/w/slots?offset=99999999999999999999999",
    ],
)
def test_impossible_offsets_are_rejected(server: RawServer, query: str) -> None:
    assert server.send("PUT", query, b"data").status in (400, 409)


def test_page_sizes_and_times_out_of_bounds_are_rejected(server: RawServer) -> None:
    files = f"/workspaces/{server.workspace}/dataset-ids/x/files"
    for path in (f"{files}?limit=0", f"{files}?limit=10001", "/runs/r1?version=0&wait=nan"):
        answer = server.send("GET", path)
        assert answer.status == 400 and answer.error()["hint"], (path, answer)


@pytest.mark.parametrize("version", ["%C2%B2", "99999999999999999999999", "-1", "1.5"])
def test_impossible_model_versions_are_rejected(server: RawServer, version: str) -> None:
    assert server.send("GET", f"/workspaces/{server.workspace}/models/m/{version}").status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"{not json", b"\xff\xfe", b"[" * 100_000, b'{"id":' * 5000 + b"1" + b"}" * 5000, b"", b"null", b"[]",
        b'{"id":"q","spec":{"experiment":"e","kind":"interactive","priority":' + b"9" * 5000 + b"}}",
        b'{"id":"q","spec":{"experiment":"e","kind":"interactive","max_seconds":NaN}}',
        b'{"id":"q","spec":{"experiment":"e","kind":"interactive","display_name":"a\\ud800"}}',
        b'{"id":"q","spec":{"experiment":"e","kind":"interactive","tags":{"a":"\\u0000"}}}',
        b'{"id":"q","spec":{"experiment":"e","kind":"interactive"},"more":1}',
    ],
)  # fmt: skip
def test_nonsense_is_rejected_with_an_error(server: RawServer, body: bytes) -> None:
    answer = server.send("POST", f"/workspaces/{server.workspace}/runs", body, "Content-Type: application/json")
    assert answer.status == 400 and answer.error()["hint"], answer


def test_bytes_that_are_not_http_are_rejected(server: RawServer) -> None:
    for data in (b"\0\1\2\3\r\n\r\n", server.head("PUT", "/runs/r1/logs/x", 5, "Content-Length: 6") + b"abcde"):
        assert server.raw(data).status == 400
    doubled = server.head("PUT", "/runs/r1/logs/x", 5, "Transfer-Encoding: chunked", "Connection: close")
    assert server.raw(doubled + b"0\r\n\r\n").status == 400
    assert server.raw(b"GET /api/v1/server HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status == 403


@pytest.mark.parametrize("chunked", [False, True])
def test_endless_body_costs_no_memory(server: RawServer, chunked: bool) -> None:
    before, piece = resident(server.process.pid), bytes(1 << 20)
    with server.dial() as door:
        if chunked:
            head = server.head("PUT", "/runs/r1/logs/big", 0).replace(
                b"Content-Length: 0", b"Transfer-Encoding: chunked"
            )
        else:
            head = server.head("PUT", "/runs/r1/logs/big", 400 << 20)
        door.sendall(head)
        try:
            for _ in range(400):
                door.sendall(b"100000\r\n" + piece + b"\r\n" if chunked else piece)
        except OSError:
            pass  # closing the connection is an acceptable response
    assert resident(server.process.pid, "VmHWM") - before < 200 << 20
    assert not (server.home / "runs" / "r1" / "logs" / "big").exists()


def test_stalled_senders_do_not_block_others(server: RawServer) -> None:
    stalled = [server.dial() for _ in range(20)]
    try:
        for number, door in enumerate(stalled):
            door.sendall(server.head("PUT", f"/blobs/{number:064x}", 1000) + b"only the beginning")
        assert server.send("PUT", "/runs/r1/logs/other", b"goes on").status == 200
        assert server.send("GET", "/runs/r1?version=0&wait=1").status == 200
    finally:
        for door in stalled:
            door.close()


def test_log_may_contain_binary_bytes(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    said = b"\x1b[31mred\x1b[0m\x00\xff\xfe\r\n\xf0\x9f\x98 \x1b]0;title\x07 end\n"
    run = finish(submit(workspace, project, f"import sys\nsys.stdout.buffer.write({said!r})\nsys.exit(3)"))
    assert bytes_of(run, "user_logs/std_log.txt", tmp_path) == said
    assert run.get_status() == "Failed"
    assert "end" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    assert json.dumps(run.get_details())


SECRETS = """
    import os
    os.symlink("/etc/passwd", "outputs/link.txt")
    os.symlink("/etc", "outputs/folder")
    os.symlink("../own.txt", "outputs/inside.txt")
    os.symlink("/etc/hostname", "logs/link.txt")
    os.mkfifo("outputs/pipe")
    open("own.txt", "w").write("mine")
"""


def test_links_out_of_the_working_directory_are_not_followed(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    run = finish(submit(workspace, project, SECRETS))
    assert run.get_status() == "Completed"
    kept = [name for name in run.get_file_names() if name.startswith(("outputs/", "logs/"))]
    assert kept == ["outputs/inside.txt"]
    assert bytes_of(run, "outputs/inside.txt", tmp_path) == b"mine"
    said = bytes_of(run, "system_logs/node_0.txt", tmp_path).decode()
    assert "outputs/link.txt is not kept: it is a link that leaves the working directory" in said


def test_outputs_must_not_be_a_link_out(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("private")
    swap = "import os\n" + "".join(
        f"os.rmdir({n!r}); os.symlink({str(secret)!r}, {n!r})\n" for n in ("outputs", "logs")
    )
    run = finish(submit(workspace, project, swap))
    assert run.get_status() == "Completed"
    assert not [name for name in run.get_file_names() if "key.txt" in name]
    assert os.listdir(secret) == ["key.txt"], "and what lies there is left alone"
