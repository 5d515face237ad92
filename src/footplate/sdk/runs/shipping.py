"""Bringing journals and growing logs of this process's own runs to the server, by offset.

Inside a job the node agent does that. An interactive run has no agent: its journals lie in `spool/<run>/<owner>/` of
the home folder, a daemon thread ships them, and a lock there says that the owner lives. What a killed process left
behind is shipped by the next one that opens a session (`recover`).
"""

from __future__ import annotations

import atexit
import fcntl
import json
import logging
import os
import shutil
import threading
from typing import Any, Callable, Dict, List, Optional, Set

from footplate.client import home_folder
from footplate.errors import FootplateError
from footplate.job import journal_format
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.session import Session

INTERVAL = 1.0
"""Seconds between two looks of the thread."""

_RECORD = "spool.json"
_LOCK = "lock"
_CHUNK = 4 * 1024 * 1024
_log = logging.getLogger(__name__)


class Shipper:
    """Ships one folder of journals of one run. Any number of processes may ship the same folder at the same time.

    `prefix` picks the writers: inside a job, others write there whose journals are not ours to send. `is_new`: nothing
    in the folder has ever been shipped, so the server need not be asked what it has.
    """

    def __init__(self, session: Session, run_id: str, folder: str, prefix: str = "", is_new: bool = False) -> None:
        self._is_new = is_new
        self._session = session
        self._run = run_id
        self.folder = folder
        self._prefix = prefix
        self._sizes: Dict[str, int] = {}
        self._guard = threading.Lock()

    def ship(self, finished: bool = False) -> None:
        """Everything that is there. `finished`: nobody writes any more, so holes need not be waited for."""
        with self._guard:
            for writer in journal_format.writers(self.folder):
                if not writer.startswith(self._prefix):
                    continue
                self._ship_writer(writer, journal_format.everything if finished else journal_format.finished_prefix)

    def _ship_writer(self, writer: str, read: Callable[[str, int], bytes]) -> None:
        path = os.path.join(self.folder, writer)
        while True:
            piece = read(path + ".slots", self._size(writer, "slots"))
            # The text is read after the slots and sent before them: whoever has a slot has its text.
            while True:
                text = journal_format.read_text(path + ".text", self._size(writer, "text"))
                if not text:
                    break
                self._send(writer, "text", text)
            if not piece:
                return
            self._send(writer, "slots", piece)

    def _size(self, writer: str, stream: str) -> int:
        """How much the server has; asked by sending nothing."""
        key = f"{writer}/{stream}"
        if key not in self._sizes:
            self._sizes[key] = 0 if self._is_new else self._put(key, b"", 0)
        return self._sizes[key]

    def _send(self, writer: str, stream: str, data: bytes) -> None:
        key = f"{writer}/{stream}"
        self._sizes[key] = self._put(key, data, self._sizes[key])

    def _put(self, key: str, data: bytes, offset: int) -> int:
        return put_by_offset(self._session, f"/runs/{self._run}/journals/{key}", data, offset)


class Watch:
    """Ships the files of a folder as they grow, as logs of the run under `prefix`."""

    def __init__(self, session: Session, run_id: str, folder: str, prefix: str) -> None:
        self._session = session
        self._run = run_id
        self.folder = folder
        self.prefix = prefix
        self._sizes: Dict[str, int] = {}
        self._guard = threading.Lock()

    def ship(self, finished: bool = False) -> None:
        with self._guard:
            for folder, _, names in os.walk(self.folder):
                for name in sorted(names):
                    self._ship_file(os.path.join(folder, name))

    def _ship_file(self, path: str) -> None:
        name = f"{self.prefix}/{os.path.relpath(path, self.folder).replace(os.sep, '/')}"
        target = f"/runs/{self._run}/logs/{name}"
        try:
            with open(path, "rb") as file:
                sent = self._sizes.get(path)
                if sent is None:
                    sent = put_by_offset(self._session, target, b"", 0)
                if os.fstat(file.fileno()).st_size < sent:  # written anew
                    self._session.send(target, b"", {"offset": 0, "replace": True})
                    sent = 0
                while True:
                    data = os.pread(file.fileno(), _CHUNK, sent)
                    if not data:
                        break
                    sent = put_by_offset(self._session, target, data, sent)
                self._sizes[path] = sent
        except FileNotFoundError:
            return  # removed meanwhile


def ship_own(session: Session, run_id: str, folder: str) -> None:
    """Inside a job: ship now what this rank wrote, and nothing that others (the sampler of the machine) write there."""
    Shipper(session, run_id, folder, f"rank_{os.environ.get('FOOTPLATE_RANK', '0')}_").ship()


def put_by_offset(session: Session, path: str, data: bytes, offset: int) -> int:
    """Send bytes that belong at `offset`; how much the server has after that.

    A server that has less than it said before (it lost its disk's last writes) tells its size, and we go on from there.
    """
    try:
        return int(session.send(path, data, {"offset": offset})["size"])
    except AzureMLException as error:
        cause = error.inner_exception
        size = cause.details.get("size") if isinstance(cause, FootplateError) else None
        if not isinstance(size, int) or size >= offset:
            raise
        return size


class Spool:
    """The folder for journals that this process writes for one run, and its lock.

    A forked child shares the lock and writes into the same folder, so the parent ships for it; what it leaves there
    after the parent has gone is recovered like that of a killed process.
    """

    def __init__(self, session: Session, run_id: str) -> None:
        owner = f"{os.getpid()}_{os.urandom(4).hex()}"
        self.folder = os.path.join(home_folder(), "spool", run_id, owner)
        os.makedirs(self.folder, 0o700)
        self._lock = os.open(os.path.join(self.folder, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._session = session
        self._run = run_id
        self._shipper = Shipper(session, run_id, self.folder, is_new=True)
        self._watches: List[Watch] = []
        self._write_record()

    def watch(self, folder: str, prefix: str) -> None:
        """Ship what grows in `folder` as well, from now on until `close`."""
        self._watches.append(Watch(self._session, self._run, os.path.abspath(folder), prefix))
        self._write_record()

    def ship(self, finished: bool = False) -> None:
        self._shipper.ship(finished)
        for watch in self._watches:
            watch.ship(finished)

    def close(self) -> None:
        """Ship the rest, give up the lock, and remove the folder unless a forked child still writes there."""
        self.ship()
        os.close(self._lock)
        _take_over(self._session, self.folder, lambda: self.ship(finished=True))

    def _write_record(self) -> None:
        record = {
            "run": self._run,
            "endpoint": self._session.endpoint,
            "watches": [[watch.folder, watch.prefix] for watch in self._watches],
        }
        aside = os.path.join(self.folder, _RECORD + ".new")
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(aside, os.path.join(self.folder, _RECORD))


def recover(session: Session) -> None:
    """Ship what processes that no longer live have left in the spool for this server."""
    spool = os.path.join(home_folder(), "spool")
    if not os.path.isdir(spool):
        return
    for run_id in os.listdir(spool):
        recover_run(session, run_id)


def recover_run(session: Session, run_id: str) -> None:
    """The same for one run; costs one look at the disk when nothing was left."""
    folder = os.path.join(home_folder(), "spool", run_id)
    for owner in _listing(folder):
        try:
            _take_over(session, os.path.join(folder, owner))
        except (AzureMLException, OSError) as error:
            _log.warning("what %s left of run %s could not be shipped: %s", owner, run_id, error)


def _take_over(session: Session, folder: str, ship: Optional[Callable[[], None]] = None) -> None:
    """If nobody holds its lock: ship all that is there and remove it. `ship` is for who knows what has been shipped."""
    try:
        lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        record = _read_record(folder)
        if record.get("endpoint") != session.endpoint:
            return
        if ship is not None:
            ship()
        else:
            _ship_what_is_left(session, folder, record)
        shutil.rmtree(folder)
        os.rmdir(os.path.dirname(folder))
    except (BlockingIOError, FileNotFoundError):
        return  # it lives, or somebody else was quicker
    except OSError as error:
        if os.path.isdir(folder):
            raise
        _log.debug("the spool of the run is still in use by others: %s", error)
    finally:
        os.close(lock)


def _ship_what_is_left(session: Session, folder: str, record: Dict[str, Any]) -> None:
    Shipper(session, str(record["run"]), folder).ship(finished=True)
    for watched, prefix in record["watches"]:
        Watch(session, str(record["run"]), watched, prefix).ship(finished=True)


def _read_record(folder: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(folder, _RECORD), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _listing(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# ── The thread ────────────────────────────────────────────────────────────────────────────────────────────────────────

_spools: Set[Spool] = set()
_wake = threading.Event()
_thread: Optional[threading.Thread] = None
_guard = threading.Lock()


def ship_in_background(spool: Spool) -> None:
    global _thread
    with _guard:
        _spools.add(spool)
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_ship_forever, name="footplate-shipper", daemon=True)
            _thread.start()


def stop_shipping(spool: Spool) -> None:
    with _guard:
        _spools.discard(spool)


def _ship_forever() -> None:
    global _thread
    while True:
        _wake.wait(INTERVAL)
        with _guard:
            spools = list(_spools)
            if not spools:
                _thread = None
                return
        for spool in spools:
            _ship_quietly(spool)


def _ship_quietly(spool: Spool) -> None:
    try:
        spool.ship()
    except (AzureMLException, OSError) as error:
        # Nothing is lost: it lies in the spool, and the next look tries again.
        _log.debug("not shipped now: %s", error)


@atexit.register
def _ship_at_exit() -> None:
    for spool in list(_spools):
        try:
            spool.close()
        except (AzureMLException, OSError) as error:
            _log.warning("the last metrics were not sent: %s\nThey lie in %s and are sent later.", error, spool.folder)


def _after_fork_in_child() -> None:
    """The parent ships for us: its thread sees the files that we make in its folder."""
    global _thread, _guard
    _thread, _guard = None, threading.Lock()
    _spools.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
