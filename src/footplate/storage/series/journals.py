"""The journals of runs: how much of each writer is ingested, and decoders that know the series it has defined."""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Set
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from sqlalchemy import bindparam, select

from footplate.job.journal_format import MARK, SERIES, SLOT, Decoder
from footplate.storage.database import Database
from footplate.storage.schema import journals

_REMEMBERED = 512
_SERIES_SIGN = re.compile(re.escape(bytes([SERIES])))
_ROWS = select(journals.c.writer, journals.c.system, journals.c.ingested, journals.c.definitions).where(
    journals.c.run == bindparam("run")
)
_ROW = _ROWS.where(journals.c.writer == bindparam("writer"))


class StoredJournal(NamedTuple):
    """A writer's row: whether it holds machine samples, how much is ingested, which slots define its series."""

    writer: str
    system: bool
    ingested: int
    definitions: bytes

    def after(self, piece: bytes) -> StoredJournal:
        """Return the row after ingesting these slots."""
        return self._replace(ingested=self.ingested + len(piece), definitions=self.definitions + _definitions(piece))


class Journals:
    """Rows are cached; writers compare them with the database, so a stale row does no harm."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[int, str], tuple[StoredJournal, JournalDecoder | None]] = OrderedDict()

    def of_run(self, run: int) -> list[StoredJournal]:
        rows = self._database.all(_ROWS, {"run": run})
        return sorted(StoredJournal(*row) for row in rows)

    def get(self, run: int, writer: str, system: bool) -> StoredJournal:
        """Return the writer's row, created before the first byte of its file, so that no file lacks one."""
        if (cached := self._known.get((run, writer))) is not None:
            return cached[0]
        journal = StoredJournal(writer, system, 0, b"")
        with self._database.write() as connection:
            # Almost always it is new: a row that is not in the cache is one that an earlier server wrote.
            if not self._database.insert_new(connection, journals, run=run, **journal._asdict()):
                journal = StoredJournal(*connection.execute(_ROW, {"run": run, "writer": writer}).one())
        self.keep(run, journal, None)
        return journal

    def take_decoder(self, run: int, journal: StoredJournal, text: Path) -> JournalDecoder:
        """Return a decoder that has seen all slots of this journal so far. The caller owns it until it is kept."""
        with self._guard:
            before, decoder = self._known.pop((run, journal.writer), (None, None))
        if decoder is not None and before == journal:
            return decoder
        decoder = JournalDecoder(text)
        with decoder.text:
            decoder.columns(journal.definitions)
        return decoder

    def keep(self, run: int, journal: StoredJournal, decoder: JournalDecoder | None) -> None:
        with self._guard:
            self._known[run, journal.writer] = (journal, decoder)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def forget(self, run: int, writer: str) -> None:
        with self._guard:
            self._known.pop((run, writer), None)

    def forget_runs(self, keys: Set[int]) -> None:
        with self._guard:
            for key in [each for each in self._known if each[0] in keys]:
                del self._known[key]


class JournalDecoder(Decoder):
    """Use it inside `with decoder.text:`."""

    def __init__(self, path: Path) -> None:
        self.text = _Text(path)
        super().__init__(self.text)

    @property
    def names(self) -> Mapping[int, str]:
        """The series that were defined so far, by number."""
        return self._names


class _Text:
    """The text of a writer, open while slots are decoded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._size = 0

    def __enter__(self) -> None:
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            self._size = os.fstat(self._file).st_size
        except FileNotFoundError:
            self._size = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def __call__(self, offset: int, length: int) -> bytes:
        # A slot may claim any length: read no more than there is.
        length = min(length, self._size - offset)
        return os.pread(self._file, length, offset) if self._file is not None and length > 0 else b""


def _definitions(piece: bytes) -> bytes:
    """Return the slots of a piece that define a series."""
    slots: list[bytes] = []
    mark = MARK.to_bytes(2, "little")
    for match in _SERIES_SIGN.finditer(piece[28::SLOT]):
        slot = piece[match.start() * SLOT : (match.start() + 1) * SLOT]
        if slot[29] == 0 and slot[30:] == mark:
            slots.append(slot)
    return b"".join(slots)
