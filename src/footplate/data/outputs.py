"""What a run writes, on its way to a store that is not on this machine.

The script writes to a folder of this machine; an `OutputUploader` sends its files to the store: during the run, as they
are done, or all of them at the end. What was sent is written down, so whoever takes the courier's place goes on there.
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
from typing import NamedTuple

from footplate.data.stores.base import FileStore, Report
from footplate.data.transfer.batch import Overwrite, local_files, upload
from footplate.domain.store_names import clean_folder, join
from footplate.errors import FootplateError

_LOOK_SECONDS = 1.0
QUIET_SECONDS = 1.0
"""A file that was not written to for so long, and that nobody has open for writing, counts as done."""

_BATCH = 64
"""So many files are sent before they are written down as sent."""

Stamp = tuple[int, int]
"""Size and time of the last change, in nanoseconds."""

Inodes = frozenset[tuple[int, int]]
"""Files by device and inode."""


class _Due(NamedTuple):
    path: Path
    name: str
    stamp: Stamp


class OutputUploader:
    """Sends the files of a folder; `start` has it do so by itself as they are done, and `finish` sends what is left.

    A file is sent again when it changed since: the store ends up with the last state of each. What cannot be sent now
    is tried again; only `finish` says so, and can be called again.

    `notes`: the file in which it writes down what was sent. `chosen`: which names go. `replaces`: whether a file of
    somebody else at the same place gives way; else it stays (`kept`). `being_written`: files that somebody has open.
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
        self._source, self._store, self._folder, self._notes = Path(source), store, clean_folder(folder), Path(notes)
        self._chosen, self._replaces, self._being_written = chosen, replaces, being_written
        self._sent, self._turn = _read(self._notes), threading.Lock()
        self._kept = set[str]()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="footplate-output", daemon=True)

    def start(self) -> OutputUploader:
        self._thread.start()
        return self

    def finish(self, report: Report | None = None) -> None:
        """Send all that is left, whoever has it open. The folder need not exist: then nothing was written."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.send(math.inf, report)

    @property
    def kept(self) -> list[str]:
        """Names in the folder that the store had before, from somebody else, and that stayed as they were."""
        return sorted(self._kept)

    def _work(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            with contextlib.suppress(FootplateError, OSError):
                self.send(time.time() - QUIET_SECONDS)

    def send(self, until: float, report: Report | None = None) -> None:
        """Send what changed since it was last sent, and was written to no later than `until`."""
        with self._turn:
            due = list(self._due(until))
            for batch in (due[at : at + _BATCH] for at in range(0, len(due), _BATCH)):
                self._send(batch, report)
                if self._stop.is_set() and until != math.inf:
                    return

    def _due(self, until: float) -> Iterator[_Due]:
        if not self._source.is_dir():
            return
        busy = self._being_written() if until != math.inf else Inodes()
        for path, name in local_files(self._source):
            with contextlib.suppress(FileNotFoundError):  # removed while we look
                info = os.stat(path)
                stamp = (info.st_size, info.st_mtime_ns)
                done = info.st_mtime <= until and (info.st_dev, info.st_ino) not in busy
                if done and name not in self._kept and self._sent.get(name) != stamp and self._chosen(name):
                    yield _Due(path, name, stamp)

    def _send(self, batch: Sequence[_Due], report: Report | None) -> None:
        """What we have sent before is ours to replace; what is new, by the rule."""
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
    """What an earlier courier has sent; a line that its death cut short says nothing."""
    sent = dict[str, Stamp]()
    with contextlib.suppress(FileNotFoundError), notes.open(encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):
                name, size, changed = json.loads(line)
                sent[name] = (size, changed)
    return sent
