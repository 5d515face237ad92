"""The live last line of a terminal: the current activity and its duration, or the progress of a transfer.

Nothing of it reaches a pipe, a file or a terminal that cannot move its cursor.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import Callable, Generator, Iterator, Optional, Sequence

from footplate.background import Loop
from footplate.domain.text import counted, cut, duration, size

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_SECONDS = 0.1
_SHY_SECONDS = 0.4
"""Seconds before the line appears: shorter activities are not worth one."""
_ERASE = "\r\x1b[2K"
_only = threading.Lock()


class Live:
    """A context in which a live line may be shown; `show` sets its text, and `hide` removes it.

    A terminal has one last line: a context inside another one shows nothing.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._is_possible = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._guard = threading.RLock()
        self._text = ""
        self._since = 0.0
        self._is_drawn = False
        self._frames = itertools.cycle(_FRAMES)
        self._loop = Loop("live-line", self._draw_next, first=_TICK_SECONDS)

    def __enter__(self) -> Live:
        self._is_possible = self._is_possible and _only.acquire(blocking=False)
        if self._is_possible:
            self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.stop()
        self.hide()
        if self._is_possible:
            _only.release()

    def show(self, text: str) -> None:
        """Set the text. The clock continues if there was one before."""
        with self._guard:
            if not self._text:
                self._since = time.monotonic()
            self._text = text

    def hide(self) -> None:
        with self._guard:
            self._erase()
            self._text = ""

    @contextlib.contextmanager
    def aside(self) -> Generator[None, None, None]:
        """Remove the line while the block prints, and draw it again below."""
        with self._guard:
            self._erase()
            yield

    def _draw_next(self) -> float:
        frame = next(self._frames)
        with self._guard:
            passed = time.monotonic() - self._since
            if self._text and passed >= _SHY_SECONDS and not self._loop.is_stopping:
                self._draw(f"{frame} {self._text}", f"  {duration(passed)}")
        return _TICK_SECONDS

    def _draw(self, text: str, clock: str) -> None:
        room = shutil.get_terminal_size().columns - 1 - len(clock)  # a full line would wrap
        self._write(f"{_ERASE}{cut(text, max(room, 1))}{clock}")
        self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(_ERASE)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone; the command continues
            self._stream.write(text)
            self._stream.flush()


@contextlib.contextmanager
def working(text: str) -> Generator[None, None, None]:
    """Show the text while the block runs."""
    with Live() as live:
        live.show(text)
        yield


@contextlib.contextmanager
def transferring(text: str, total: int) -> Generator[Callable[[Iterator[bytes]], Iterator[bytes]], None, None]:
    """Show how much of a transfer of `total` bytes is done; yield the function through which its pieces pass."""
    done = 0
    with Live() as live:

        def counting(pieces: Iterator[bytes]) -> Iterator[bytes]:
            nonlocal done
            for piece in pieces:
                done += len(piece)
                live.show(f"{text}: {size(done)} of {size(total)} ({done / max(total, done, 1):.0%})")
                yield piece

        live.show(text)
        yield counting


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
