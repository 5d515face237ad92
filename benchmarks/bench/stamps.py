"""The start time of a script, recorded by the script itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.harness import wait_for

SCRIPT = Path(__file__).parent / "jobs" / "stamp.py"
"""The script: its first argument is the path of the stamp; others are ignored."""


@dataclass
class Stamps:
    """Paths for the stamps of runs, and a reader of their content."""

    folder: Path
    pids: set[int] = field(default_factory=set)
    early: int = 0

    def measure(self, start: Callable[[str], Callable[[], object]]) -> float:
        """Return the milliseconds from calling `start` to the script's first line; its result waits for the end."""
        path = self.folder / f"stamp_{time.monotonic_ns()}"
        begin = time.time_ns()
        finish = start(str(path))
        text: str = wait_for(f"the script's stamp {path}", lambda: path.read_text() if path.exists() else None)
        finish()
        first_line, pid = (int(word) for word in text.split())
        self.pids.add(pid)
        self.early += first_line < begin
        return (first_line - begin) / 1e6
