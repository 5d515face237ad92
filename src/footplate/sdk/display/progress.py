"""A progress bar for transfers, shown only on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from typing import Callable, Generator, Optional, Sequence

from footplate.domain.text import counted, size

_WIDTH = 24


@contextmanager
def bar(title: str, show: bool = True) -> Generator[Optional[Callable[[Sequence[int]], None]], None, None]:
    """Yield a function that takes progress reports, or None if nobody would see the bar."""
    display = Bar(title)
    try:
        yield display.report if show and sys.stderr.isatty() else None
    finally:
        display.leave()


class Bar:
    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._open = False  # whether the cursor is still on the bar's line
        self._last: Sequence[int] = ()

    def report(self, progress: Sequence[int]) -> None:
        files, files_total, done, total = progress
        if tuple(progress) == self._last:  # the last report may arrive twice
            return
        self._last = tuple(progress)
        finished = files >= files_total
        share = 1.0 if finished else done / total if total > 0 else files / max(1, files_total)
        seconds = max(1e-9, time.monotonic() - self._began)
        line = (
            f"{self._title} {_draw_bar(min(1.0, share))} {files}/{counted(files_total, 'file')}  "
            f"{size(done)}  {size(done / seconds)}/s"
        )
        room = shutil.get_terminal_size().columns - 1
        self._open = not finished
        sys.stderr.write("\r" + line[:room].ljust(room) + ("\n" if finished else ""))
        sys.stderr.flush()

    def leave(self) -> None:
        if self._open:
            self._open = False
            sys.stderr.write("\n")
            sys.stderr.flush()


def _draw_bar(share: float) -> str:
    full = int(share * _WIDTH)
    return "━" * full + "╌" * (_WIDTH - full) + f" {share:4.0%}"
