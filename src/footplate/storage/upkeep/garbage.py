"""Remove blobs that nothing refers to, while runs and uploads go on.

A client does not send content that the server has. So a blob may be unused in the database and yet promised to a
client that is about to submit. `BlobFolder.has` therefore renews the time of a blob, and only blobs go that nobody
asked about for a grace period. A manifest stands for its files: those of a recent one stay, and old manifests go before
their files, so that no manifest is ever left without them.

Files of runs, models, lists of datasets, snapshots, and records that name one refer to a blob (`references`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Text, select, type_coerce

from footplate.content.blobs import BlobFolder
from footplate.content.manifest import FILE, ManifestEntry, is_manifest, parse_manifest
from footplate.domain.replies import CollectedGarbage
from footplate.errors import Conflict, FootplateError
from footplate.storage.database import Database
from footplate.storage.schema import (
    datasets,
    endpoints,
    environments,
    files,
    locks,
    models,
    run_specs,
    runs,
)
from footplate.storage.store import Storage

_MANIFEST_SECONDS = 24 * 3600.0
"""How long a manifest stands for its files while only some contents are collected."""


def collect_garbage(store: Storage, older_than: float, dry_run: bool, only: set[str] | None = None) -> CollectedGarbage:
    """Remove blobs that nothing refers to and nobody asked about for `older_than` seconds; `only` these, if given."""
    _check_only_database(store)
    blobs = store.blobs
    limit = time.time() - older_than
    old: dict[str, int] = {}
    recent: dict[str, int] = {}
    unsubmitted: set[str] = set()
    before = limit if only is None else min(limit, time.time() - _MANIFEST_SECONDS)
    for digest, info in blobs.walk():  # before the references: content that is stored later is not a candidate
        (old if info.st_ctime < limit else recent)[digest] = info.st_size
        if info.st_ctime >= before:
            unsubmitted.add(digest)
    needed = find_needed(store.database, blobs)
    for digest in unsubmitted - needed:
        needed.update(entry.content for entry in files_of_manifest(digest, blobs))
    unneeded = (old.keys() if only is None else old.keys() & only) - needed
    removed = unneeded if dry_run else _remove(store, unneeded, limit)
    waiting = recent.keys() - needed
    return CollectedGarbage(
        len(removed), sum(old[digest] for digest in removed), len(waiting), sum(recent[digest] for digest in waiting)
    )


def _remove(store: Storage, unneeded: set[str], limit: float) -> set[str]:
    """Remove these blobs, manifests first; return the removed ones. Some were asked for by now and stay."""
    removed: set[str] = set()
    still_needed: set[str] = set()
    listed = {digest: files_of_manifest(digest, store.blobs) for digest in unneeded}
    for digest in sorted(unneeded, key=lambda each: not listed[each]):
        if digest in still_needed:
            continue
        if store.blobs.remove(digest, limit):
            removed.add(digest)
        else:
            still_needed.update(entry.content for entry in listed[digest])
    return removed


def _check_only_database(store: Storage) -> None:
    other = store.home / "footplate.db"
    if not store.database.sqlite and other.exists():
        raise Conflict(
            f"{store.home} also has a database of its own, footplate.db, whose runs use the same blobs",
            "if it is not needed any more, move footplate.db out of this folder",
        )


_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_RECORDS = (
    run_specs.c.spec,
    runs.c.nodes,
    runs.c.group,
    models.c.options,
    datasets.c.definition,
    environments.c.definition,
    locks.c.content,
    endpoints.c.record,
)


class Reference(NamedTuple):
    """`kind`: file, model, dataset or snapshot. `size` is None where it is not recorded."""

    kind: str
    run: str | None
    name: str
    digest: str
    size: int | None


def references(database: Database, blobs: BlobFolder) -> Iterator[Reference]:
    """Yield all content that something refers to."""
    with database.read() as connection:
        query = select(runs.c.id, files.c.path, files.c.digest, files.c.size).join(runs, runs.c.key == files.c.run)
        for row in connection.execute(query):
            yield Reference("file", row.id, repr(row.path), row.digest, row.size)
        for row in connection.execute(select(models.c.name, models.c.version, models.c.files)):
            for file in row.files:
                name = f"{file['path']!r} of model {row.name}:{row.version}"
                yield Reference("model", None, name, str(file["digest"]), int(file["size"]))
        for digest in connection.execute(select(datasets.c.listing).distinct()).scalars():
            if digest:
                yield Reference("dataset", None, "a dataset's list of files", digest, None)
        snapshots = connection.execute(select(runs.c.id, runs.c.snapshot).where(runs.c.snapshot.is_not(None))).all()
    yield from _snapshot_references(snapshots, blobs)


def _snapshot_references(rows: Iterable[Any], blobs: BlobFolder) -> Iterator[Reference]:
    seen = set[str]()
    for run, snapshot in rows:
        if snapshot not in seen:
            seen.add(snapshot)
            yield Reference("snapshot", run, "the snapshot's list of files", snapshot, None)
            for entry in files_of_manifest(snapshot, blobs):
                yield Reference("snapshot", run, f"{entry.path!r} in the snapshot", entry.content, entry.size)


def files_of_manifest(digest: str, blobs: BlobFolder) -> list[ManifestEntry]:
    """Return the files that a blob lists; none if it is missing, damaged or no manifest."""
    with suppress(FootplateError, OSError):
        with open(blobs.path(digest), "rb") as file:
            is_likely = is_manifest(file.read(64))
        if is_likely:  # only now read, and check, all of it: other blobs may be large
            with blobs.open(digest) as checked:
                return [entry for entry in parse_manifest(checked.read()) if entry.type == FILE]
    return []


def find_needed(database: Database, blobs: BlobFolder) -> set[str]:
    """Return the digests of all content that must stay, including any that a record only mentions."""
    needed = {reference.digest for reference in references(database, blobs)}
    mentioned = _find_mentioned(database) - needed
    for digest in mentioned:
        needed.update(entry.content for entry in files_of_manifest(digest, blobs))
    return needed | mentioned


def _find_mentioned(database: Database) -> set[str]:
    digests = set[str]()
    with database.read() as connection:
        for column in _RECORDS:
            for text in connection.execute(select(type_coerce(column, Text)).where(column.is_not(None))).scalars():
                digests.update(_DIGEST.findall(text))
    return digests
