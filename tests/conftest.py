"""Fixtures that every room's tests may use.

`home` is a throw-away FOOTPLATE_HOME whose teardown *proves* that nothing was left behind: the server is asked to stop,
and a process that still carries the home in its environment fails the test.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from footplate.testing import images
from footplate.testing.postgres import PostgresServer, find_binaries

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

SETTLE_SECONDS = 15.0  # how long agents and ranks of runs that are ending may take to be gone
FOREIGN = ("FOOTPLATE_", "AZUREML_")
CACHE = Path(os.environ.get("FOOTPLATE_TEST_CACHE") or Path.home() / ".cache" / "footplate-tests") / "environments"


def processes_of(home: Path) -> dict[int, str]:
    """{pid: command line} of the living processes that were started with this home."""
    wanted, found = f"FOOTPLATE_HOME={home}".encode(), dict[int, str]()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # gone meanwhile, or a zombie
            continue
    return found


def stop_server(home: Path) -> None:
    """End the server of this home, if there is one, by the pid that it wrote down."""
    try:
        pid = int(json.loads((home / "server.json").read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return
    if pid in processes_of(home):
        os.kill(pid, signal.SIGTERM)


def remove_home(home: Path) -> dict[int, str]:
    """Stop and delete everything of `home`; what had to be killed is returned, and should be nothing."""
    stop_server(home)
    end, left = time.monotonic() + SETTLE_SECONDS, processes_of(home)
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = processes_of(home)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    shutil.rmtree(home, ignore_errors=True)
    return left


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """What a shell starts in the background ignores Ctrl-C, and all that it starts would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_inherited_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test starts without the settings of whoever runs it, also when that is itself a job of Footplate."""
    for name in [n for n in os.environ if n.startswith(FOREIGN)]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_conda_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conda's names lead nowhere, whatever this machine can reach; tests that want a channel make one."""
    for name in [n for n in os.environ if n.startswith("CONDA")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CONDARC", os.devnull)
    monkeypatch.setenv("CONDA_CHANNEL_ALIAS", "file:///no-channels-in-tests")


@pytest.fixture(scope="session", autouse=True)
def _temporary_folder() -> Iterator[Path]:
    """One short folder under /tmp for everything temporary of this session, removed at its end.

    Short, because the path of a Unix socket has at most 107 bytes.
    """
    before, folder = os.environ.get("TMPDIR"), Path(tempfile.mkdtemp(prefix="fp", dir="/tmp"))
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    yield folder
    if before is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = before
    tempfile.tempdir = None
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="h", dir="/tmp"))
    monkeypatch.setenv("FOOTPLATE_HOME", str(folder))
    yield folder
    left = remove_home(folder)
    assert not left, f"processes of the test were left behind (now killed): {left}"


@pytest.fixture
def shared_environments(home: Path) -> Path:
    """The home builds environments in a folder outside of it (FOOTPLATE_TEST_CACHE), by content, once for all tests.

    Footplate's own locks keep two workers from building the same one.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    (home / "environments").symlink_to(CACHE)
    return CACHE


@pytest.fixture
def project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a workspace's config file, made the current one."""
    folder = tmp_path / "project"
    (folder / ".azureml").mkdir(parents=True)
    config = {"subscription_id": "local", "resource_group": "tests", "workspace_name": "testing"}
    (folder / ".azureml" / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def workspace(project: Path) -> Workspace:
    from footplate.sdk.workspace import Workspace  # starts the home's server: only for tests that ask for it

    return Workspace.from_config()


# ── The command line, as people use it: a process of its own, in a folder, with a real server behind it ───────────────


class Terminal:
    """A shell in a folder. Commands get the home of the test and no terminal, as in a pipe."""

    ENTRY = (sys.executable, "-c", "from footplate.cli.main import main; main()")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, code: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.ENTRY, *arguments],
            cwd=self.folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=90,
        )
        if code is not None:
            assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        # A command that starts the server says so when that takes a while, which a busy machine makes happen anywhere.
        done.stderr = done.stderr.replace("waiting for the server to answer …\n", "")
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json").stdout)

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.ENTRY, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def write(self, name: str, *lines: str) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path


@pytest.fixture
def bare(home: Path, tmp_path: Path) -> Terminal:
    """In a folder that belongs to no workspace."""
    folder = tmp_path / "bare"
    folder.mkdir()
    return Terminal(folder)


@pytest.fixture
def footplate(home: Path, project: Path) -> Terminal:
    """In a folder that belongs to the workspace `testing`."""
    return Terminal(project)


# ── PostgreSQL ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """For databases of one's own in it."""
    yield from _postgres()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """For tests that kill it."""
    yield from _postgres()


def _postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    server = PostgresServer(binaries)
    yield server
    server.stop()


# ── Containers ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def _engine(_temporary_folder: Path) -> Iterator[tuple[dict[str, str], str]]:
    """podman with a storage of its own, and an image with a Python in it: once per worker."""
    reason = images.why_not()
    if reason is not None:
        pytest.skip(reason)
    folder = _temporary_folder / "podman"
    variables = images.configure(folder)
    yield variables, images.make_image(folder, variables)
    images.clear(variables)


@pytest.fixture
def python_image(_engine: tuple[dict[str, str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an image with a Python in it. A test leaves no container behind, or fails."""
    variables, name = _engine
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    yield name
    left = images.containers(variables)
    assert not left, f"containers were left behind: {left}"
