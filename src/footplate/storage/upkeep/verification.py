"""Check everything that the server keeps: the database, blobs and who needs them, journals and logs.

Nothing is changed without `repair`. A repair puts damaged blobs aside, so that the next upload of the right content
heals them, and rebuilds the summaries of metrics from what is left of their journals. Lost content stays lost and
remains a problem.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, text

from footplate.content.blobs import hash_file
from footplate.domain.records import Stage
from footplate.errors import Broken
from footplate.storage.schema import runs
from footplate.storage.store import Storage
from footplate.storage.upkeep.garbage import references

_PROGRESS_SECONDS = 2.0


@dataclass(frozen=True)
class Problem:
    """`kind`: database, blob, file, snapshot, model, dataset, journal or log. `repair`: what was done about it."""

    kind: str
    message: str
    path: str = ""
    run: str | None = None
    repair: str | None = None
    solved: bool = False


@dataclass
class VerificationReport:
    checked: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def is_sound(self) -> bool:
        return all(problem.solved for problem in self.problems)


class Verification:
    def __init__(self, store: Storage, repair: bool, say: Callable[[str], None]) -> None:
        self._store, self._repair, self._say = store, repair, say
        self._report = VerificationReport()
        self._said = time.monotonic()
        self._present: dict[str, int] = {}  # digest → size of every undamaged blob

    def run(self) -> VerificationReport:
        self._check_database()
        if not self._report.problems:  # a damaged database cannot tell what belongs to whom
            self._check_blobs()
            self._check_references()
            for run in self._runs():
                self._check_journals(run)
                self._check_logs(run)
        return self._report

    def _count(self, kind: str) -> None:
        checked = self._report.checked
        checked[kind] += 1
        if time.monotonic() > self._said + _PROGRESS_SECONDS:
            self._said = time.monotonic()
            self._say("checked " + ", ".join(f"{count} {name}" for name, count in checked.items()))

    def _add(self, kind: str, message: str, **rest: Any) -> None:
        self._report.problems.append(Problem(kind, message, **rest))

    # ── The database ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_database(self) -> None:
        self._count("databases")
        database = self._store.database
        if not database.sqlite:
            return
        with database.read() as connection:
            damage = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(20)"))]
            dangling = connection.execute(text("PRAGMA foreign_key_check")).all()
        for line in [] if damage == ["ok"] else damage:
            self._add("database", line, path=database.address)
        for row in dangling[:20]:
            self._add("database", f"a row of {row[0]} refers to a missing row of {row[2]}", path=database.address)

    # ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_blobs(self) -> None:
        blobs = self._store.blobs
        for digest, _ in blobs.walk():
            self._count("blobs")
            path = blobs.path(digest)
            with suppress(FileNotFoundError):  # set aside or removed meanwhile
                actual, size = hash_file(path)
                if actual == digest:
                    self._present[digest] = size
                    continue
                done = self._set_aside(digest) if self._repair else None
                self._add("blob", f"it has {size} bytes that hash to {actual}", path=path, repair=done)

        for digest, record, _ in self._store.object_records.walk():  # their content is compared when it is read
            self._count("blobs in the object store")
            self._present.setdefault(digest, record.size)

    def _set_aside(self, digest: str) -> str:
        with suppress(Broken):
            self._store.blobs.verify(digest)
        return "set aside: the next upload of the right content replaces it"

    def _check_references(self) -> None:
        for kind, run, name, digest, size in references(self._store.database, self._store.blobs):
            self._count(f"{kind}s")
            if self._present.get(digest) != size and (size is not None or digest not in self._present):
                where = self._store.blobs.path(digest)
                self._add(kind, f"the content of {name} is missing or damaged", path=where, run=run)

    # ── Growing files ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _runs(self) -> list[str]:
        with self._store.database.read() as connection:
            return list(connection.execute(select(runs.c.id).order_by(runs.c.key)).scalars())

    def _check_journals(self, run: str) -> None:
        metrics = self._store.metrics
        self._count("runs")
        problems = metrics.problems(run)
        if problems and self._repair:
            metrics.rebuild(run)
        done = "the summaries were rebuilt from what is left" if self._repair else None
        for error in problems:
            path = str(error.details.get("path", ""))
            self._add("journal", error.message, path=path, run=run, repair=done, solved=self._repair)

    def _check_logs(self, run: str) -> None:
        record = self._store.runs.record(run)
        totals = [node.logs for node in record.nodes if node.logs is not None]
        if record.stage is not Stage.ENDED or not totals:
            return
        try:
            self._store.logs.check(run, max(totals))
        except Broken as error:
            self._add("log", error.message, path=str(self._store.home / "runs" / run / "logs"), run=run)
