"""Upload of a run's outputs to a store that is not on this machine.

The script writes to a local folder; an `OutputUploader` sends its files to the store, either during the run as each is
finished, or all at the end. It records the files that it has sent, so a successor can resume.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import FrozenSet, NamedTuple, Tuple

from footplate.background import Loop
from footplate.data.stores.base import FileStore, Report
from footplate.data.transfer.batch import Overwrite, local_files, upload
from footplate.domain.store_names import clean_folder, join
from footplate.errors import FootplateError

_LOOK_SECONDS = 1.0
QUIET_SECONDS = 1.0
"""A file counts as finished if it was not written to for this long and no process has it open for writing."""

_BATCH = 64
"""Number of files sent before they are recorded as sent."""

Stamp = Tuple[int, int]
"""Size and time of the last change in nanoseconds."""

Inodes = FrozenSet[Tuple[int, int]]
"""Files by device and inode."""


class _Due(NamedTuple):
    path: Path
    name: str
    stamp: Stamp


class OutputUploader:
    """Sends the files of a folder. `start` sends each file once it is finished; `finish` sends the rest.

    A file that has changed is sent again: the store ends up with the last version of each. Failed uploads are retried;
    only `finish` raises, and it may be called again.

    `notes`: the file that records sent files. `chosen`: selects the names to send. `replaces`: whether to overwrite
    files that somebody else wrote; otherwise they stay (`kept`). `being_written`: returns the files that are open for
    writing.
    """

    def __init__(
        self,
        source: Path | str,
        store: FileStore,
        folder: str,
        notes: Path | str,
        *,
        chosen: Callable[[str], bool] = lambda _: True,
        replaces: bool = True,
        being_written: Callable[[], Inodes] = frozenset,
    ) -> None:
        self._source = Path(source)
        self._store = store
        self._folder = clean_folder(folder)
        self._notes = Path(notes)
        self._chosen, self._replaces, self._being_written = chosen, replaces, being_written
        self._sent = _read(self._notes)
        self._turn = threading.Lock()
        self._kept: set[str] = set()
        self._loop = Loop("footplate-output", self._send_finished, first=_LOOK_SECONDS)

    def start(self) -> OutputUploader:
        self._loop.start()
        return self

    def finish(self, report: Report | None = None) -> None:
        """Send everything that is left, open or not. A missing folder means that nothing was written."""
        self._loop.stop()
        self.send(math.inf, report)

    @property
    def kept(self) -> list[str]:
        """Names in the folder that existed in the store before, written by somebody else, and were not overwritten."""
        return sorted(self._kept)

    def _send_finished(self) -> float:
        with contextlib.suppress(FootplateError, OSError):
            self.send(time.time() - QUIET_SECONDS)
        return _LOOK_SECONDS

    def send(self, until: float, report: Report | None = None) -> None:
        """Send files that have changed since they were sent, and that were last written to no later than `until`."""
        with self._turn:
            due = list(self._due(until))
            for batch in (due[at : at + _BATCH] for at in range(0, len(due), _BATCH)):
                self._send(batch, report)
                if self._loop.is_stopping and until != math.inf:
                    return

    def _due(self, until: float) -> Iterator[_Due]:
        if not self._source.is_dir():
            return
        busy: FrozenSet[Tuple[int, int]] = self._being_written() if until != math.inf else frozenset()
        for path, name in local_files(self._source):
            with contextlib.suppress(FileNotFoundError):  # removed during the scan
                info = os.stat(path)
                stamp = (info.st_size, info.st_mtime_ns)
                done = info.st_mtime <= until and (info.st_dev, info.st_ino) not in busy
                if done and name not in self._kept and self._sent.get(name) != stamp and self._chosen(name):
                    yield _Due(path, name, stamp)

    def _send(self, batch: Sequence[_Due], report: Report | None) -> None:
        """Replace files that this uploader sent before; treat new ones as `replaces` says."""
        ours = [due for due in batch if self._replaces or due.name in self._sent]
        new = [due for due in batch if not (self._replaces or due.name in self._sent)]
        stayed = {*self._upload(ours, "replace", report), *self._upload(new, "skip", report)}
        self._kept |= {due.name for due in new if join(self._folder, due.name) in stayed}
        self._note([due for due in batch if due.name not in self._kept])

    def _upload(self, some: Sequence[_Due], overwrite: Overwrite, report: Report | None) -> list[str]:
        named = [(due.path, join(self._folder, due.name)) for due in some]
        parts = f"{self._notes}.parts"
        return upload(named, self._store, overwrite=overwrite, report=report, notes=parts).skipped

    def _note(self, sent: Sequence[_Due]) -> None:
        self._notes.parent.mkdir(parents=True, exist_ok=True)
        with self._notes.open("a", encoding="ascii") as file:
            file.write("".join(json.dumps([due.name, *due.stamp]) + "\n" for due in sent))
        self._sent.update((due.name, due.stamp) for due in sent)


def _read(notes: Path) -> dict[str, Stamp]:
    """Read the notes of an earlier uploader. A line that its death cut short is ignored."""
    sent: dict[str, Stamp] = {}
    with contextlib.suppress(FileNotFoundError), notes.open(encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):
                name, size, changed = json.loads(line)
                sent[name] = (size, changed)
    return sent
