"""Ship the journals and logs of interactive runs from this process.

Inside a job the node agent does that. An interactive run has no agent: its journals lie in `spool/<run>/<owner>/` of
the home directory, a daemon thread ships them, and a lock there shows that the owner is alive. The next process that
opens a session ships the journals that a killed one left (`recover`).
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import shutil
import threading
from typing import Any, Callable, Dict, List, Optional, Set

from footplate import environ
from footplate.api import ApiClient
from footplate.background import Loop
from footplate.client import home_folder
from footplate.disk import FileLock, atomic_write
from footplate.growing_files import JournalShipper, LogShipper
from footplate.job import journal_format
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.session import Session, translating

INTERVAL = 1.0
"""Seconds between two passes of the thread."""

_RECORD = "spool.json"
_LOCK = "lock"
_log = logging.getLogger(__name__)


class _LogReceiver:
    """The requests that ship growing files (`growing_files.GrowingFiles`); they raise FootplateError."""

    def __init__(self, session: Session) -> None:
        self._api = ApiClient(session.transport)

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        return self._api.files.append_log(run, path, data, offset, replace)

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        return self._api.metrics.append(run, writer, part, data, offset, system)


class JournalDirectory:
    """A directory of journals of one run. Any number of processes may ship the same directory at the same time.

    `prefix` selects the writers: inside a job, other writers have journals there that are not ours to send. `is_new`:
    nothing in the directory has ever been shipped, so the server need not be asked how much it has.
    """

    def __init__(self, session: Session, run_id: str, folder: str, prefix: str = "", is_new: bool = False) -> None:
        server = _LogReceiver(session)

        def ask(run: str, writer: str, part: str) -> int:
            """Ask for the size by sending nothing."""
            return 0 if is_new else server.append_journal(run, writer, part, 0, b"", False)

        self._shipper = JournalShipper(server, ask)
        self._run = run_id
        self._folder = folder
        self._prefix = prefix
        self._guard = threading.Lock()

    def ship(self, finished: bool = False) -> None:
        """Ship everything. `finished`: nobody writes any more, so holes are shipped instead of waited for."""
        with self._guard, translating():
            for writer in journal_format.writers(self._folder):
                if writer.startswith(self._prefix):
                    while self._shipper.ship(self._folder, self._run, writer, finished):
                        pass


class LogDirectory:
    """A directory whose files are shipped as they grow, as logs of the run under `prefix`."""

    def __init__(self, session: Session, run_id: str, folder: str, prefix: str) -> None:
        server = _LogReceiver(session)
        self._shipper = LogShipper(server, run_id, lambda name: server.append_log(run_id, name, 0, b"", False))
        self.folder = folder
        self.prefix = prefix
        self._guard = threading.Lock()

    def ship(self) -> None:
        with self._guard, translating():
            for folder, _, names in os.walk(self.folder):
                for name in sorted(names):
                    self._ship_file(os.path.join(folder, name))

    def _ship_file(self, path: str) -> None:
        name = f"{self.prefix}/{os.path.relpath(path, self.folder).replace(os.sep, '/')}"
        try:
            while self._shipper.ship(name, path):
                pass
        except FileNotFoundError:
            return  # removed in the meantime


def ship_own(session: Session, run_id: str, folder: str) -> None:
    """Ship the journals that this rank of a job wrote, and no others (the machine's sampler writes there too)."""
    JournalDirectory(session, run_id, folder, f"rank_{os.environ.get(environ.RANK, '0')}_").ship()


class Spool:
    """The directory for the journals that this process writes for one run, and its lock.

    A forked child shares the lock and writes to the same directory, so the parent ships for it. Journals that the child
    writes after the parent has ended are recovered like those of a killed process.
    """

    def __init__(self, session: Session, run_id: str) -> None:
        owner = f"{os.getpid()}_{os.urandom(4).hex()}"
        self.folder = os.path.join(home_folder(), "spool", run_id, owner)
        os.makedirs(self.folder, 0o700)
        self._lock = FileLock(os.path.join(self.folder, _LOCK))
        self._lock.take()
        self._session = session
        self._run = run_id
        self._journals = JournalDirectory(session, run_id, self.folder, is_new=True)
        self._watches: List[LogDirectory] = []
        self._write_record()

    def watch(self, folder: str, prefix: str) -> None:
        """Ship the growing files of `folder` as well, from now on until `close`."""
        self._watches.append(LogDirectory(self._session, self._run, os.path.abspath(folder), prefix))
        self._write_record()

    def ship(self, finished: bool = False) -> None:
        self._journals.ship(finished)
        for watch in self._watches:
            watch.ship()

    def close(self) -> None:
        """Ship the rest, release the lock, and remove the directory unless a forked child still writes there."""
        self.ship()
        self._lock.close()
        _take_over(self._session, self.folder, lambda: self.ship(finished=True))

    def _write_record(self) -> None:
        record = {
            "run": self._run,
            "endpoint": self._session.endpoint,
            "watches": [[watch.folder, watch.prefix] for watch in self._watches],
        }
        atomic_write(os.path.join(self.folder, _RECORD), json.dumps(record).encode(), durable=False)


def recover(session: Session) -> None:
    """Ship the journals that dead processes have left in the spool for this server."""
    spool = os.path.join(home_folder(), "spool")
    if not os.path.isdir(spool):
        return
    for run_id in os.listdir(spool):
        recover_run(session, run_id)


def recover_run(session: Session, run_id: str) -> None:
    """Ship the journals that dead processes have left for one run; without any, this costs one look at the disk."""
    folder = os.path.join(home_folder(), "spool", run_id)
    for owner in _listing(folder):
        try:
            _take_over(session, os.path.join(folder, owner))
        except (AzureMLException, OSError) as error:
            _log.warning("journals that %s left for run %s could not be shipped: %s", owner, run_id, error)


def _take_over(session: Session, folder: str, ship: Optional[Callable[[], None]] = None) -> None:
    """Ship and remove a directory whose lock is free. `ship` is for a caller that knows the offsets."""
    try:
        lock = FileLock(os.path.join(folder, _LOCK), os.O_RDWR)
    except OSError:
        return
    try:
        if not lock.try_take():
            return  # the owner is alive
        record = _read_record(folder)
        if record.get("endpoint") != session.endpoint:
            return
        if ship is not None:
            ship()
        else:
            JournalDirectory(session, str(record["run"]), folder).ship(finished=True)
            for watched, prefix in record["watches"]:
                LogDirectory(session, str(record["run"]), watched, prefix).ship()
        shutil.rmtree(folder)
        os.rmdir(os.path.dirname(folder))
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        if os.path.isdir(folder):
            raise
        _log.debug("other processes still use the spool of the run: %s", error)
    finally:
        lock.close()


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
_guard = threading.Lock()


def ship_in_background(spool: Spool) -> None:
    with _guard:
        _spools.add(spool)
        _loop.start()


def stop_shipping(spool: Spool) -> None:
    with _guard:
        _spools.discard(spool)


def _ship_all() -> float:
    with _guard:
        spools = list(_spools)
        if not spools:
            _loop.stop()
    for spool in spools:
        try:
            spool.ship()
        except (AzureMLException, OSError) as error:
            # Nothing is lost: it is in the spool, and the next pass tries again.
            _log.debug("not shipped now: %s", error)
    return INTERVAL


_loop = Loop("footplate-shipper", _ship_all, first=INTERVAL)


@atexit.register
def _ship_at_exit() -> None:
    for spool in list(_spools):
        try:
            spool.close()
        except (AzureMLException, OSError) as error:
            _log.warning(
                "the last metrics could not be sent: %s\nThey are kept in %s and will be sent later.",
                error,
                spool.folder,
            )


def _after_fork_in_child() -> None:
    """Forget the spools: the parent's thread ships the files that this child creates in its directory."""
    global _guard, _loop
    _guard = threading.Lock()
    _loop = Loop("footplate-shipper", _ship_all, first=INTERVAL)
    _spools.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
