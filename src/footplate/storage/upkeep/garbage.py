"""Remove blobs that nothing refers to, while runs and uploads go on.

A client does not send content that the server has. So a blob may be unused in the database and yet promised to a
client that is about to submit. `BlobFolder.has` therefore renews the time of a blob, and only blobs go that nobody
asked about for a grace period. A manifest stands for its files: those of a recent one stay, and old manifests go before
their files, so that no manifest is ever left without them.
"""

from __future__ import annotations

import time

from footplate.domain.replies import CollectedGarbage
from footplate.errors import Conflict
from footplate.storage.store import Storage
from footplate.storage.upkeep.references import files_of_manifest, find_needed

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
