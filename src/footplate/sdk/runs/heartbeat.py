"""Heartbeats of interactive runs whose server is on another machine and cannot see this process.

One daemon thread for all runs of the process, apart from `run.log`. The server ends a run that it has not heard of for
40 seconds (`services.orchestration.client_watcher`).
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Callable, Dict

from footplate.background import Loop
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.session import Session

INTERVAL = 10.0
"""Seconds between two heartbeats."""

Beat = Callable[[], bool]
"""Sends a heartbeat; returns whether the run has ended."""

_log = logging.getLogger(__name__)


class Heartbeats:
    """The runs of this process that need heartbeats, and the thread that sends them."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._beats: Dict[str, Beat] = {}
        self._guard = threading.Lock()
        self._interval = interval
        self._loop = Loop("footplate-heartbeat", self._send_all, first=interval)

    def add(self, run_id: str, beat: Beat) -> None:
        with self._guard:
            self._beats[run_id] = beat
            self._loop.start()

    def remove(self, run_id: str) -> None:
        with self._guard:
            self._beats.pop(run_id, None)

    def _send_all(self) -> float:
        with self._guard:
            beats = dict(self._beats)
            if not beats:
                self._loop.stop()
        for run_id, beat in beats.items():
            self._send(run_id, beat)
        return self._interval

    def _send(self, run_id: str, beat: Beat) -> None:
        try:
            if not beat():
                return
        except (AzureMLException, OSError) as error:
            _log.debug("no heartbeat of run %s now: %s", run_id, error)  # the next one may arrive
            return
        with self._guard:
            is_news = self._beats.pop(run_id, None) is not None
        if is_news:
            _log.warning("run %s has ended at the server, see: footplate runs show %s", run_id, run_id)


_heartbeats = Heartbeats()


def start(session: Session, run_id: str) -> None:
    _heartbeats.add(run_id, lambda: session.api.runs.heartbeat(run_id).stop)


def stop(run_id: str) -> None:
    _heartbeats.remove(run_id)


def _after_fork_in_child() -> None:
    """Begin with nothing: the runs belong to the parent, and so does the thread."""
    global _heartbeats
    _heartbeats = Heartbeats()


os.register_at_fork(after_in_child=_after_fork_in_child)
