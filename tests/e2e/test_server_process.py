"""The server as a process: started by many clients at once, replaced, killed, idle, stopped in the middle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import footplate
from footplate.client import connect, launcher
from footplate.client import home as homes
from footplate.client.transport import Transport
from footplate.errors import NotAllowed, Unavailable
from footplate.testing.waiting import wait_until

PACKAGE = Path(footplate.__file__).parent
ASK = "from footplate.client import connect; print(connect().request('GET', '/server').json()['pid'])"


def is_alive(pid: int) -> bool:
    return launcher._is_alive(pid)


def server_pid(home: Path | str) -> int:
    return int(homes.read_record(str(home))["pid"])


def servers_of(home: Path) -> list[int]:
    """Return every server process of this home, whatever its record contains."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"footplate.server" in words and str(home).encode() in words and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from footplate.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


def new_run(transport: Transport) -> str:
    """Create an interactive run: something to wait for."""
    names = {"name": "testing", "subscription_id": "s", "resource_group": "g", "if_exists": "return"}
    workspace = transport.request("POST", "/workspaces", json=names).json()["id"]
    run = f"r{uuid.uuid4().hex[:8]}"
    transport.request(
        "POST", f"/workspaces/{workspace}/runs", json={"id": run, "spec": {"experiment": "e", "kind": "interactive"}}
    ).json()
    return run


# ── Exactly one ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ten_processes_at_once_start_one_server(home):
    callers = [subprocess.Popen([sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True) for _ in range(10)]
    pids = {caller.communicate(timeout=120)[0].strip() for caller in callers}
    assert pids == {str(server_pid(home))}
    assert servers_of(home) == [server_pid(home)]
    log = (home / "logs" / "server.log").read_text()
    assert log.count("serves") == 1, log


def open_files(pid: int) -> list[str]:
    links: list[str] = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:  # closed since it was listed
            continue
    return links


def test_server_is_detached_from_its_starter(home, tmp_path):
    with open(tmp_path / "of the starter", "w") as file:
        os.set_inheritable(file.fileno(), True)
        pid = connect().request("GET", "/server").json()["pid"]
        assert file.name not in open_files(pid)
    status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    parent, session = int(status[1]), int(status[3])
    assert parent != os.getpid()
    assert session != os.getsid(0)
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/2") == str(home / "logs" / "server.log")


def test_all_files_of_the_server_are_private(home):
    connect()
    modes = {
        name: stat.S_IMODE(os.stat(home / name).st_mode)
        for name in (".", "socket", "socket/server.sock", "logs", "logs/server.log")
    }
    assert modes == {".": 0o700, "socket": 0o700, "socket/server.sock": 0o600, "logs": 0o700, "logs/server.log": 0o600}


def test_second_server_in_the_foreground_fails(home):
    pid = connect().request("GET", "/server").json()["pid"]
    done = cli("server", "--host", "127.0.0.1", "--port", "0")
    assert done.returncode == 1
    assert f"runs already (pid {pid})" in done.stderr


# ── Replaced ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def other_version(tmp_path: Path) -> Path:
    """Return a folder for PYTHONPATH with the same package under another version."""
    copy = tmp_path / "old" / "footplate"
    copy.mkdir(parents=True)
    for entry in PACKAGE.iterdir():
        if entry.name not in ("__init__.py", "__pycache__"):
            (copy / entry.name).symlink_to(entry)
    text = (PACKAGE / "__init__.py").read_text()
    assert f'__version__ = "{footplate.__version__}"' in text
    (copy / "__init__.py").write_text(text.replace(footplate.__version__, "0.0.1"))
    return copy.parent


def start_other_version(folder: Path) -> int:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, timeout=120, check=True)
    return int(done.stdout)


def test_server_of_another_version_is_replaced(home, other_version):
    old = start_other_version(other_version)
    assert homes.read_record(str(home))["version"] == "0.0.1"
    transport = connect()
    told = transport.request("GET", "/server").json()
    assert (told["version"], told["pid"] != old) == (footplate.__version__, True)
    wait_until(lambda: not is_alive(old))
    assert servers_of(home) == [told["pid"]]


def test_job_does_not_replace_the_server(home, other_version, monkeypatch):
    old = start_other_version(other_version)
    monkeypatch.setenv("FOOTPLATE_RUN_ID", "some-run")
    assert connect().request("GET", "/server").json()["pid"] == old
    assert connect(endpoint=f"unix://{home}/socket/server.sock").request("GET", "/server").json()["version"] == "0.0.1"


# ── Killed ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_next_call_restarts_a_killed_server(home):
    transport = connect()
    run = new_run(transport)
    for _ in range(2):
        before = transport.request("GET", "/server").json()["pid"]
        os.kill(before, signal.SIGKILL)
        assert transport.request("GET", f"/runs/{run}").json()["id"] == run
        assert transport.request("GET", "/server").json()["pid"] != before


def test_wait_continues_when_the_server_is_killed(home):
    transport = connect()
    run = new_run(transport)
    version = transport.request("GET", f"/runs/{run}").json()["version"]
    seen: list[dict] = []
    waiter = threading.Thread(
        target=lambda: seen.append(
            connect().request("GET", f"/runs/{run}", query={"version": version, "wait": 30}).json()
        )
    )
    waiter.start()
    time.sleep(0.5)
    os.kill(server_pid(home), signal.SIGKILL)
    transport.request("POST", f"/runs/{run}/complete").json()
    waiter.join(120)
    assert [view["status"] for view in seen] == ["Completed"]


def old_python() -> str:
    """Return the oldest available interpreter for jobs. (A name on the PATH may be a shim that fails.)"""
    for minor in range(8, 14):
        installed = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        for candidate in (*map(str, installed), shutil.which(f"python3.{minor}")):
            if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
                return candidate
    return sys.executable


def test_job_with_nothing_installed_restarts_the_server(home):
    """The user's interpreter could not run a server itself."""
    transport = connect()
    recorded, before = homes.read_record(str(home)), server_pid(home)
    os.kill(before, signal.SIGKILL)
    env = {
        "PATH": os.environ["PATH"], "FOOTPLATE_HOME": str(home), "FOOTPLATE_RUN_ID": "r", "AZUREML_RUN_ID": "r",
        "FOOTPLATE_ENDPOINT": f"unix://{home}/socket/server.sock", "PYTHONPATH": str(PACKAGE.parent),
    }  # fmt: skip
    done = subprocess.run([old_python(), "-S", "-c", ASK], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    after = homes.read_record(str(home))
    assert (after["pid"], after["python"]) == (int(done.stdout), recorded["python"])
    assert transport.request("GET", "/server").json()["pid"] == after["pid"] != before
    environment = Path(f"/proc/{after['pid']}/environ").read_bytes()
    assert b"RUN_ID" not in environment
    assert b"FOOTPLATE_ENDPOINT" not in environment


def test_server_that_cannot_start_gives_the_reason(home):
    (home / "footplate.db").write_bytes(b"this is not a database, it is a shopping list, and quite a long one")
    with pytest.raises(Unavailable, match="ended while it started") as caught:
        connect()
    assert "footplate.db" in caught.value.message or "database" in caught.value.message
    assert caught.value.hint == "see what happened with: footplate server logs"


def test_a_server_killed_while_it_starts_is_started_again(home):
    killed: set[int] = set()

    def kill_two() -> None:
        while len(killed) < 2:
            for pid in servers_of(home):
                if pid not in killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
            time.sleep(0.005)

    killer = threading.Thread(target=kill_two, daemon=True)
    killer.start()
    transport = connect()
    killer.join(60)
    assert transport.request("GET", "/server").json()["pid"] not in killed


# ── Idle ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_idle_server_stops_and_is_restarted(home, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_IDLE_SECONDS", "0.5")
    transport = connect()
    first = transport.request("GET", "/server").json()["pid"]
    wait_until(lambda: not is_alive(first))
    assert not (home / "socket" / "server.sock").exists()
    assert transport.request("GET", "/server").json()["pid"] != first


# The real process, with services whose number of active runs is read from a file.
WITH_FAKE_SERVICES = """
import sys
from contextlib import contextmanager
from pathlib import Path
from footplate.server import process

class Sessions:
    cookie_name = "footplate-test"

class Services:
    tokens = runs = None
    sessions = Sessions()
    def __init__(self, home):
        self.home = Path(home)
    def active_runs(self):
        return int((self.home / "logs" / "active").read_text())

@contextmanager
def build(options, hub, endpoint):
    yield Services(options.home)

sys.exit(process.main(sys.argv[1:], build))
"""


def test_server_with_an_active_run_is_not_idle(home):
    (home / "logs").mkdir()
    (home / "logs" / "active").write_text("1")
    argv = [sys.executable, "-c", WITH_FAKE_SERVICES, "--home", str(home), "--idle", "0.3"]
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    wait_until((home / "socket" / "server.sock").exists)
    time.sleep(2)
    assert server.poll() is None
    assert Transport(f"unix://{home}/socket/server.sock").request("GET", "/server").json()["active_runs"] == 1
    (home / "logs" / "active").write_text("0")
    assert server.wait(120) == 0


def test_server_whose_home_is_deleted_stops():
    home = tempfile.mkdtemp(prefix="h", dir="/tmp")
    pid = connect(home=home).request("GET", "/server").json()["pid"]
    shutil.rmtree(home)
    wait_until(lambda: not is_alive(pid))


# ── Stopped ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["request", "SIGTERM", "SIGINT"])
def test_stop_does_not_wait_for_long_polls_and_they_continue(home, how):
    transport = connect()
    run, pid = new_run(transport), server_pid(home)
    version = transport.request("GET", f"/runs/{run}").json()["version"]
    seen: list[dict] = []
    waiters = [
        threading.Thread(
            target=lambda: seen.append(
                connect().request("GET", f"/runs/{run}", query={"version": version, "wait": 30}).json()
            )
        )
        for _ in range(5)
    ]
    for waiter in waiters:
        waiter.start()
    time.sleep(0.5)
    begun = time.monotonic()
    if how == "request":
        transport.request("POST", "/server/stop").json()
    else:
        os.kill(pid, getattr(signal, how))
    wait_until(lambda: not is_alive(pid))
    assert time.monotonic() - begun < 25, "it does not wait for requests that wait"
    connect().request("POST", f"/runs/{run}/complete").json()
    for waiter in waiters:
        waiter.join(120)
    assert [view["status"] for view in seen] == ["Completed"] * 5
    assert server_pid(home) != pid
    assert "Traceback" not in (home / "logs" / "server.log").read_text()


def test_hung_server_is_killed(home):
    pid = connect().request("GET", "/server").json()["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert launcher.stop_server(str(home), patience=0.5) is True
    wait_until(lambda: not is_alive(pid))


# ── TCP ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def team(home: Path) -> Iterator[str]:
    """Start a server in the foreground and return its address."""
    argv = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", "127.0.0.1", "--port", "0"]
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    wait_until((home / "server.json").exists)
    yield homes.read_record(str(home))["url"]
    server.terminate()
    assert server.wait(120) == 0


def test_tcp_without_a_token_is_403_and_with_it_200(home, team):
    with pytest.raises(NotAllowed):
        Transport(team).request("GET", "/server").json()
    with pytest.raises(NotAllowed):
        Transport(team, "wrong").request("GET", "/server").json()
    token = (home / "token").read_text().strip()
    told = Transport(team, token).request("GET", "/server").json()
    assert (told["home"], told["blobs"]) == (str(home), None)
    assert stat.S_IMODE(os.stat(home / "token").st_mode) == 0o600
    log = (home / "logs" / "server.log").read_text()
    assert str(home / "token") in log
    assert token not in log


def test_unix_socket_also_exists_and_needs_no_token(home, team):
    assert connect().request("GET", "/server").json()["blobs"] == str(home / "blobs")


def test_clients_wait_for_a_server_restart(home):
    argv = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", "127.0.0.1", "--port", "0"]
    first = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    wait_until((home / "socket" / "server.sock").exists)
    transport = connect()
    assert transport.request("GET", "/server").json()["pid"] == first.pid
    first.kill()
    first.wait()
    again = threading.Timer(0.5, lambda: started.append(subprocess.Popen(argv, stderr=subprocess.DEVNULL)))
    started: list[subprocess.Popen[bytes]] = []
    again.start()
    assert transport.request("GET", "/server").json()["pid"] == started[0].pid
    started[0].terminate()
    assert started[0].wait(120) == 0


def test_clients_do_not_start_a_server_that_was_started_by_hand(home, team):
    os.kill(server_pid(home), signal.SIGTERM)
    wait_until(lambda: not launcher.is_locked(str(home / "server.lock")))
    with pytest.raises(Unavailable, match="started by hand"):
        connect()
    assert cli("server", "start").returncode == 0
    assert connect().request("GET", "/server").json()["home"] == str(home)


# ── Odd homes and the commands ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["x" * 150, "a ?#%41 ü"])
def test_unsuitable_homes_are_rejected(name, monkeypatch):
    root = Path(tempfile.mkdtemp(prefix="h", dir="/tmp"))
    home = root / name
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))
    try:
        transport = connect()
        pid = transport.request("GET", "/server").json()["pid"]
        assert stat.S_IMODE(os.stat(home).st_mode) == 0o700
        os.kill(pid, signal.SIGKILL)
        assert connect(endpoint=transport.endpoint).request("GET", "/server").json()["pid"] != pid
        assert launcher.server_status(str(home))["running"] is True
    finally:
        launcher.stop_server(str(home))
        folder = Path(homes.read_record(str(home)).get("socket", home / "x")).parent
        if folder != home:
            shutil.rmtree(folder)
        shutil.rmtree(root)


def test_server_commands_work(home):
    nothing = cli("server", "status")
    assert (nothing.returncode, "not running" in nothing.stdout) == (3, True)
    assert "no server log yet" in cli("server", "logs").stderr
    assert "has started" in cli("server", "start").stderr
    assert "is already running" in cli("server", "start").stderr
    status = json.loads(cli("server", "status", "--json").stdout)
    assert (status["running"], status["home"], status["active_runs"]) == (True, str(home), 0)
    assert f"pid          {status['pid']}" in cli("server", "status").stdout
    assert "serves" in cli("server", "logs").stdout
    assert "has stopped" in cli("server", "stop").stderr
    assert not is_alive(status["pid"])
    assert "is not running" in cli("server", "stop").stderr


def test_log_is_followed(home):
    connect()
    argv = [sys.executable, "-c", "from footplate.cli.main import main; main()", "server", "logs", "-f", "-n", "0"]
    follower = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert follower.stdout is not None
        time.sleep(1)
        launcher.stop_server(str(home))
        connect()
        assert "serves" in follower.stdout.readline()
    finally:
        follower.send_signal(signal.SIGINT)
        follower.communicate(timeout=120)


def test_options_and_subcommands_do_not_mix(home):
    done = cli("server", "--host", "127.0.0.1", "status")
    assert (done.returncode, "--host only applies to a server in the foreground" in done.stderr) == (2, True)
    assert "Usage" in cli("server").stdout
