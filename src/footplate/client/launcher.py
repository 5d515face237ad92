"""The server of a home, on demand: find it, start it, replace one of another version, stop it.

Two locks ensure that there is exactly one. A server holds `server.lock` for its whole life; whoever starts one holds
`start.lock`. Both are flocks, so they are released when their owner ends, however it ends.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from typing import Any, Dict, List, Optional

from footplate import __version__, environ
from footplate.api import ApiClient
from footplate.backoff import Backoff
from footplate.client import home as homes
from footplate.client.http import unix_endpoint
from footplate.client.transport import Transport
from footplate.disk import FileLock, is_locked
from footplate.errors import Conflict, FootplateError, InvalidInput, Unavailable

START_SECONDS = 60.0
"""Seconds until a server must answer: it may migrate a large database, or the machine may be busy."""

POLITE_SECONDS = 15.0
"""Seconds until a server must end after a stop request; then it gets SIGTERM, and after the same time SIGKILL."""

IDLE_SECONDS = 900.0
_LOGS = "see what happened with: footplate server logs"
_POLL = 0.01


def ensure_server(home: str) -> str:
    """Return the endpoint of this home's server, of our own version; start it if necessary.

    Inside a job any version is accepted: a job must not replace the server of users who upgraded while it ran.
    """
    return _ensure(home, None if os.environ.get(environ.RUN_ID) else __version__)


def revive_server(home: str) -> str:
    """Restart a server that was there a moment ago, for clients that already talk to it.

    Any version is accepted, so that clients of two versions do not replace each other's server for ever. A server that
    was set up by hand is left to whoever set it up: its endpoint is returned unchanged, and the caller keeps trying.
    """
    record = homes.read_record(home)
    if "socket" in record and not record.get("managed", True):
        return unix_endpoint(record["socket"])
    return _ensure(home, None)


def start_server(home: str) -> str:
    """Do the same as `ensure_server`, even if the last server was started by hand."""
    return _ensure(home, __version__, by_hand=True)


def stop_server(home: str, patience: float = POLITE_SECONDS) -> bool:
    """Stop the server of this home and wait until it is gone; return False if there was none. Active runs continue."""
    if not is_locked(os.path.join(home, homes.SERVER_LOCK)):
        return False
    _end_server(home, patience)
    return True


def server_status(home: str) -> Dict[str, Any]:
    """Return the server's description of itself with `running`; for a server that is gone, the record that it left."""
    record = homes.read_record(home)
    status: Dict[str, Any] = {"running": is_locked(os.path.join(home, homes.SERVER_LOCK)), "home": home}
    status.update({key: record.get(key) for key in ("pid", "version", "python", "started", "socket", "url")})
    if status["running"] and _answers(record):
        try:
            status.update(vars(_api(record).server.get(timeout=5)))
        except FootplateError as error:
            status["problem"] = error.message
    return status


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _find_usable(home: str, version: Optional[str]) -> Optional[str]:
    """Return the endpoint of a server of this version that listens, without sending a request."""
    record = homes.read_record(home)
    if (version is None or record.get("version") == version) and _answers(record):
        return unix_endpoint(record["socket"])
    return None


def _answers(record: Dict[str, Any]) -> bool:
    if not isinstance(record.get("socket"), str):  # no record, or one that was edited by hand
        return False
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.settimeout(5)
        probe.connect(record["socket"])
    except BlockingIOError:  # it listens, but its accept queue is full
        return True
    except OSError:
        return False
    finally:
        probe.close()
    return True


def _api(record: Dict[str, Any]) -> ApiClient:
    return ApiClient(Transport(unix_endpoint(record["socket"]), patience=0))


# ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ensure(home: str, version: Optional[str], by_hand: bool = False) -> str:
    endpoint = _find_usable(home, version)
    if endpoint is not None:
        return endpoint
    _refuse_to_replace(homes.read_record(home), by_hand)
    deadline = time.monotonic() + START_SECONDS + 2 * POLITE_SECONDS
    with _open_lock(os.path.join(home, homes.START_LOCK)) as lock:
        while not lock.try_take():
            endpoint = _find_usable(home, version)
            if endpoint is not None:
                return endpoint
            if time.monotonic() > deadline:
                raise Unavailable(f"another process has been starting the server of {home} for too long", _LOGS)
            time.sleep(_POLL)
        return _start(home, version)


def _refuse_to_replace(record: Dict[str, Any], by_hand: bool) -> None:
    """Refuse to replace a server that was started by hand: its address, token and database are unknown to us."""
    if not record or record.get("managed", True) or by_hand:
        return
    where = record.get("url") or record.get("socket")
    if _answers(record):
        raise Conflict(
            f"the server at {where} is of version {record.get('version')}, this is version {__version__}",
            "install the same version on both sides, then restart the server the way it was started",
        )
    raise Unavailable(
        f"the server at {where} was started by hand and does not run any more",
        "start it again the same way, or start one for this machine alone with: footplate server start",
    )


def _start(home: str, version: Optional[str]) -> str:
    """Start a server; the caller holds the start lock."""
    lock = os.path.join(home, homes.SERVER_LOCK)
    deadline = time.monotonic() + START_SECONDS
    spawned: Optional[_Spawned] = None
    backoff = Backoff(0.05, 1.0)
    while True:
        endpoint = _find_usable(home, version)
        if endpoint is not None:
            return endpoint
        record = homes.read_record(home)
        if spawned is None and not is_locked(lock):
            spawned = _Spawned(home)
        elif spawned is None and version is not None and record.get("version") != version and _answers(record):
            _end_server(home)
        elif spawned is not None and not spawned.is_alive() and not is_locked(lock):
            if spawned.was_killed():
                backoff.wait()
                spawned = None
                continue
            raise Unavailable(f"the server of {home} ended while it started:\n{spawned.words()}", _LOGS)
        if time.monotonic() > deadline:
            words = spawned.words() if spawned else "another one holds its lock and does not answer"
            raise Unavailable(f"the server of {home} does not answer after {START_SECONDS:g} s:\n{words}", _LOGS)
        time.sleep(_POLL)


class _Spawned:
    """A server process that was just started. It is not our child, so it leaves no zombie behind."""

    def __init__(self, home: str) -> None:
        import subprocess  # noqa: PLC0415  # lazy: only the one who starts a server needs it

        record = homes.read_record(home)
        self._log = os.path.join(home, homes.LOG)
        os.makedirs(os.path.dirname(self._log), 0o700, exist_ok=True)
        idle = os.environ.get(environ.IDLE_SECONDS) or str(IDLE_SECONDS)
        argv = [_python(record), "-m", "footplate.server", "--home", home, "--idle", idle, "--detach"]
        with open(self._log, "ab") as log:
            os.fchmod(log.fileno(), 0o600)
            self._from = log.tell()
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=_variables(home, record),
                start_new_session=True,
                check=False,
            )
        self._code = done.returncode
        self._pid = int(done.stdout) if done.stdout.strip().isdigit() else 0

    def is_alive(self) -> bool:
        return bool(self._pid) and _is_alive(self._pid)

    def was_killed(self) -> bool:
        """Whether it is gone without a reason in its log: a server that cannot start writes why."""
        return (self._pid > 0 or self._code < 0) and all(" INFO " in line for line in self._lines())

    def words(self) -> str:
        """Return the last lines that it wrote."""
        return "\n".join(self._lines()[-12:]) or "it wrote nothing"

    def _lines(self) -> List[str]:
        with open(self._log, "rb") as log:
            log.seek(self._from)
            return log.read().decode("utf-8", "replace").splitlines()


def _python(record: Dict[str, Any]) -> str:
    """Return our interpreter; inside a job, which has none of our packages, the one that the last server ran under."""
    recorded = record.get("python")
    if recorded and os.access(recorded, os.X_OK) and (os.environ.get(environ.RUN_ID) or not sys.executable):
        return str(recorded)
    return sys.executable


def _variables(home: str, record: Dict[str, Any]) -> Dict[str, str]:
    """Return the caller's environment without a job's variables and without settings that slow every start."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not environ.belongs_to_job(name) and name != "PYTHONDONTWRITEBYTECODE"
    }
    if os.environ.get(environ.RUN_ID):  # a job's path holds the user's modules, built for another interpreter
        variables.pop("PYTHONPATH", None)
        variables.pop("PYTHONHOME", None)
        if record.get("pythonpath"):
            variables["PYTHONPATH"] = record["pythonpath"]
    variables[environ.HOME] = home
    variables[environ.AGENT] = "server"  # never taken for a process of the run that had to start it
    return variables


# ── Stopping ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _end_server(home: str, patience: float = POLITE_SECONDS) -> None:
    """Request the end, then send SIGTERM, then SIGKILL: a server can end at any moment without harm."""
    lock = os.path.join(home, homes.SERVER_LOCK)
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is None:
            _ask_to_stop(home, patience)
        else:
            _signal(home, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not is_locked(lock):
                return
            time.sleep(_POLL)
    raise Unavailable(f"the server of {home} does not end, not even after SIGKILL", "look at its process")


def _ask_to_stop(home: str, patience: float) -> None:
    record = homes.read_record(home)
    if _answers(record):
        try:
            _api(record).server.stop(timeout=patience)
        except FootplateError:
            pass  # the lock shows whether it ends


def _signal(home: str, number: int) -> None:
    """Send a signal to the process that wrote its pid into the lock it holds, never to one that merely has that pid."""
    lock = os.path.join(home, homes.SERVER_LOCK)
    try:
        with open(lock, encoding="ascii") as file:
            pid = int(file.read())
        if pid > 1 and is_locked(lock):
            os.kill(pid, number)
    except (OSError, ValueError):
        pass


# ── Locks and processes ───────────────────────────────────────────────────────────────────────────────────────────────


def _open_lock(path: str) -> FileLock:
    try:
        return FileLock(path)
    except OSError as error:
        raise InvalidInput(
            f"the home folder {os.path.dirname(path)} cannot be written: {error.strerror}",
            "make it writable, or set FOOTPLATE_HOME to a folder that is",
        ) from None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            state: List[bytes] = file.read().rpartition(b")")[2].split()
    except ProcessLookupError:
        return False
    except OSError:  # a system without /proc, or another user's process
        return True
    return state[:1] != [b"Z"]  # where no init process reaps orphans, a dead one stays
