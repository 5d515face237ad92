from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from footplate.client.http import unix_endpoint
from footplate.client.transport import STRANGER_PATIENCE, Transport
from footplate.errors import Broken, Conflict, FootplateError, InvalidInput, NotAllowed, Unavailable


def test_json_is_sent_and_received(scripted, ok):
    server = scripted(lambda r: ok(json.dumps({"you sent": json.loads(r.body)}).encode()))
    answer = Transport(server.endpoint).request("POST", "/things", json={"name": "ä", "n": [1, 2.5, None]}).json()
    assert answer == {"you sent": {"name": "ä", "n": [1, 2.5, None]}}
    sent = server.requests[0]
    assert (sent.method, sent.target, sent.headers["content-type"]) == ("POST", "/api/v1/things", "application/json")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/runs/r/files/a b.txt", "/api/v1/runs/r/files/a%20b.txt"),
        ("/runs/r/files/100%?#[x].txt", "/api/v1/runs/r/files/100%25%3F%23%5Bx%5D.txt"),
        ("/runs/r/files/é\n.txt", "/api/v1/runs/r/files/%C3%A9%0A.txt"),
        ("/runs/r/files/" + os.fsdecode(b"\xff.txt"), "/api/v1/runs/r/files/%FF.txt"),
    ],
)
def test_odd_names_are_quoted(scripted, ok, path, target):
    server = scripted(lambda r: ok(b"{}"))
    Transport(server.endpoint).request("GET", path).json()
    assert server.requests[0].target == target


def test_query_repeats_lists_and_leaves_out_none(scripted, ok):
    server = scripted(lambda r: ok(b"{}"))
    Transport(server.endpoint).request(
        "GET", "/x", query={"tag": ["a=b", "c&d"], "none": None, "yes": True, "n": 2, "f": 0.5}
    ).json()
    assert server.requests[0].target == "/api/v1/x?tag=a%3Db&tag=c%26d&yes=true&n=2&f=0.5"


def test_one_connection_serves_many_requests(scripted, ok):
    server = scripted(lambda r: ok(b"1"))
    transport = Transport(server.endpoint)
    assert [transport.request("GET", "/a").json() for _ in range(5)] == [1] * 5
    assert server.connections == 1


def test_each_thread_has_its_own_connection(scripted, ok):
    server = scripted(lambda r: ok(json.dumps(r.target).encode()))
    transport = Transport(server.endpoint)
    answers: dict[int, list[str]] = {}

    def ask(n: int) -> None:
        answers[n] = [transport.request("GET", f"/{n}/{i}").json() for i in range(20)]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: [f"/api/v1/{n}/{i}" for i in range(20)] for n in range(8)}
    assert server.connections == 8


def test_a_forked_child_opens_its_own_connection(scripted, ok):
    server = scripted(lambda r: ok(str(r.connection).encode()))
    transport = Transport(server.endpoint)
    assert transport.request("GET", "/parent").json() == 0
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(transport.request("GET", "/child").json()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"1"
    assert transport.request("GET", "/parent again").json() == 0
    os.close(reader)
    os.close(writer)


def test_the_servers_error_is_raised(scripted, ok):
    wire = Conflict("run 'a' exists", "choose another id", size=7).to_wire()
    server = scripted(lambda r: ok(json.dumps({"error": wire}).encode(), 409))
    with pytest.raises(Conflict, match="run 'a' exists") as caught:
        Transport(server.endpoint).request("POST", "/runs").json()
    assert (caught.value.hint, caught.value.details) == ("choose another id", {"size": 7})


@pytest.mark.parametrize(("status", "kind"), [(502, Unavailable), (404, Broken)])
def test_a_response_of_another_program_is_reported(scripted, ok, status, kind):
    server = scripted(lambda r: ok(b"<html>nginx</html>", status))
    with pytest.raises(kind, match=f"answered {status}.*nginx"):
        Transport(server.endpoint, patience=0).request("GET", "/x").json()


def test_a_connection_closed_while_idle_goes_unnoticed(scripted, ok):
    server = scripted(lambda r: ok(b"1", 200, *(["Connection: close"] if r.target.endswith("last") else [])))
    transport = Transport(server.endpoint, patience=0)
    assert [transport.request("GET", p).json() for p in ("/a", "/last", "/b")] == [1, 1, 1]
    assert server.connections == 2


def test_a_request_without_a_response_is_sent_again(scripted, ok):
    server = scripted(lambda r: ok(b'"done"') if len(server.requests) > 2 else None)
    assert Transport(server.endpoint).request("PUT", "/blobs/x", body=b"all of it").json() == "done"
    assert [r.body for r in server.requests] == [b"all of it"] * 3


def test_a_stopping_server_is_retried(scripted, ok):
    wire = Unavailable("the server is stopping", stopping=True).to_wire()
    server = scripted(lambda r: ok(b"1") if len(server.requests) > 1 else ok(json.dumps({"error": wire}).encode(), 503))
    assert Transport(server.endpoint).request("GET", "/x").json() == 1


def test_a_server_in_trouble_is_retried_until_patience_ends(scripted, ok):
    wire = Unavailable("the database restarts").to_wire()
    trouble = ok(json.dumps({"error": wire}).encode(), 503)
    server = scripted(lambda r: ok(b"1") if len(server.requests) > 2 else trouble)
    assert Transport(server.endpoint).request("PUT", "/x", body=b"all of it").json() == 1
    assert [r.body for r in server.requests] == [b"all of it"] * 3
    lasting = scripted(lambda r: trouble)
    with pytest.raises(Unavailable, match="the database restarts"):
        Transport(lasting.endpoint, patience=0).request("GET", "/x").json()
    assert len(lasting.requests) == 1


def test_starter_restarts_the_server(scripted, ok, tmp_path):
    server = scripted(lambda r: ok(b"1"))
    calls: list[int] = []

    def starter() -> str:
        calls.append(1)
        return server.endpoint

    transport = Transport(unix_endpoint(str(tmp_path / "gone.sock")), starter=starter)
    assert transport.request("GET", "/x").json() == 1
    assert transport.endpoint == server.endpoint
    assert len(calls) == 1


@contextlib.contextmanager
def answering(port: int) -> Iterator[int]:
    """Serve on TCP, on a free port or this one."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b"1")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_an_address_that_never_answered_is_given_up_early():
    with answering(0) as port:
        known = Transport(f"http://127.0.0.1:{port}")
        assert known.request("GET", "/x").json() == 1
        known.close()
    begin = time.monotonic()
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port} does not answer: Connection refused") as caught:
        Transport(f"http://127.0.0.1:{port}").request("GET", "/x").json()
    assert STRANGER_PATIENCE <= time.monotonic() - begin < 60
    assert "check the address" in (caught.value.hint or "")
    answers: list[int] = []
    told = Transport(f"http://127.0.0.1:{port}", is_known=True)
    waiting = [
        threading.Thread(target=lambda t=t: answers.append(t.request("GET", "/x").json())) for t in (known, told)
    ]
    for thread in waiting:
        thread.start()
    waiting[0].join(STRANGER_PATIENCE + 0.5)
    assert answers == [] and all(thread.is_alive() for thread in waiting)
    with answering(port):
        for thread in waiting:
            thread.join(120)
    assert answers == [1, 1]


def test_file_is_sent_from_its_position_and_again_after_a_failure(scripted, ok):
    server = scripted(lambda r: ok(b"1") if len(server.requests) > 1 else None)
    file = io.BytesIO(b"skip" + b"x" * 600_000)
    file.seek(4)
    Transport(server.endpoint).request("PUT", "/blobs/x", body=file).json()
    assert [len(r.body) for r in server.requests] == [600_000] * 2


def test_file_that_shrinks_while_it_is_sent_is_refused(scripted, ok):
    class Shrinking(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return super().seek(offset, whence) + (2 if whence else 0)

    server = scripted(lambda r: ok(b"1"))
    transport = Transport(server.endpoint)
    with pytest.raises(InvalidInput, match="not 5 bytes"):
        transport.request("PUT", "/x", body=Shrinking(b"abc"))
    assert transport.request("PUT", "/x", body=b"next").json() == 1


def test_refusal_of_an_upload_is_read(tmp_path):
    """A server that refuses a large upload responds and closes the connection without reading the body."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(str(tmp_path / "s"))
    door.listen()
    wire = json.dumps({"error": NotAllowed("not yours").to_wire()}).encode()

    def refuse() -> None:
        caller, _ = door.accept()
        caller.recv(10)
        caller.sendall(b"HTTP/1.1 403 No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(wire) + wire)
        caller.shutdown(socket.SHUT_RD)
        caller.close()

    thread = threading.Thread(target=refuse)
    thread.start()
    with pytest.raises(NotAllowed, match="not yours"):
        Transport(unix_endpoint(str(tmp_path / "s")), patience=0).request("PUT", "/x", body=b"x" * 5_000_000).json()
    thread.join()
    door.close()


def test_chunked_response(scripted):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = scripted(lambda r: head + b"3\r\n[1,\r\n3;x=y\r\n2 ]\r\n0\r\nTrailer: x\r\n\r\n")
    transport = Transport(server.endpoint)
    assert [transport.request("GET", "/x").json(), transport.request("GET", "/x").json()] == [[1, 2]] * 2
    assert server.connections == 1


def test_no_content(scripted):
    server = scripted(lambda r: b"HTTP/1.1 204 No Content\r\n\r\n")
    transport = Transport(server.endpoint)
    assert [transport.request("DELETE", "/x").json(), transport.request("DELETE", "/x").json()] == [None, None]
    assert server.connections == 1


def test_stream_yields_everything(scripted, ok):
    content = os.urandom(1_000_000)
    server = scripted(lambda r: ok(content))
    assert b"".join(Transport(server.endpoint).stream("/blobs/x", {"offset": 3})) == content
    assert server.requests[0].target == "/api/v1/blobs/x?offset=3"


def test_broken_stream_resumes_where_it_stopped(scripted, ok):
    content = os.urandom(900_000)
    half = ok(content, 200, "Connection: close")[:450_000]
    server = scripted(lambda r: ok(content) if len(server.requests) > 1 else half)
    assert b"".join(Transport(server.endpoint).stream("/blobs/x")) == content
    assert len(server.requests) == 2


def test_stream_raises_the_servers_error(scripted, ok):
    wire = {"error": {"code": "not_found", "message": "no blob x"}}
    server = scripted(lambda r: ok(json.dumps(wire).encode(), 404))
    with pytest.raises(FootplateError, match="no blob x"):
        list(Transport(server.endpoint).stream("/blobs/x"))


def test_streams_and_requests_may_be_mixed(scripted, ok):
    server = scripted(lambda r: ok(b"7" * 1_000_000) if "blob" in r.target else ok(b"1"))
    transport = Transport(server.endpoint)
    total = 0
    for piece in transport.stream("/blob"):
        total += len(piece)
        assert transport.request("GET", "/x").json() == 1
    assert total == 1_000_000


def test_token_is_sent(scripted, ok):
    server = scripted(lambda r: ok(b"1"))
    Transport(server.endpoint, "secret").request("GET", "/x").json()
    assert server.requests[0].headers["authorization"] == "Bearer secret"


def test_values_outside_json_are_refused_before_sending(scripted, ok):
    server = scripted(lambda r: ok(b"1"))
    value = {"name": "x", "shares": {"1": 5.0, "2": float("nan")}, "rules": [{"seconds": float("inf")}]}
    with pytest.raises(InvalidInput, match=r"as JSON: shares\.2 is nan, rules\.0\.seconds is inf"):
        Transport(server.endpoint).request("POST", "/x", json=value).json()
    with pytest.raises(InvalidInput, match="Object of type set"):
        Transport(server.endpoint).request("POST", "/x", json={"value": {1}}).json()
    value["rules"].append(value)
    with pytest.raises(InvalidInput, match=r"0\.seconds is inf, value\.1\.shares\.2 is nan"):
        Transport(server.endpoint).request("POST", "/x", json={"value": value["rules"]}).json()
    assert not server.requests


def test_not_http_is_unavailable(scripted):
    server = scripted(lambda r: b"SSH-2.0-OpenSSH\r\n")
    with pytest.raises(Unavailable, match="not HTTP"):
        Transport(server.endpoint, patience=0).request("GET", "/x").json()


def test_a_connection_switches_to_another_protocol(scripted):
    server = scripted(lambda r: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: frames\r\n\r\n")
    with Transport(server.endpoint, "secret").upgrade("/runs/r/tunnel", "frames") as opened:
        opened.sendall(b"GET /next HTTP/1.1\r\n\r\n")  # the scripted server goes on with HTTP
        assert opened.recv(100).startswith(b"HTTP/1.1 101 ")
    sent = server.requests[0]
    assert (sent.method, sent.target, sent.headers["upgrade"]) == ("POST", "/api/v1/runs/r/tunnel", "frames")
    assert (sent.headers["connection"], sent.headers["authorization"]) == ("Upgrade", "Bearer secret")


def test_a_refused_switch_of_protocols_raises_the_error_at_once(scripted, ok):
    error = {"error": {"code": "conflict", "message": "run r is to end", "hint": None, "details": {}}}
    replies = [ok(json.dumps(error).encode(), 409), ok(b"", 503), ok(b"{}"), None]
    server = scripted(lambda r: replies[r.connection])
    transport = Transport(server.endpoint)
    for kind, words in ((Conflict, "to end"), (Unavailable, "503"), (Broken, "200"), (Unavailable, "closed")):
        with pytest.raises(kind, match=words):
            transport.upgrade("/x", "frames")
    assert server.connections == 4
