"""The gateway as its clients see it: over real sockets, with real workers that are killed."""

from __future__ import annotations

import hashlib
import json
import pickle
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import openapi_spec_validator
import psutil
import pytest
import tritonclient.http as triton
from prometheus_client.parser import text_string_to_metric_families
from sklearn.linear_model import LinearRegression

from footplate.serving.gateway.authentication import make_token
from footplate.serving.gateway.collection import BODY_BYTES
from footplate.testing.waiting import wait_until

from .conftest import GatewayProcess


def test_a_request_reaches_the_script_and_comes_back(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    status, headers, body = gateway.score("echo", b'{"a": 1}', x_request_id="r-7")
    assert (status, json.loads(body), headers["x-request-id"]) == (200, '{"a": 1}', "r-7")
    assert gateway.ask("/api/v1/service/echo/", method="GET")[2] == b"Healthy"
    assert gateway.score("other")[0] == 404
    assert gateway.ask("/api/v1/service/echo/admin")[0] == 404


def test_a_service_has_a_port_of_its_own(gateway: GatewayProcess) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway.route("echo", [gateway.worker("echo")], port=port)
    client = gateway.client(port)
    for number in range(3):  # on one connection
        client.request("POST", "/score", str(number))
        assert json.loads(client.getresponse().read()) == str(number)
    client.close()


def test_keys_and_tokens_open_a_service_and_nothing_else_does(gateway: GatewayProcess) -> None:
    hashes = [hashlib.sha256(key.encode()).hexdigest() for key in ("first", "second")]
    worker = gateway.worker("echo")
    gateway.route("echo", [worker], auth="key", key_hashes=hashes)
    wrong = ("", "Bearer", "Bearer wrong", "Basic first", "first")
    assert [gateway.score("echo", authorization=value)[0] for value in wrong] == [401] * 5
    assert gateway.score("echo", authorization="Bearer second")[0] == 200
    assert gateway.ask("/api/v1/service/echo/swagger.json", method="GET")[0] == 200
    gateway.route("echo", [worker], auth="token", token_key="secret")
    good, late = make_token("secret", "echo", time.time()), make_token("secret", "echo", time.time(), -1)
    tokens = [good, late, make_token("other", "echo", time.time()), make_token("secret", "x", time.time()), "a.b", "ä"]
    wait_until(lambda: gateway.score("echo", authorization=f"Bearer {good}")[0] == 200)
    found = [gateway.score("echo", authorization=f"Bearer {token}".encode().decode("latin-1"))[0] for token in tokens]
    assert found == [200, 401, 401, 401, 401, 401]


def test_bodies_that_are_too_long_are_refused_before_they_are_read(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")], limits={"body_bytes": 1000})
    assert gateway.score("echo", b"x" * 1000)[0] == 200
    with socket.create_connection(("127.0.0.1", gateway.port)) as client:
        client.sendall(b"POST /api/v1/service/echo/score HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


def resident(gateway: GatewayProcess) -> int:
    """Return the megabytes of memory that the gateway has."""
    return psutil.Process(gateway.process.pid).memory_info().rss >> 20


def test_bodies_without_a_key_take_no_memory(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")], auth="key", key_hashes=[hashlib.sha256(b"k").hexdigest()])
    before = resident(gateway)
    clients = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(100)]
    for client in clients:
        client.sendall(
            b"POST /api/v1/service/echo/score HTTP/1.1\r\nContent-Length: 2000001\r\n\r\n" + b"x" * 2_000_000
        )
    for client in clients:
        assert client.recv(100).startswith(b"HTTP/1.1 401 ")
    assert resident(gateway) - before < 50
    for client in clients:
        client.close()


def test_answers_that_nobody_reads_take_little_memory_and_stop_nobody(gateway: GatewayProcess) -> None:
    gateway.memory = 16 << 20
    gateway.route("big", [gateway.worker("big", "def run(data):\n return 'x' * 4_000_000\n")])
    before = resident(gateway)
    clients = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(40)]
    for client in clients:
        client.sendall(b"POST /api/v1/service/big/score HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
    assert len(gateway.score("big")[2]) == 4_000_002
    assert resident(gateway) - before < 60
    for client in clients:
        client.close()


def test_an_answer_larger_than_all_memory_is_refused_and_others_go_on(gateway: GatewayProcess) -> None:
    gateway.memory = 1 << 20
    gateway.route("big", [gateway.worker("big", "def run(data):\n return 'x' * int(data)\n")])
    status, _, body = gateway.score("big", b"3000000")
    assert (status, b"3000002 bytes" in body) == (500, True)
    assert gateway.score("big", b"10")[2] == b'"xxxxxxxxxx"'


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("POST", "", 405),
        ("POST", "/", 405),
        ("POST", "/healthz", 405),
        ("POST", "/swagger.json", 405),
        ("PUT", "/score", 405),
        ("POST", "/scores", 404),
        ("POST", "/score/more", 404),
        ("POST", "/v1", 404),
        ("POST", "/score/", 200),
        ("GET", "", 200),
        ("HEAD", "/", 200),
    ],
)
def test_only_the_scoring_address_takes_requests(gateway: GatewayProcess, method: str, path: str, status: int) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    found, headers, body = gateway.ask(f"/api/v1/service/echo{path}", None if method != "POST" else b"{}", method)
    assert found == status
    if status == 405:
        assert "GET" in headers["allow"] and b"not allowed here" in body
    assert gateway.ask("/", b"{}")[0] == gateway.ask("/metrics", b"{}")[0] == 405


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/service/echo/score HTTP/1.1\r\nContent-Length: -4\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    ],
)
def test_malformed_requests_are_refused_and_others_go_on(gateway: GatewayProcess, sent: bytes) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    with socket.create_connection(("127.0.0.1", gateway.port)) as client:
        try:
            client.sendall(sent)
            assert client.recv(100).startswith(b"HTTP/1.1 4")
        except (ConnectionResetError, BrokenPipeError):
            pass  # it was disconnected while it still sent
    assert gateway.score("echo")[0] == 200


def test_slow_clients_do_not_hold_up_others(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    slow = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(100)]
    for client in slow:
        client.sendall(b"POST /api/v1/service/echo/score HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
    assert gateway.score("echo")[0] == 200
    slow[0].sendall(b"defghij")
    assert slow[0].recv(1000).startswith(b"HTTP/1.1 200 OK")
    for client in slow:
        client.close()


def test_pipelined_requests_are_answered_in_order(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    text = b"POST /api/v1/service/echo/score HTTP/1.1\r\nContent-Length: 1\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port)) as client:
        client.sendall(b"".join(text + str(n).encode() for n in range(5)))
        client.settimeout(30)
        found = b""
        while found.count(b"HTTP/1.1 200") < 5 or not found.endswith(b'"4"'):
            found += client.recv(10_000)
    assert [found.index(f'"{n}"'.encode()) for n in range(5)] == sorted(
        found.index(f'"{n}"'.encode()) for n in range(5)
    )


SLOW = "import os, time\ndef run(data):\n time.sleep(0.3)\n return os.getpid()\n"


def test_a_request_survives_the_death_of_its_worker(gateway: GatewayProcess) -> None:
    sockets = [gateway.worker("a", SLOW), gateway.worker("b", SLOW)]
    gateway.route("slow", sockets)
    answers: list[int] = []
    clients = [threading.Thread(target=lambda: answers.append(gateway.score("slow")[0])) for _ in range(4)]
    for client in clients:
        client.start()
    wait_until(lambda: gateway.status("slow")["1"]["running"] > 0 or bool(answers))
    gateway.workers[0].send_signal(signal.SIGKILL)
    for client in clients:
        client.join()
    assert answers == [200] * 4


def test_a_request_that_kills_workers_is_given_up_with_503(gateway: GatewayProcess) -> None:
    killer = "import os\ndef run(data):\n os._exit(1) if 'die' in data else None\n return 1\n"
    gateway.route("s", [gateway.worker("a", killer), gateway.worker("b", killer), gateway.worker("c", killer)])
    status, headers, body = gateway.score("s", b"die")
    assert (status, headers["retry-after"]) == (503, "1") and b"twice" in body
    assert gateway.score("s", b"live")[0] == 200


def test_requests_wait_for_a_worker_until_their_time_is_over(gateway: GatewayProcess) -> None:
    gateway.services["late"] = {"versions": {"1": {"sockets": ["/nowhere.sock"]}}, "limits": {"timeout_seconds": 0.5}}
    gateway.write()
    wait_until(lambda: gateway.score("late")[0] == 503)
    status, _, body = gateway.score("late")
    assert status == 503 and b"no worker was ready in time" in body
    path = gateway.worker("late")
    gateway.services["late"] = {"versions": {"1": {"sockets": [path]}}}
    gateway.write()
    gateway.follow()  # from here on requests have the default time
    assert gateway.score("late")[0] == 200, "the first request is held until the worker is ready"


def test_requests_of_a_version_without_workers_go_to_its_successor(gateway: GatewayProcess) -> None:
    answer = gateway.worker("v1", "def run(data):\n return 1\n")
    gateway.services["s"] = {
        "versions": {"1": {"sockets": [answer], "weight": 0}, "2": {"sockets": ["/nowhere.sock"], "weight": 100}}
    }
    gateway.write()
    wait_until(lambda: gateway.healthy("s") == {"1": 1, "2": 0})
    answers: list[Any] = []
    client = threading.Thread(target=lambda: answers.append(gateway.score("s")[::2]))
    client.start()
    wait_until(lambda: gateway.status("s")["2"]["queue"] == 1)
    gateway.services["s"] = {"versions": {"1": {"sockets": [answer], "weight": 100}}}
    gateway.write()
    client.join(20)  # a request may take 60 seconds
    assert answers == [(200, b"1")]


def test_a_full_queue_is_a_503_at_once(gateway: GatewayProcess) -> None:
    gateway.route("slow", [gateway.worker("slow", SLOW)], limits={"queue": 2})
    answers: list[int] = []
    clients = [threading.Thread(target=lambda: answers.append(gateway.score("slow")[0])) for _ in range(12)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert set(answers) == {200, 503} and answers.count(200) >= 3


def test_weights_share_requests_between_versions(gateway: GatewayProcess) -> None:
    sockets = {str(n): [gateway.worker(f"v{n}", f"def run(data):\n return {n}\n")] for n in (1, 2)}
    gateway.route("s", sockets, version_1={"weight": 80}, version_2={"weight": 20})
    found = [json.loads(gateway.score("s")[2]) for _ in range(200)]
    assert 10 < found.count(2) < 80


def test_a_shadow_gets_copies_and_its_differences_are_counted(gateway: GatewayProcess) -> None:
    sockets = {str(n): [gateway.worker(f"v{n}", f"def run(data):\n return {n}\n")] for n in (1, 2)}
    gateway.route("s", sockets, version_1={"weight": 100}, version_2={"shadow": True})
    assert {json.loads(gateway.score("s")[2]) for _ in range(5)} == {1}
    wait_until(lambda: gateway.status("s")["2"]["shadow_differences"] == 5)


def test_no_request_fails_while_versions_change(gateway: GatewayProcess) -> None:
    sockets = {str(n): [gateway.worker(f"v{n}", f"def run(data):\n return {n}\n")] for n in (1, 2)}
    gateway.route("s", {"1": sockets["1"]})
    answers: list[tuple[int, Any]] = []
    stop = threading.Event()

    def load() -> None:
        client = gateway.client()
        while not stop.is_set():
            client.request("POST", "/api/v1/service/s/score", b"{}")
            response = client.getresponse()
            answers.append((response.status, json.loads(response.read())))
        client.close()

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    gateway.route("s", sockets)
    gateway.route("s", {"2": sockets["2"]})
    wait_until(lambda: answers[-1][1] == 2)
    gateway.workers[0].terminate()
    gateway.workers[0].wait(120)
    stop.set()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {200} and {value for _, value in answers} == {1, 2}


def test_damaged_routes_change_nothing(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    (gateway.folder / "routes.json").write_text("{")
    assert gateway.score("echo")[0] == 200
    gateway.route("more", [gateway.worker("more")])
    assert gateway.score("more")[0] == gateway.score("echo")[0] == 200


def test_browsers_of_known_origins_are_let_in(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")], cors=["https://page.example"])
    path = "/api/v1/service/echo/score"
    status, headers, _ = gateway.ask(path, None, "OPTIONS", origin="https://page.example")
    assert (status, headers["access-control-allow-origin"]) == (204, "https://page.example")
    assert "access-control-allow-origin" not in gateway.ask(path, origin="https://other.example")[1]


def test_figures_of_all_versions_are_grouped_as_prometheus_demands(gateway: GatewayProcess) -> None:
    gateway.route("echo", {"1": [gateway.worker("echo")], "2": [gateway.worker("other")]}, version_2={"weight": 0})
    for _ in range(3):
        gateway.score("echo")
    text = gateway.ask("/metrics", None, "GET")[2].decode()
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(set(names)) == len(names) == text.count("# TYPE")
    requests, seconds = families[0], families[1]
    assert [(sample.labels["version"], sample.labels["status"], sample.value) for sample in requests.samples] == [
        ("1", "200", 3.0)
    ]
    counts = {s.labels["version"]: s.value for s in seconds.samples if s.name == "footplate_request_seconds_count"}
    assert (seconds.type, counts) == ("histogram", {"1": 3.0, "2": 0.0})


def test_an_id_that_does_not_belong_into_logs_is_replaced(gateway: GatewayProcess) -> None:
    gateway.route("echo", [gateway.worker("echo")])
    for given in ("x" * 129, "caf\u00e9", "a\tb", ""):
        found = gateway.score("echo", x_ms_request_id=given)[1]["x-ms-request-id"]
        assert found != given and len(found) == 16


def test_a_share_of_requests_is_collected(gateway: GatewayProcess, tmp_path: Path) -> None:
    gateway.route("echo", [gateway.worker("echo")], collect=str(tmp_path / "c.jsonl"), collect_share=1.0)
    gateway.score("echo", b"hello")
    wait_until(lambda: (tmp_path / "c.jsonl").exists() and (tmp_path / "c.jsonl").read_text())
    collected = json.loads((tmp_path / "c.jsonl").read_text())
    assert (collected["status"], collected["request"], collected["response"]) == (200, "hello", '"hello"')


def test_samples_of_long_bodies_are_cut_and_lost_ones_fail_nobody(gateway: GatewayProcess, tmp_path: Path) -> None:
    samples, worker = tmp_path / "c.jsonl", gateway.worker("echo")
    gateway.route("echo", [worker], collect=str(samples), collect_share=1.0)
    gateway.score("echo", b"x" * 300_000)
    wait_until(lambda: samples.exists() and samples.read_text().endswith("\n"))
    collected = json.loads(samples.read_text())
    assert (len(collected["request"]), collected["request_bytes"]) == (BODY_BYTES, 300_000)
    gateway.route("broken", [worker], collect=str(tmp_path / "missing" / "c.jsonl"), collect_share=1.0)
    assert [gateway.score("broken")[0] for _ in range(3)] == [200] * 3


@pytest.fixture
def line(gateway: GatewayProcess, tmp_path: Path) -> str:
    """A service of a scikit-learn model, y = 2 x + 1."""
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])))
    model = {"name": "line", "version": 1, "path": str(tmp_path / "model.pkl"), "framework": "ScikitLearn"}
    gateway.route("line", [gateway.worker("line", models=[model])])
    return "line"


def test_tritonclient_works_unchanged(gateway: GatewayProcess, line: str) -> None:
    client = triton.InferenceServerClient(f"127.0.0.1:{gateway.port}/api/v1/service/{line}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready(line)
    given = triton.InferInput("data", [2, 1], "FP64")
    given.set_data_from_numpy(np.array([[2.0], [3.0]]))
    for binary in (True, False):
        wanted = triton.InferRequestedOutput("predict", binary_data=binary)
        found = client.infer(line, [given], outputs=[wanted]).as_numpy("predict")
        assert found == pytest.approx(np.array([5.0, 7.0]))
    client.close()


def test_the_swagger_document_has_the_signature(gateway: GatewayProcess, line: str) -> None:
    document = json.loads(gateway.ask(f"/api/v1/service/{line}/swagger.json", None, "GET")[2])
    schema = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    data = schema["properties"]["data"]
    assert (data["type"], data["items"]["items"]["type"], data["items"]["maxItems"]) == ("array", "number", 1)
    openapi_spec_validator.validate(document)
    address = document["servers"][0]["url"] + "/score"
    status, _, answer = gateway.ask(address, json.dumps(schema["example"]).encode())
    assert (status, json.loads(answer)) == (200, {"predict": [pytest.approx(1.0)]})


def test_the_swagger_document_describes_the_newest_version(gateway: GatewayProcess) -> None:
    def described() -> str:
        return json.loads(gateway.ask("/api/v1/service/s/swagger.json", None, "GET")[2])["info"]["version"]

    sockets = {
        number: [gateway.worker(f"s{number}", entry_script="score.py", version=number,
                                source=str(gateway.home / "workers" / f"s{number}"))]
        for number in ("9", "10")
    }  # fmt: skip
    gateway.route("s", sockets)
    assert described() == "10"
    gateway.route("s", sockets, version_10={"shadow": True})
    wait_until(lambda: described() == "9")


def test_sigterm_answers_what_is_in_hand_and_a_second_gateway_stays_away(gateway: GatewayProcess) -> None:
    gateway.route("slow", [gateway.worker("slow", SLOW)])
    second = gateway._start()  # pyright: ignore[reportPrivateUsage]
    assert second.wait(120) == 0
    answers: list[int] = []
    client = threading.Thread(target=lambda: answers.append(gateway.score("slow")[0]))
    client.start()
    wait_until(lambda: gateway.status("slow")["1"]["running"] > 0 or bool(answers))
    gateway.process.terminate()
    client.join()
    assert answers == [200]
    assert gateway.process.wait(120) == 0
