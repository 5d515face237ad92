"""The last line of the terminal while something goes on: what it is, and for how long. Talk, and gone when it is over.

Nothing of it reaches a pipe, a file or a terminal that cannot move its cursor.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Generator

from footplate.cli.console import duration, is_terminal
from footplate.cli.tables import cut

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_SECONDS = 0.1
_SHY_SECONDS = 0.4
"""What is over sooner than this is not worth a line."""
_ERASE = "\r\x1b[2K"


class Live:
    """From `with` to its end there may be such a line; `show` says what is on it, and `hide` that there is none."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._is_possible = is_terminal(self._stream)
        self._guard = threading.RLock()
        self._text = ""
        self._since = 0.0
        self._is_drawn = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_forever, name="live-line", daemon=True)

    def __enter__(self) -> Live:
        if self._is_possible:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.hide()
        if self._is_possible:
            self._thread.join()

    def show(self, text: str) -> None:
        """The clock runs on while one text follows the other."""
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
        """Room for printing: the line is out of the way, and comes back below what was printed."""
        with self._guard:
            self._erase()
            yield

    def _draw_forever(self) -> None:
        frame = 0
        while not self._over.wait(_TICK_SECONDS):
            frame = (frame + 1) % len(_FRAMES)
            with self._guard:
                passed = time.monotonic() - self._since
                if self._text and passed >= _SHY_SECONDS and not self._over.is_set():
                    self._draw(f"{_FRAMES[frame]} {self._text}", f"  {duration(passed)}")

    def _draw(self, text: str, clock: str) -> None:
        room = shutil.get_terminal_size().columns - 1 - len(clock)  # a full line would break
        self._write(f"{_ERASE}{cut(text, max(room, 1))}{clock}")
        self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(_ERASE)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, which is not what the command is about
            self._stream.write(text)
            self._stream.flush()


@contextlib.contextmanager
def working(text: str) -> Generator[None, None, None]:
    """While the block runs, its text is on the line."""
    with Live() as live:
        live.show(text)
        yield
