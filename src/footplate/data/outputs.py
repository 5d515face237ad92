"""What a run writes, on its way to a store.

A store that is a folder of this machine is written to in place: the script sees that folder, and so does everybody
else, at once. For any other store the script writes to a folder of this machine, which is sent when the run has ended
well (`upload_folder`), or file by file as they are done and the rest at the end (`Courier`: outputs in mount mode).
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from footplate.data.base import Report, Store
from footplate.data.transfer import Overwrite, Uploaded, local_files, upload
from footplate.domain.data import Entry
from footplate.domain.names import clean_folder, join, matches
from footplate.errors import FootplateError

_LOOK_SECONDS = 1.0
QUIET_SECONDS = 2.0
"""A file that was not written to for so long counts as done."""


def folder_in_place(store: Store, folder: str) -> Path | None:
    """The folder of the store to write to directly, made if need be; None for a store that is not on this machine."""
    if store.folder is None:
        return None
    path = store.folder / clean_folder(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


def upload_folder(
    source: Path | str,
    store: Store,
    folder: str,
    *,
    patterns: Iterable[str] = (),
    overwrite: Overwrite = "refuse",
    report: Report | None = None,
) -> Uploaded:
    """Send the files of a folder, or those that a pattern matches, to a folder of the store."""
    wanted = [pattern.strip("/") for pattern in patterns]
    found = ((path, name) for path, name in local_files(source) if _is_wanted(name, wanted))
    chosen = [(path, join(clean_folder(folder), name)) for path, name in found]
    return upload(chosen, store, overwrite=overwrite, report=report)


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    """A pattern without a slash is about the last part of a name, in any folder; a folder means all that is in it."""
    last = name.rpartition("/")[2]
    return not patterns or any(
        matches(pattern, name) or name.startswith(f"{pattern}/") or ("/" not in pattern and matches(pattern, last))
        for pattern in patterns
    )


class Courier:
    """Sends the files of a folder as they are done, while others are still being written. `finish` sends what is left.

    A file is sent when it was not written to for a moment, and again when it changed since: the store ends up with the
    last state of each. What cannot be sent now is tried again; only `finish` says so, and can be called again.
    """

    def __init__(self, source: Path | str, store: Store, folder: str) -> None:
        self._source, self._store, self._folder = Path(source), store, clean_folder(folder)
        self._sent, self._turn = dict[str, tuple[int, int]](), threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="footplate-output", daemon=True)
        self._source.mkdir(parents=True, exist_ok=True)

    def start(self) -> Courier:
        self._thread.start()
        return self

    def _work(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            with contextlib.suppress(FootplateError, OSError):
                self.send(until=time.time() - QUIET_SECONDS)

    def send(self, until: float, report: Report | None = None) -> list[Entry]:
        """Send what changed since it was last sent, and was written to no later than `until`."""
        with self._turn:
            due = {name: (path, stamp) for path, name, stamp in self._changed() if stamp[1] <= until * 1e9}
            files = [(path, join(self._folder, name)) for name, (path, _) in due.items()]
            done = upload(files, self._store, overwrite="replace", report=report)
            self._sent.update((name, stamp) for name, (_, stamp) in due.items())
            return done.stored

    def _changed(self) -> Iterator[tuple[Path, str, tuple[int, int]]]:
        for path, name in local_files(self._source):
            with contextlib.suppress(FileNotFoundError):  # removed while we look
                info = os.stat(path)
                stamp = (info.st_size, info.st_mtime_ns)
                if self._sent.get(name) != stamp:
                    yield path, name, stamp

    def finish(self, report: Report | None = None) -> list[str]:
        """Send the rest; the names of all that was sent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.send(until=math.inf, report=report)
        return sorted(self._sent)
