"""Records of blobs whose content is in the object store of the server's settings, and not in its folder of blobs.

One small file per blob, `object_blobs/<digest>`: where the content is, and how it was cut into objects. Its time is
renewed when somebody asks about the blob, as that of a file of `BlobFolder` is.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from footplate.content.blobs import check_digest
from footplate.disk import atomic_write
from footplate.storage.database_errors import translated

_RENEW_SECONDS = 300.0
_NAMESPACE = "namespace"


@dataclass(frozen=True)
class ObjectRecord:
    """A blob in an object store: `<prefix>/<digest>/<number>`, objects of `part_size` bytes and a smaller last one."""

    size: int
    part_size: int
    kind: str
    location: dict[str, str]
    damaged: bool = False

    def parts(self) -> int:
        return part_count(self.size, self.part_size)


def part_count(size: int, part_size: int) -> int:
    return -(-size // part_size)


class ObjectRecords:
    def __init__(self, home: Path) -> None:
        self._folder = home / "object_blobs"

    def namespace(self) -> str:
        """Return the name of this home in the store, which several servers may share."""
        path = self._folder / _NAMESPACE
        if not path.exists():
            with translated():
                self._folder.mkdir(mode=0o700, exist_ok=True)
                atomic_write(path, uuid.uuid4().hex.encode(), durable=True)
        return path.read_text("ascii")

    def add(self, digest: str, record: ObjectRecord) -> None:
        with translated():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            atomic_write(self._path(digest), json.dumps(asdict(record)).encode(), durable=True)

    def mark_damaged(self, digest: str, record: ObjectRecord) -> None:
        self.add(digest, replace(record, damaged=True))

    def find(self, digest: str) -> ObjectRecord | None:
        """Return the record of a blob, and renew its time: the caller relies on it."""
        path = self._path(digest)
        try:
            record = ObjectRecord(**json.loads(path.read_bytes()))
            if path.stat().st_mtime < time.time() - _RENEW_SECONDS:
                os.utime(path)
        except FileNotFoundError:
            return None
        return record

    def walk(self) -> Iterator[tuple[str, ObjectRecord, float]]:
        """Yield the digest, the record and its time of every blob, without renewing it."""
        for name in sorted(os.listdir(self._folder)) if self._folder.is_dir() else ():
            path = self._folder / name
            if len(name) == 64:
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    yield name, ObjectRecord(**json.loads(path.read_bytes())), path.stat().st_mtime

    def remove(self, digest: str, unused_since: float) -> bool:
        """Remove a record unless somebody asked about it since that time; return whether it was removed.

        The caller holds the lock of this digest.
        """
        path = self._path(digest)
        try:
            if path.stat().st_mtime >= unused_since:
                return False
            path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, digest: str) -> Path:
        return self._folder / check_digest(digest)
