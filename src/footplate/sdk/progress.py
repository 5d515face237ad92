"""A line on the terminal that shows how far a transfer is; nothing where there is no terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Callable, Optional, Sequence

_WIDTH = 24
_UNITS = ("B", "kB", "MB", "GB", "TB")


def bar(title: str, show: bool = True) -> Optional[Callable[[Sequence[int]], None]]:
    """What to tell the progress to, None when nobody would see it."""
    return Bar(title).report if show and sys.stderr.isatty() else None


class Bar:
    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()

    def report(self, progress: Sequence[int]) -> None:
        files, files_total, done, total = progress
        finished = files >= files_total
        share = 1.0 if finished else done / total if total > 0 else files / max(1, files_total)
        seconds = max(1e-9, time.monotonic() - self._began)
        line = (
            f"{self._title} {_drawn(min(1.0, share))} {files}/{files_total} files  "
            f"{readable(done)}  {readable(done / seconds)}/s"
        )
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + line[:room].ljust(room) + ("\n" if finished else ""))
        sys.stderr.flush()


def _drawn(share: float) -> str:
    full = int(share * _WIDTH)
    return "━" * full + "╌" * (_WIDTH - full) + f" {share:4.0%}"


def readable(count: float) -> str:
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{int(value)} {unit}" if unit == "B" else f"{value:.1f} {unit}"
