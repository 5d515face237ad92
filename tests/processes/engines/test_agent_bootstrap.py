"""The bootstrap and the supervisor, run as nodes run them: one program, against a small HTTP server."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from footplate import api, environ
from footplate.engines import agent_bootstrap
from footplate.node import supervisor
from footplate.testing.waiting import wait_until

# Records its start, its arguments and the signals that it gets; ends with the code in the file `end`.
AGENT = """
import os, signal, sys, time
folder = os.environ["TEST_FOLDER"]
def note(words):
    with open(os.path.join(folder, "notes"), "a") as file:
        file.write(words + "\\n")
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: note("signal %d" % number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGUSR1))
note("start %d %s %s" % (os.getpid(), " ".join(sys.argv[1:]), os.environ["FOOTPLATE_NODE_HOME"]))
with open(os.path.join(folder, "files"), "w") as file:
    file.write(" ".join(sorted(name for name in os.listdir("/proc/self/fd") if int(name) < file.fileno())))
while not os.path.exists(os.path.join(folder, "end")):
    time.sleep(0.01)
if os.path.exists(os.path.join(folder, "raise")):
    raise KeyError("as the test wants")
sys.exit(int(open(os.path.join(folder, "end")).read()))
"""


class Source:
    """A server that hands out one bundle. `answers` come first: (status, body) each."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.tokens: list[str | None] = []
        self.bundle = _bundle()
        self.digest = hashlib.sha256(self.bundle).hexdigest()
        source = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                source.tokens.append(self.headers.get("Authorization"))
                found = self.path == f"{api.PREFIX}/agent-archives/{source.digest}"
                status, body = (200, source.bundle) if found else (404, b"no such archive")
                if source.answers:
                    status, body = source.answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(len(source.bundle) if status == 299 else len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _bundle() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("footplate/node/__main__.py", AGENT)
        archive.write(supervisor.__file__, agent_bootstrap.SUPERVISOR)
    return content.getvalue()


@pytest.fixture
def source() -> Iterator[Source]:
    source = Source()
    yield source
    source.close()


class Node:
    """A node: a folder, and bootstraps that are started there."""

    def __init__(self, folder: Path, source: Source) -> None:
        self.folder, self.source = folder, source
        self.home = folder / "home"
        self._started: list[subprocess.Popen[str]] = []

    def start(self, digest: str | None = None, pass_fds: Sequence[int] = ()) -> subprocess.Popen[str]:
        variables = {
            environ.BUNDLE: digest or self.source.digest, environ.TOKEN: "t0ken",
            environ.NODE_HOME: "$TEST_FOLDER/home", "TEST_FOLDER": str(self.folder),
        }  # fmt: skip
        argv = [
            sys.executable,
            "-c",
            Path(agent_bootstrap.__file__).read_text(),
            "--run",
            "r1",
            "--endpoint",
            self.source.url,
        ]
        started = subprocess.Popen(argv, env=variables, stderr=subprocess.PIPE, text=True, pass_fds=pass_fds)
        self._started.append(started)
        return started

    def notes(self) -> list[str]:
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    def agents(self) -> list[int]:
        return [int(line.split()[1]) for line in self.notes() if line.startswith("start ")]

    def files(self) -> list[int]:
        """Return the numbers of the files that the agent had open when it began."""
        return [int(number) for number in (self.folder / "files").read_text().split()]

    def end(self, code: int) -> None:
        (self.folder / "end.new").write_text(str(code))
        (self.folder / "end.new").rename(self.folder / "end")

    def close(self) -> None:
        self.end(0)
        for started in self._started:
            started.kill()
            started.communicate()


@pytest.fixture
def node(tmp_path: Path, source: Source) -> Iterator[Node]:
    node = Node(tmp_path, source)
    yield node
    node.close()


def test_the_agent_gets_the_arguments_and_its_code_is_ours(node: Node) -> None:
    node.end(7)
    assert node.start().wait(timeout=60) == 7
    (line,) = node.notes()
    assert line.split(" ", 2)[2] == f"--run r1 --endpoint {node.source.url} {node.home}"
    assert node.source.tokens == ["Bearer t0ken"]


def test_a_node_fetches_a_bundle_once(node: Node) -> None:
    node.end(0)
    for _ in range(2):
        assert node.start().wait(timeout=60) == 0
    assert len(node.source.tokens) == 1
    assert os.listdir(node.home / "bundles") == [node.source.digest]


def test_agents_that_start_together_share_one_bundle(node: Node) -> None:
    node.end(0)
    assert [each.wait(timeout=60) for each in [node.start() for _ in range(4)]] == [0] * 4
    assert len(node.agents()) == 4
    assert os.listdir(node.home / "bundles") == [node.source.digest]


def test_a_bundle_that_arrives_damaged_is_fetched_again(node: Node) -> None:
    node.source.answers = [(200, b"damaged"), (503, b"restarting"), (299, b"cut")]
    node.end(0)
    assert node.start().wait(timeout=60) == 0
    assert len(node.source.tokens) == 4


def test_a_refused_bundle_ends_with_the_reason(node: Node) -> None:
    refused = node.start(digest="0" * 64)
    _, errors = refused.communicate(timeout=60)
    assert (refused.returncode, "no such archive" in errors) == (agent_bootstrap.REFUSED, True)
    assert not node.agents()


def test_a_killed_agent_is_started_again(node: Node) -> None:
    started = node.start()
    wait_until(lambda: len(node.agents()) == 1)
    os.kill(node.agents()[0], signal.SIGKILL)
    wait_until(lambda: len(node.agents()) == 2)
    node.end(3)
    assert started.wait(timeout=60) == 3


def test_signals_reach_the_agent_which_decides_when_to_end(node: Node) -> None:
    started = node.start()
    wait_until(node.agents)
    for number in (signal.SIGUSR1, signal.SIGTERM):
        started.send_signal(number)
        wait_until(lambda wanted=f"signal {number}": wanted in node.notes())
    node.end(0)
    assert started.wait(timeout=60) == 0


def test_an_agent_that_is_killed_after_a_stop_is_not_started_again(node: Node) -> None:
    started = node.start()
    wait_until(node.agents)
    started.send_signal(signal.SIGTERM)
    wait_until(lambda: f"signal {signal.SIGTERM:d}" in node.notes())
    os.kill(node.agents()[0], signal.SIGKILL)
    assert started.wait(timeout=60) == 128 + signal.SIGKILL
    assert len(node.agents()) == 1


def test_a_stop_while_the_server_is_away_ends_at_once(node: Node) -> None:
    node.source.answers = [(503, b"away")] * 100
    started = node.start()
    wait_until(lambda: node.source.tokens)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=60) == agent_bootstrap.STOPPED


def test_an_agent_inherits_no_file_of_the_engine(node: Node) -> None:
    node.end(0)
    reading, writing = os.pipe()
    started = node.start(pass_fds=[writing])
    os.close(writing)
    try:
        assert started.wait(timeout=60) == 0
        assert node.files() == [0, 1, 2, 3]  # 3 is the pipe by which it learns of the supervisor's end
    finally:
        os.close(reading)


def test_an_agent_that_raises_ends_with_code_70(node: Node) -> None:
    node.end(0)
    (node.folder / "raise").touch()
    started = node.start()
    _, errors = started.communicate(timeout=60)
    assert (started.returncode, "KeyError: 'as the test wants'" in errors) == (70, True)
    assert len(node.agents()) == 1


def test_an_agent_dies_with_its_supervisor(node: Node) -> None:
    started = node.start()
    (agent,) = wait_until(node.agents)
    started.kill()
    wait_until(lambda: not Path(f"/proc/{agent}").exists())
