"""The server's own log, `logs/server.log` in the home folder: rotated, and the target of everything it prints."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import cast

from footplate.client import home as homes

BURST = 5
QUIET_SECONDS = 60.0
"""A warning or an error that was logged BURST times is logged again only after this time, with a count."""

MAX_BYTES = 10 * 1000 * 1000
KEPT = 3
_PLACES = 1000


class _Log(RotatingFileHandler):
    """A rotating log file that redirects stdout and stderr to the new file if they pointed to the log before."""

    def __init__(self, path: str) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8")
        self.takes_streams = [fd for fd in (1, 2) if _is_same(fd, path)]

    def _open(self) -> TextIOWrapper:
        stream = open(self.baseFilename, self.mode, encoding=self.encoding, opener=_open_private)  # noqa: SIM115
        return cast(TextIOWrapper, stream)

    def doRollover(self) -> None:
        super().doRollover()
        if self.stream is not None:
            for descriptor in self.takes_streams:
                os.dup2(self.stream.fileno(), descriptor)


class RepeatFilter(logging.Filter):
    """Limits how often one place in the code may log a warning or an error: a flood of them would hide the others.

    An incident is always logged: clients have its number.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}  # by place: since when, and how often

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or hasattr(record, "incident"):
            return True
        place = (record.pathname, record.lineno, str(record.msg).partition("\n")[0])
        now = self._clock()
        since, count = self._seen.get(place, (now, 0))
        if count and now - since >= QUIET_SECONDS:
            if count > BURST:
                record.msg = f"{record.msg} ({count - BURST} more of these in the last {now - since:.0f} s)"
            since = now
            count = 0
        if len(self._seen) > _PLACES:
            self._seen.clear()
        self._seen[place] = (since, count + 1)
        return count < BURST


def configure_log(home: str) -> str:
    """Set up the log and return its path. A server in a terminal also prints everything there."""
    path = os.path.join(home, homes.LOG)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handler = _Log(path)
    handlers: list[logging.Handler] = [handler]
    if 2 not in handler.takes_streams:
        handlers.append(logging.StreamHandler(sys.stderr))
    for each in handlers:
        each.addFilter(RepeatFilter())
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, handlers=handlers, format=form, force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return path


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
