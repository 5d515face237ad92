"""Metrics: the journals of a run, byte for byte as its writers wrote them, and summaries in the database for search.

A journal file is written first and ingested afterwards. The summaries and the ingested length change in one
transaction, so a server that was killed between the two finds exactly the rest when it looks again.
"""

from __future__ import annotations

import builtins
import logging
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, fields
from functools import cached_property
from heapq import merge as merge_sorted
from operator import itemgetter
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Executable, RowMapping, bindparam, delete, func, select, update

from footplate.domain.records import Stage
from footplate.domain.runs.tracking import NewPoint
from footplate.errors import Broken, InvalidInput
from footplate.job.journal_format import SLOT, attempt_of
from footplate.storage.database import Database
from footplate.storage.paths import check_writer
from footplate.storage.run_keys import RunKey, RunKeys
from footplate.storage.schema import journals, runs, series
from footplate.storage.series import append_files
from footplate.storage.series.append_files import KeyedLocks
from footplate.storage.series.attempts import extent, join
from footplate.storage.series.curves import JoinedCurve, RecentCurves
from footplate.storage.series.journals import JournalDecoder, Journals, StoredJournal
from footplate.storage.series.points import WRITER, PointJournals
from footplate.storage.series.summaries import WORDS, SeriesSummary, merge, series_name, summarize

log = logging.getLogger(__name__)

_PIECE = 4 * 1024 * 1024 // SLOT * SLOT  # bytes decoded at once
_BATCH = 500
_SUMMARY = tuple(field.name for field in fields(SeriesSummary))
_ADVANCE = update(journals).where(
    journals.c.run == bindparam("of_run"),
    journals.c.writer == bindparam("of_writer"),
    journals.c.ingested == bindparam("before"),
)
_SERIES = select(series).where(series.c.run == bindparam("run"))
_SERIES_IN_ORDER = _SERIES.order_by(series.c.place)
_SERIES_BY_NAME = _SERIES.where(
    series.c.system == bindparam("system"), series.c.name.in_(bindparam("names", expanding=True))
)
_LAST_PLACE = select(func.max(series.c.place)).where(series.c.run == bindparam("run"))


class Metrics:
    def __init__(self, home: Path, database: Database, keys: RunKeys) -> None:
        self._runs = home / "runs"
        self._database = database
        self._keys = keys
        self._locks = KeyedLocks()
        self._journals = Journals(database)
        self._curves = RecentCurves(self._slots)
        self._points = PointJournals(self._slots)

    # ── Write ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, run: str, writer: str, stream: str, offset: int, data: bytes, system: bool = False) -> int:
        """Append to a stream and return its size. Known bytes are skipped; a gap is a Conflict with `size`.

        `stream` is "slots" or "text"; text goes first. The first piece of a writer decides whether it is `system`.
        """
        if stream not in ("slots", "text"):
            raise InvalidInput(f"a journal has no stream {stream!r}", "use 'slots' or 'text'")
        if writer == WRITER:
            raise InvalidInput(f"the server itself writes the journal {writer!r}", "use another name")
        key = self._keys.of(run)
        with self._locks.hold(run):
            journal = self._journals.get(key.key, check_writer(writer), system)
            size = append_files.append(self._file(run, writer, stream), offset, data, same=True)
            if stream == "slots":
                self._ingest(run, key, journal, size)
            return size

    def add_points(self, run: str, points: Iterable[NewPoint]) -> None:
        """Add points that did not arrive as a journal. Points that the run has are skipped."""
        key = self._keys.of(run)
        with self._locks.hold(run):
            stored = self._journals.get(key.key, WRITER, False)
            journal = self._points.take(run)
            text, slots = journal.encode(points)
            if text:
                file = self._file(run, WRITER, "text")
                journal.text_size = append_files.append(file, journal.text_size, text)
            if slots:
                journal.size = append_files.append(self._slots(run, WRITER), journal.size, slots)
            self._points.keep(run, journal)
            self._ingest(run, key, stored, journal.size)

    def catch_up(self) -> None:
        """Ingest everything that a killed server had written and not ingested. Called when the store is opened."""
        query = select(runs.c.id).where(runs.c.stage != Stage.ENDED.value, runs.c.key.in_(select(journals.c.run)))
        with self._database.read() as connection:
            unfinished = connection.execute(query).scalars().all()
        for run in unfinished:
            try:
                self._catch_up(run)
            except Broken as error:  # readers of this run will see it; the others must not suffer
                log.error("%s", error.message)

    def _catch_up(self, run: str) -> builtins.list[StoredJournal]:
        """Return the writers of a run after ingesting everything that they wrote."""
        key = self._keys.of(run)
        journals = self._journals.of_run(key.key)
        for journal in journals:
            self._check(run, journal)
            if self._size(run, journal.writer) - journal.ingested >= SLOT:
                with self._locks.hold(run):
                    current = self._journals.get(key.key, journal.writer, journal.system)
                    self._ingest(run, key, current, self._size(run, journal.writer))
        return journals

    def problems(self, run: str) -> builtins.list[Broken]:
        """Return an error for each journal of which less is left than was ingested."""
        problems: builtins.list[Broken] = []
        for journal in self._journals.of_run(self._keys.of(run).key):
            try:
                self._check(run, journal)
            except Broken as error:
                problems.append(error)
        return problems

    def rebuild(self, run: str) -> None:
        """Make the summaries again from the journals as they are. Slots without text mean nothing and go aside."""
        key = self._keys.of(run)
        for journal in self._journals.of_run(key.key):
            slots = self._file(run, journal.writer, "slots")
            if not append_files.size_of(slots.with_suffix(".text")) and journal.definitions and slots.exists():
                aside = self._runs / run / "damaged"
                aside.mkdir(exist_ok=True)
                slots.replace(aside / slots.name)
        with self._locks.hold(run), self._database.write() as connection:
            connection.execute(delete(series).where(series.c.run == key.key))
            nothing = update(journals).where(journals.c.run == key.key).values(ingested=0, definitions=b"")
            connection.execute(nothing)
        for journal in self._journals.of_run(key.key):
            self._journals.forget(key.key, journal.writer)
        self._points.forget(run)
        self._curves.forget(run)
        self._catch_up(run)

    def forget(self, keys: Set[int], ids: Iterable[str]) -> None:
        """Forget deleted runs: another run may get the key or the id of one."""
        self._journals.forget_runs(keys)
        for run in ids:
            self._points.forget(run)

    def _check(self, run: str, journal: StoredJournal) -> None:
        """Raise Broken if less is left of a journal than was ingested."""
        for stream, expected in (("slots", journal.ingested), ("text", 1 if journal.definitions else 0)):
            path = self._file(run, journal.writer, stream)
            size = append_files.size_of(path)
            if size < expected:
                raise Broken(
                    f"metrics of run {run} are lost: {path} has {size} bytes, and had at least {expected}",
                    "restore the file from a backup, or accept the loss with: footplate server verify --repair",
                    run=run,
                    path=str(path),
                )

    def _ingest(self, run: str, key: RunKey, journal: StoredJournal, size: int) -> None:
        """Update the summaries up to `size`. The caller holds the run's lock."""
        file, text = self._file(run, journal.writer, "slots"), self._file(run, journal.writer, "text")
        while size - journal.ingested >= SLOT:
            piece = append_files.read(file, journal.ingested, min(_PIECE, (size - journal.ingested) // SLOT * SLOT))
            if len(piece) < SLOT:
                return  # the file is shorter than expected; its sender will find out
            piece = piece[: len(piece) // SLOT * SLOT]
            decoder = self._journals.take_decoder(key.key, journal, text)
            with decoder.text:
                columns = decoder.columns(piece)
            after = journal.after(piece)
            if self._store(key, journal, after, columns):
                self._journals.keep(key.key, after, decoder)
                journal = after
            else:  # another server process was faster; continue from its position
                self._journals.forget(key.key, journal.writer)
                journal = self._journals.get(key.key, journal.writer, journal.system)

    def _store(self, key: RunKey, before: StoredJournal, after: StoredJournal, columns: Any) -> bool:
        place = {"of_run": key.key, "of_writer": before.writer, "before": before.ingested}
        with self._database.write() as connection:
            values = {"ingested": after.ingested, "definitions": after.definitions}
            if connection.execute(_ADVANCE, {**place, **values}).rowcount == 0:
                return False
            self._database.hold(connection, runs.c.key, key.key)  # writers of one run share its series
            names = {series_name(name) for name, _ in columns}
            old = _summaries(connection, key.key, before.system, names)
            by_step = before.writer == WRITER
            new = summarize(columns, {name: summary.kind for name, summary in old.items()}, by_step)
            merged = {name: merge(old[name], piece, by_step) if name in old else piece for name, piece in new.items()}
            self._save(connection, key, before.system, merged, fresh=[name for name in new if name not in old])
        return True

    def _save(
        self,
        connection: Connection,
        key: RunKey,
        system: bool,
        changed: dict[str, SeriesSummary],
        fresh: builtins.list[str],
    ) -> None:
        if not changed:
            return
        start = 1 + (connection.execute(_LAST_PLACE, {"run": key.key}).scalar() or 0) if fresh else 0
        places = {name: start + i for i, name in enumerate(fresh)}
        rows = [
            {"run": key.key, "experiment": key.experiment, "system": system, "name": name, "place": places.get(name, 0)}
            | asdict(summary)
            for name, summary in changed.items()
        ]
        connection.execute(self._saving, rows)

    @cached_property
    def _saving(self) -> Executable:
        """Build the statement once: building takes longer than executing it."""
        statement = self._database.insert(series)
        updated = {name: statement.excluded[name] for name in _SUMMARY}
        return statement.on_conflict_do_update(index_elements=["run", "system", "name"], set_=updated)

    # ── Read ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def sizes(self, run: str) -> dict[str, int]:
        """Return how much of each stream has arrived: `{"<writer>.slots": bytes, "<writer>.text": bytes}`."""
        self._keys.of(run)
        try:
            with os.scandir(self._runs / run / "journals") as entries:
                return {entry.name: entry.stat().st_size for entry in sorted(entries, key=lambda e: e.name)}
        except FileNotFoundError:
            return {}

    def read(self, run: str, name: str | None = None, system: bool = False) -> builtins.list[dict[str, Any]]:
        """Return `{name, kind, points: [[time, step, value], …], dropped}` for each series, in the order first logged.

        Points of several writers are merged by time; each writer's own order is kept. `dropped` counts points of
        another kind than the first. `system` chooses between machine samples and the user's metrics. A later attempt
        of the run replaces points from the first step on that it repeats; `attempts` tells where its points begin.
        """
        writers = [journal.writer for journal in self._catch_up(run) if journal.system == system]
        rows = {r["name"]: r for r in self._rows(run) if r["system"] == system and name in (None, r["name"])}
        logged: dict[str, dict[int, builtins.list[builtins.list[Any]]]] = {row: {} for row in rows}
        for writer in writers:
            for metric, points in self._decode(run, writer, rows).items():
                logged[metric].setdefault(attempt_of(writer), []).append(points)
        curves = {name: join({attempt: _merge(lists) for attempt, lists in logged[name].items()}) for name in rows}
        return [
            {"name": name, "kind": row["kind"], "points": curves[name][0], "dropped": row["dropped"]}
            | {"attempts": curves[name][1]}
            for name, row in rows.items()
        ]

    def curves(self, run: str, names: Sequence[str], axis: str, system: bool = False) -> dict[str, JoinedCurve]:
        """Return the numbers of these metrics over `step`, `time`, `relative` time or `metric:NAME`, as `read` does."""
        return self._curves.read(run, self._writers(run, system), names, axis)

    def curves_by_rank(
        self, run: str, names: Sequence[str], axis: str, system: bool = False
    ) -> dict[tuple[str, int | None], JoinedCurve]:
        """Return one curve for each metric and rank."""
        return self._curves.read_by_rank(run, self._writers(run, system), names, axis)

    def _writers(self, run: str, system: bool) -> builtins.list[str]:
        return [journal.writer for journal in self._catch_up(run) if journal.system == system]

    def points(self, run: str, name: str) -> builtins.list[tuple[float, float, float]]:
        """Return the numbers of a metric as (time, step, value). A point without a step has its position."""
        writers = [journal.writer for journal in self._catch_up(run) if not journal.system]
        return self._curves.points(run, writers, name)

    def summary(self, run: str) -> builtins.list[dict[str, Any]]:
        """Return `{name, kind, system, count, last, min, max, dropped}` for each series, in the order first logged."""
        writers = self._catch_up(run)
        fields = ("name", "kind", "system", "count", "last", "min", "max", "dropped")
        summaries = [{field: row[field] for field in fields} for row in self._rows(run)]
        if any(attempt_of(journal.writer) > 1 for journal in writers if not journal.system):
            curves = {curve["name"]: curve["points"] for curve in self.read(run)}
            return [row if row["system"] else {**row, **extent(curves[row["name"]], row["kind"])} for row in summaries]
        return summaries

    def _decode(self, run: str, writer: str, known: Mapping[str, RowMapping]) -> dict[str, builtins.list[Any]]:
        """Decode all points of a writer in the requested series."""
        points: dict[str, builtins.list[Any]] = {}
        kinds = {name: row["kind"] for name, row in known.items()}
        decoder = JournalDecoder(self._file(run, writer, "text"))
        file = self._file(run, writer, "slots")
        at = 0
        with decoder.text:
            while piece := append_files.read(file, at, _PIECE):
                at += len(piece)
                for raw, kind, time, step, value in decoder.feed(piece[: len(piece) // SLOT * SLOT]):
                    point_name = raw if raw in kinds else series_name(raw)
                    if kinds.get(point_name) == WORDS[kind]:
                        points.setdefault(point_name, []).append([time, step, value])
        return points

    def _rows(self, run: str) -> Sequence[RowMapping]:
        with self._database.read() as connection:
            key = self._keys.of(run, connection).key
            return connection.execute(_SERIES_IN_ORDER, {"run": key}).mappings().all()

    def _file(self, run: str, writer: str, stream: str) -> Path:
        return self._runs / run / "journals" / f"{writer}.{stream}"

    def _slots(self, run: str, writer: str) -> Path:
        return self._file(run, writer, "slots")

    def _size(self, run: str, writer: str) -> int:
        return append_files.size_of(self._slots(run, writer))


# ── Series ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _summaries(connection: Connection, run: int, system: bool, names: Iterable[str]) -> dict[str, SeriesSummary]:
    summaries: dict[str, SeriesSummary] = {}
    sorted_names = sorted(names)
    for start in range(0, len(sorted_names), _BATCH):
        batch = {"run": run, "system": system, "names": sorted_names[start : start + _BATCH]}
        for row in connection.execute(_SERIES_BY_NAME, batch).mappings():
            summaries[row["name"]] = SeriesSummary(**{field: row[field] for field in _SUMMARY})
    return summaries


def _merge(lists: builtins.list[builtins.list[Any]]) -> builtins.list[Any]:
    return lists[0] if len(lists) == 1 else list(merge_sorted(*lists, key=itemgetter(0)))
