"""The journal that a run's metrics are written to in this process, and its shipping."""

from __future__ import annotations

import os
import threading
from typing import Dict, Optional, Tuple

from footplate import environ
from footplate.job.journal import Journal
from footplate.sdk.runs.shipping import Spool, ship_in_background, ship_own, stop_shipping
from footplate.sdk.session import Session


class Recorder:
    """The journal of one run. This process ships it from a spool; in a job (`spool` is None) the agent does."""

    def __init__(self, session: Session, run_id: str, journal: Journal, spool: Optional[Spool] = None) -> None:
        self._session = session
        self._run = run_id
        self.journal = journal
        self.spool = spool

    def flush(self) -> None:
        """Return when the server has everything that was logged before the call."""
        if self.spool is not None:
            self.spool.ship()
        else:
            ship_own(self._session, self._run, self.journal.folder)

    def close(self) -> None:
        """Flush, and stop writing."""
        self.journal.close()
        if self.spool is None:
            self.flush()
            return
        stop_shipping(self.spool)
        self.spool.close()


_recorders: Dict[Tuple[str, str], Recorder] = {}
_guard = threading.Lock()


def open_recorder(session: Session, run_id: str) -> Recorder:
    """Return the recorder of this run, the same one for every object of the run."""
    key = (session.endpoint, run_id)
    with _guard:
        if key not in _recorders:
            _recorders[key] = _make(session, run_id)
        return _recorders[key]


def close_recorder(session: Session, run_id: str) -> None:
    with _guard:
        recorder = _recorders.pop((session.endpoint, run_id), None)
    if recorder is not None:
        recorder.close()


def flush_recorder(session: Session, run_id: str) -> None:
    recorder = _recorders.get((session.endpoint, run_id))
    if recorder is not None:
        recorder.flush()


def flush_all(session: Session) -> None:
    """Flush everything that this process has logged to runs of this server."""
    with _guard:
        open_ones = [recorder for (endpoint, _), recorder in _recorders.items() if endpoint == session.endpoint]
    for recorder in open_ones:
        recorder.flush()


def _make(session: Session, run_id: str) -> Recorder:
    journals = os.environ.get(environ.JOURNALS)
    if journals:
        return Recorder(session, run_id, Journal(os.path.join(journals, run_id)))
    spool = Spool(session, run_id)
    ship_in_background(spool)
    return Recorder(session, run_id, Journal(spool.folder), spool)
