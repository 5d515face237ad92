"""The server's own log, `logs/server.log` in the home folder: rotated, and the target of everything it prints."""

from __future__ import annotations

import logging
import os
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import cast

from footplate.client import home as homes

MAX_BYTES = 10 * 1000 * 1000
KEPT = 3


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


def configure_log(home: str) -> str:
    """Set up the log and return its path. A server in a terminal also prints everything there."""
    path = os.path.join(home, homes.LOG)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handler = _Log(path)
    handlers: list[logging.Handler] = [handler]
    if 2 not in handler.takes_streams:
        handlers.append(logging.StreamHandler(sys.stderr))
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
