"""Blobs in the object store of `[store]`: nodes upload large files there, and the server records them.

A blob is stored as objects of equal size below its digest. A node gets URLs that are signed for these objects and valid
for an hour, and never the credentials of the store. It asks again until no object is missing; then the server, which
lists the objects and compares their sizes, records the blob. Only then does the blob exist for anybody. An interrupted
upload resumes with the missing objects, and repeating any step changes nothing.

The server does not read the content: whoever reads the blob later compares it with its digest.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from footplate.content.blobs import check_digest
from footplate.data.stores.registry import open_store
from footplate.domain.data import ADLS_GEN2, AZURE_BLOB, StoreSpec
from footplate.domain.replies import CollectedGarbage, DirectUpload, UploadPart
from footplate.errors import Broken, FootplateError, InvalidInput, NotFound
from footplate.services.settings import read_direct_outputs
from footplate.storage import Storage
from footplate.storage.object_records import ObjectRecord, part_count
from footplate.storage.series.append_files import KeyedLocks
from footplate.storage.upkeep.garbage import find_needed

if TYPE_CHECKING:
    from footplate.data.stores.objects import ObjectStore

log = logging.getLogger(__name__)

URL_SECONDS = 3600.0
_SMALLEST_PART, _LARGEST_PART = 16 << 20, 64 << 20
_USUAL_PARTS = 2000
_PARTS_AT_ONCE = 256
_FORGOTTEN_SECONDS = 7 * 24 * 3600.0
"""How long the objects of an interrupted upload are kept."""

_AZURE_HEADERS = {"x-ms-blob-type": "BlockBlob"}
_THROUGH_SERVER = DirectUpload(stored=False)


class ObjectBlobs:
    def __init__(self, store: Storage, home: Path) -> None:
        self._storage, self._home = store, home
        self._records = store.object_records
        self._locks = KeyedLocks()
        self._opened: tuple[StoreSpec, ObjectStore] | None = None

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def smallest(self) -> int | None:
        """Return the size from which on nodes upload files directly; None: they send everything to the server."""
        if self._storage.datastores.artifacts() is None:
            return None
        try:
            return read_direct_outputs(self._home)
        except InvalidInput as error:
            log.warning("outputs go through the server: %s", error.message)
            return None

    def upload(self, digest: str, size: int) -> DirectUpload:
        """Return the parts that the store lacks, with URLs to send them to; record the blob if it lacks none."""
        check_digest(digest)
        if size <= 0:
            raise InvalidInput(f"the size of blob {digest} is {size}", "give the number of its bytes")
        with self._locks.hold(digest):
            record = self._records.find(digest)
            if self._storage.blobs.has(digest) or (record is not None and not record.damaged):
                return DirectUpload(stored=True)
            if record is not None or self.smallest() is None:
                return _THROUGH_SERVER
            try:
                return self._next_parts(digest, size)
            except FootplateError as error:
                log.warning("blob %s goes through the server: %s", digest, error.message)
                return _THROUGH_SERVER

    def _next_parts(self, digest: str, size: int) -> DirectUpload:
        spec, store = self._store()
        part_size = part_size_of(size)
        lengths = {number: _length(number, size, part_size) for number in range(part_count(size, part_size))}
        stored_sizes = {entry.path: entry.size for page in store.list(digest) for entry in page}
        missing = [number for number, length in lengths.items() if stored_sizes.get(_name(digest, number)) != length]
        if not missing:
            self._records.add(digest, ObjectRecord(size, part_size, spec.kind, spec.location))
            return DirectUpload(stored=True)
        missing = missing[:_PARTS_AT_ONCE]
        urls = store.sign_puts([_name(digest, number) for number in missing], URL_SECONDS)
        parts = tuple(
            UploadPart(url, number * part_size, lengths[number]) for number, url in zip(missing, urls, strict=True)
        )
        return DirectUpload(False, parts, _AZURE_HEADERS if spec.kind in (AZURE_BLOB, ADLS_GEN2) else {})

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def has(self, digest: str) -> bool:
        return self._records.find(digest) is not None

    def read(self, digest: str) -> Iterator[bytes]:
        """Return the pieces of a blob. The last piece of a damaged one is an error."""
        record = self._found(digest)
        store = self._store_of(digest, record)
        first = store.read(_name(digest, 0))  # at once: a missing blob is an error, not a response that breaks off
        return self._check_content(digest, record, store, first)

    def read_part(self, digest: str, offset: int, limit: int) -> Iterator[bytes]:
        """Return a part of a blob, which is not compared with the digest."""
        record = self._found(digest)
        store = self._store_of(digest, record)
        end = min(offset + limit, record.size)
        while offset < end:
            number, start = divmod(offset, record.part_size)
            data = store.read(_name(digest, number), start, min(end - offset, record.part_size - start))
            if not data:
                raise self._damage(digest, record, f"object {number} ends early")
            offset += len(data)
            yield data

    def bring(self, digest: str) -> None:
        """Copy a blob to the server's own folder, for readers that need a file, unless it is there."""
        blobs = self._storage.blobs
        if not blobs.has(digest) and self.has(digest):
            blobs.put_stream(digest, self.read(digest))

    def _check_content(self, digest: str, record: ObjectRecord, store: ObjectStore, first: bytes) -> Iterator[bytes]:
        total = hashlib.sha256()
        size = 0
        piece = first
        for number in range(1, record.parts() + 1):
            total.update(piece)
            size += len(piece)
            if number < record.parts():
                yield piece
                piece = store.read(_name(digest, number))
        if total.hexdigest() != digest:
            raise self._damage(digest, record, f"{size} bytes hash to {total.hexdigest()}")
        yield piece

    def _damage(self, digest: str, record: ObjectRecord, problem: str) -> Broken:
        """Note the damage: the next upload of the same content goes to the server's own folder and replaces it."""
        self._records.mark_damaged(digest, record)
        where = f"the {record.kind} store {record.location}"
        return Broken(f"blob {digest} in {where} is damaged: {problem}", "upload the content again", path=digest)

    def _found(self, digest: str) -> ObjectRecord:
        record = self._records.find(digest)
        if record is None:
            raise NotFound(f"there is no blob {digest}", "check the home of the server: was it moved or cleaned?")
        return record

    # ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def collect_garbage(self, older_than: float, dry_run: bool, only: set[str] | None = None) -> CollectedGarbage:
        """Remove blobs that nothing refers to and nobody asked about for `older_than` seconds; `only` these, or all."""
        limit = time.time() - older_than
        records = [each for each in self._records.walk() if only is None or each[0] in only]
        needed = find_needed(self._storage.database, self._storage.blobs) if records else set[str]()
        unneeded = [(digest, record, at) for digest, record, at in records if digest not in needed]
        old = [(digest, record) for digest, record, at in unneeded if at < limit]
        recent = [record.size for _, record, at in unneeded if at >= limit]
        removed = [record.size for digest, record in old if dry_run or self._remove(digest, record, limit)]
        if not dry_run and only is None:
            self._remove_forgotten()
        return CollectedGarbage(len(removed), sum(removed), len(recent), sum(recent))

    def _remove(self, digest: str, record: ObjectRecord, limit: float) -> bool:
        """Remove the record and then the objects; objects without a record are removed by a later call."""
        with self._locks.hold(digest):
            try:
                store = self._store_of(digest, record)
            except FootplateError as error:
                log.warning("garbage stays: %s", error.message)
                return False
            if not self._records.remove(digest, limit):
                return False
            for number in range(record.parts()):
                store.delete(_name(digest, number))
        return True

    def _remove_forgotten(self) -> None:
        """Remove objects of uploads that nobody continued."""
        if self._storage.datastores.artifacts() is None:
            return
        _, store = self._store()
        before = time.time() - _FORGOTTEN_SECONDS
        for page in store.list():
            for entry in page:
                digest = entry.path.partition("/")[0]
                with self._locks.hold(digest):
                    if entry.modified < before and len(digest) == 64 and self._records.find(digest) is None:
                        store.delete(entry.path)

    # ── the store ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _store(self) -> tuple[StoreSpec, ObjectStore]:
        spec = self._storage.datastores.artifacts()
        if spec is None:
            raise NotFound("the settings of the server name no object store", "describe it in [store] of settings.ini")
        if self._opened is None or self._opened[0] != spec:
            self._opened = spec, cast("ObjectStore", open_store(spec))
        return self._opened

    def _store_of(self, digest: str, record: ObjectRecord) -> ObjectStore:
        """Return the store that has the blob. Its credentials are in the settings, and not in the record."""
        spec = self._storage.datastores.artifacts()
        if spec is None or (spec.kind, spec.location) != (record.kind, record.location):
            raise NotFound(
                f"blob {digest} is in the {record.kind} store {record.location}, which the settings do not name",
                "name that store in [store] of settings.ini again, or move its objects to the new one",
            )
        return self._store()[1]


def part_size_of(size: int) -> int:
    """Return the size of the objects of a blob: small ones, until there are very many of them."""
    usual = -(-part_count(size, _USUAL_PARTS) // _SMALLEST_PART) * _SMALLEST_PART
    return max(_SMALLEST_PART, min(usual, _LARGEST_PART))


def _length(number: int, size: int, part_size: int) -> int:
    return min(part_size, size - number * part_size)


def _name(digest: str, number: int) -> str:
    return f"{digest}/{number:06d}"
