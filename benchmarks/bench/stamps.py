"""The time from a submitting call to the first line of the script, which the script records itself."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from bench.harness import Report, Row, interleave, wait_for
from bench.machine import temporary_folder

SCRIPT = Path(__file__).parent / "jobs" / "stamp.py"
"""The script: its first argument is the path of the stamp; others are ignored."""

Start = Callable[[str], Callable[[], object]]
"""A function that submits the script with the path of its stamp, and returns one that waits for the end of the run."""

Contestants = Callable[[Path, Path], AbstractContextManager[Mapping[str, Start]]]
"""A function of two folders, an empty one and the source, that provides the contestants while it is entered."""


@dataclass
class Stamps:
    """Paths for the stamps of runs, and a reader of their content."""

    folder: Path
    pids: set[int] = field(default_factory=set)
    early: int = 0

    def measure(self, start: Start) -> float:
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


def compare(
    report: Report, contestants: Contestants, rounds: int, every: Mapping[str, int] | None = None, spread: bool = False
) -> None:
    """Measure the contestants in turn, and add their rows and the checks to the report.

    With `spread`, the submissions of each contestant are spread evenly over a second of the clock. A scheduler that
    starts jobs once a second would otherwise answer those late that happen to be submitted right after its turn.
    """
    with temporary_folder() as folder:
        source = folder / "source"
        source.mkdir()
        shutil.copy(SCRIPT, source)
        stamps = Stamps(folder)
        with contestants(folder, source) as starts:
            for start in starts.values():
                stamps.measure(start)  # warm up
            warmed = len(stamps.pids)
            measures = {who: _measure(stamps, start, rounds if spread else 0) for who, start in starts.items()}
            samples = interleave(rounds, measures, dict(every or {}))
    report.rows = [Row(who, values) for who, values in samples.items()]
    count = warmed + sum(len(values) for values in samples.values())
    report.check("each run was a process of its own", len(stamps.pids) == count, f"{len(stamps.pids)} of {count}")
    report.check("no script began before it was submitted", stamps.early == 0, stamps.early)


def _measure(stamps: Stamps, start: Start, parts: int) -> Callable[[], float]:
    """Return a function that measures one submission, the n-th of them in the n-th of `parts` parts of a second."""
    turns = iter(range(parts))

    def measure() -> float:
        if parts:
            wanted = (next(turns) + 0.5) / parts
            time.sleep((wanted - time.time()) % 1.0)
        return stamps.measure(start)

    return measure
