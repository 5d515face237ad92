"""Captures the output of a `with run:` block: stdout and stderr also go to ./logs/user_log.txt."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, TextIO

from footplate.sdk.runs.recorder import Recorder

LOG_FOLDER = "logs"
LOG_NAME = "user_log.txt"


class Capture:
    """An active capture. Until `end`, output is copied to the log, and growing files in ./logs are shipped."""

    def __init__(self, recorder: Recorder) -> None:
        os.makedirs(LOG_FOLDER, exist_ok=True)
        self._file = open(os.path.join(LOG_FOLDER, LOG_NAME), "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        if recorder.spool is not None:  # inside a job the node agent watches ./logs
            recorder.spool.watch(LOG_FOLDER, LOG_FOLDER)
        guard = threading.Lock()
        self._before = sys.stdout, sys.stderr
        self._tees = _Tee(sys.stdout, self._file, guard), _Tee(sys.stderr, self._file, guard)
        sys.stdout, sys.stderr = self._tees  # type: ignore[assignment]

    def end(self) -> None:
        # Streams that were replaced in the meantime are left alone.
        if sys.stdout is self._tees[0]:
            sys.stdout = self._before[0]
        if sys.stderr is self._tees[1]:
            sys.stderr = self._before[1]
        self._file.close()


class _Tee:
    """A text stream that writes to two; every other call goes to the first."""

    def __init__(self, first: TextIO, second: TextIO, guard: threading.Lock) -> None:
        self._first = first
        self._second = second
        self._guard = guard

    def write(self, text: str) -> int:
        with self._guard:
            if not self._second.closed:
                self._second.write(text)
                self._second.flush()
        return self._first.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)
