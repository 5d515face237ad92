"""Logs as they grow: files under `runs/<run>/logs`, written by offset. There is no database row besides the file.

`runs/<run>/log_times` has a file for each that grew for more than a second: the times at which its bytes arrived.
`runs/<run>/log_lines` has the line numbers of those that somebody has read (`log_reading`).
"""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Callable
from pathlib import Path

from footplate.domain.records import FileView
from footplate.errors import Broken
from footplate.storage.paths import check_path
from footplate.storage.run_keys import RunKeys
from footplate.storage.series import append_files, arrival_times
from footplate.storage.series.append_files import KeyedLocks
from footplate.storage.series.arrival_times import ArrivalTimes

_OWN = ("user_logs/", "system_logs/", "azureml-logs/")
"""The logs that Footplate writes; files of watched folders may be rewritten by the script."""

_LONGEST_LINE = 64 * 1024  # bytes to look back for the start of a line


class Logs:
    def __init__(self, home: Path, keys: RunKeys) -> None:
        self._runs = home / "runs"
        self._keys = keys
        self._locks = KeyedLocks()
        self._marks = ArrivalTimes()
        self.on_rewrite: Callable[[str, str, int], None] = lambda run, path, size: None

    def append(
        self, run: str, path: str, offset: int, data: bytes, replace: bool = False, now: float | None = None
    ) -> int:
        """Append to a log and return its size. Known bytes are skipped; a gap is a Conflict with `size`.

        `replace`: the log was rewritten; keep its first `offset` bytes and continue with `data`. `now` is the time of
        arrival, if that is another one.
        """
        file = self.file_of(run, path)
        with self._locks.hold((run, path)):
            before, changed = append_files.size_and_time_of(file)
            if replace:
                aside = self._runs / run / "aside" / f"{os.getpid()}-{id(data)}"
                if offset == 0:
                    self.times_of(run, path).unlink(missing_ok=True)
                before = offset
                size = append_files.replace(file, aside, offset, data)
                self.on_rewrite(run, path, offset)
            else:
                size = append_files.append(file, offset, data)
            if size > before:
                self._marks.mark(self.times_of(run, path), before, time.time() if now is None else now, changed)
            if now is not None:
                os.utime(file, (now, now))
            return size

    def recent(self, run: str, path: str, moment: float) -> int:
        """Return the offset of the first line of which anything arrived after `moment`; the size if nothing did.

        A log without times counts as written when it was last changed.
        """
        file = self.file_of(run, path)
        size = append_files.size_of(file)
        if not size:
            return 0
        times = self.times_of(run, path)
        if not times.exists():
            return 0 if file.stat().st_mtime > moment else size
        offset = arrival_times.first_offset(times, moment)
        return size if offset is None else self._start_of_line(file, min(offset, size))

    @staticmethod
    def _start_of_line(file: Path, offset: int) -> int:
        begin = max(0, offset - _LONGEST_LINE)
        before = append_files.read(file, begin, offset - begin)
        return begin + before.rfind(b"\n") + 1

    def read(self, run: str, path: str, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes; nothing for a log that does not exist yet."""
        return append_files.read(self.file_of(run, path), max(0, offset), limit)

    def size(self, run: str, path: str) -> int:
        return append_files.size_of(self.file_of(run, path))

    def list(self, run: str) -> builtins.list[FileView]:
        """List logs by path."""
        root = self._root(run)
        files: builtins.list[FileView] = []
        for folder, _, names in os.walk(root):
            for name in names:
                file = os.path.join(folder, name)
                about = os.stat(file)
                files.append(FileView(os.path.relpath(file, root), about.st_size, None, about.st_mtime))
        return sorted(files, key=lambda file: file.path)

    def totals(self, run: str) -> tuple[int, int]:
        """Return how many logs Footplate itself keeps of the run, and their bytes. Neither ever shrinks."""
        sizes = [file.size for file in self.list(run) if file.path.startswith(_OWN)]
        return len(sizes), sum(sizes)

    def check(self, run: str, expected: tuple[int, int]) -> None:
        """Raise Broken if there are fewer logs, or less in them, than there were."""
        count, size = self.totals(run)
        if count < expected[0] or size < expected[1]:
            raise Broken(
                f"logs of run {run} are lost: it had {expected[0]} with {expected[1]} bytes, and {self._root(run)} has "
                f"{count} with {size} bytes",
                "restore the folder from a backup; footplate server verify lists everything that is damaged",
                run=run,
            )

    def sizes(self, run: str) -> dict[str, int]:
        return {file.path: file.size for file in self.list(run)}

    def _root(self, run: str) -> Path:
        self._keys.of(run)  # an unknown run id never becomes a path
        return self._runs / run / "logs"

    def times_of(self, run: str, path: str) -> Path:
        return self._runs / run / "log_times" / check_path(path)

    def index_of(self, run: str, path: str) -> Path:
        """Return the side file with the line numbers of a log."""
        return self._runs / run / "log_lines" / check_path(path)

    def file_of(self, run: str, path: str) -> Path:
        return self._root(run) / check_path(path)
