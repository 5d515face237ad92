"""Fixtures that all tests may use.

`home` is a temporary FOOTPLATE_HOME. Its teardown *proves* that nothing was left behind: it stops the server, and a
process that still has the home in its environment fails the test.
"""

from __future__ import annotations

import contextlib
import inspect
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
from hypothesis import HealthCheck, settings

from footplate.testing.waiting import PATIENCE_SECONDS
from support import images

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

pytest_plugins = ["support.fixtures"]

# Where it is set, each of the thousands of processes would compile what it imports of Footplate, and each worker the
# tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test may depend on the speed of the machine.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

SETTLE_SECONDS = PATIENCE_SECONDS  # agents of runs that have ended may still remove large directories
FOREIGN = ("FOOTPLATE_", "AZUREML_")
CACHE = Path(os.environ.get("FOOTPLATE_TEST_CACHE") or Path.home() / ".cache" / "footplate-tests") / "environments"


SLOWEST_FIRST = ("frameworks", "e2e", "browser", "conformance", "docs", "processes", "unit")
FAST = SLOWEST_FIRST.index("unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests so that each worker begins with slow files, shares no file with another, and ends with fast ones.

    xdist gives each worker an equal share of the list. A worker without tests takes the last ones of another.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    slow = sorted((path for path in files if _slowness(path) < FAST), key=_slowness)
    shares = [[item for path in slow[worker::workers] for item in files.pop(path)] for worker in range(workers)]
    fast, count = [item for path in files for item in files[path]], len(items)
    items.clear()
    for worker, share in enumerate(shares):
        room = max(0, (count - len(items)) // (workers - worker) - len(share))
        items += share + fast[:room]
        del fast[:room]
    items += fast


def _slowness(path: Path) -> int:
    folder = path.relative_to(Path(__file__).parent).parts[0]
    return SLOWEST_FIRST.index(folder) if folder in SLOWEST_FIRST else FAST


def processes_of(home: Path) -> dict[int, str]:
    """Return {pid: command line} of the living processes that were started with this home."""
    wanted, found = f"FOOTPLATE_HOME={home}".encode(), dict[int, str]()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # exited meanwhile, or a zombie
            continue
    return found


def stop_server(home: Path) -> None:
    """Stop the server of this home, if there is one, by the pid that it recorded."""
    try:
        pid = int(json.loads((home / "server.json").read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return
    if pid in processes_of(home):
        os.kill(pid, signal.SIGTERM)


def remove_home(home: Path) -> dict[int, str]:
    """Stop and delete everything of `home`; return the processes that had to be killed, which should be none."""
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
    """Restore Ctrl-C, which background processes of a shell ignore and pass on to their children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_inherited_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test without the settings of the calling process, which may itself be a job of Footplate."""
    for name in [n for n in os.environ if n.startswith(FOREIGN)]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_conda_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make conda's channel names unreachable; tests that need a channel create one."""
    for name in [n for n in os.environ if n.startswith("CONDA")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CONDARC", os.devnull)
    monkeypatch.setenv("CONDA_CHANNEL_ALIAS", "file:///no-channels-in-tests")


@pytest.fixture(scope="session", autouse=True)
def _temporary_folder() -> Iterator[Path]:
    """Provide one short folder under /tmp for all temporary files of this session.

    It is short because the path of a Unix socket has at most 107 bytes.
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
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a home for each test. In a module marked `shared_home`, the tests without this argument share one."""
    if _shares_home(request):
        folder: Path = request.getfixturevalue("_home_of_module")
        monkeypatch.setenv("FOOTPLATE_HOME", str(folder))
        yield folder
    else:
        with _temporary_home() as folder:
            monkeypatch.setenv("FOOTPLATE_HOME", str(folder))
            yield folder


def _shares_home(request: pytest.FixtureRequest) -> bool:
    is_marked = request.node.get_closest_marker("shared_home") is not None
    return is_marked and "home" not in inspect.signature(request.function).parameters


@pytest.fixture(scope="module")
def _home_of_module() -> Iterator[Path]:
    with _temporary_home() as folder:
        yield folder


@contextlib.contextmanager
def _temporary_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="h", dir="/tmp"))
    yield folder
    left = remove_home(folder)
    assert not left, f"processes of the test were left behind (now killed): {left}"


@pytest.fixture
def shared_environments(home: Path) -> Path:
    """Build environments in a folder outside the home (FOOTPLATE_TEST_CACHE), by content, once for all tests.

    Footplate's own locks keep two workers from building the same one.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (home / "environments").is_symlink():
        (home / "environments").symlink_to(CACHE)
    return CACHE


@pytest.fixture
def project(request: pytest.FixtureRequest, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with the config file of a workspace of this test, and make it the working directory."""
    folder = tmp_path / "project"
    (folder / ".azureml").mkdir(parents=True)
    group = tmp_path.name if _shares_home(request) else "tests"
    config = {"subscription_id": "local", "resource_group": group, "workspace_name": "testing"}
    (folder / ".azureml" / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def workspace(project: Path) -> Workspace:
    from footplate.sdk.workspace import Workspace  # noqa: PLC0415  # starts the home's server: only for tests that need it

    return Workspace.from_config()


# ── The command line, as people use it: a process of its own, in a folder, with a real server behind it ───────────────


class Terminal:
    """A shell in a folder. Commands get the home of the test and no terminal, as in a pipe."""

    ENTRY = (sys.executable, "-m", "footplate")

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
        # A command reports the start of a server if that takes a while, which can happen on a busy machine.
        done.stderr = done.stderr.replace("waiting for the server …\n", "")
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
    """Provide a terminal in a folder that belongs to no workspace."""
    folder = tmp_path / "bare"
    folder.mkdir()
    return Terminal(folder)


@pytest.fixture
def footplate(home: Path, project: Path) -> Terminal:
    """Provide a terminal in a folder that belongs to the workspace `testing`."""
    return Terminal(project)


# ── Containers ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def _engine(_temporary_folder: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Provide podman with its own storage and an image with Python, once per worker."""
    reason = images.why_not()
    if reason is not None:
        pytest.skip(reason)
    folder = _temporary_folder / "podman"
    variables = images.configure(folder)
    yield variables, images.make_image(folder, variables)
    images.clear(variables)


@pytest.fixture
def python_image(_engine: tuple[dict[str, str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of an image with Python. A container that a test leaves behind fails it."""
    variables, name = _engine
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    yield name
    left = images.containers(variables)
    assert not left, f"containers were left behind: {left}"
