"""Files that nodes place in the directory `shared` of their compute target, for a server that sees it, too.

The server takes a file from there instead of receiving its bytes over HTTP. The name of the file follows from the run,
the node and the digest, so a request names no path, and its content is compared with the digest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from footplate.content.blobs import check_digest
from footplate.domain.shipments import handover_name
from footplate.errors import InvalidInput
from footplate.services.capacity import capacity_of
from footplate.storage import Storage

_CHUNK = 1 << 20


class HandoverService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def take(self, run: str, node: int, digest: str, size: int, probe: bool) -> bool:
        """Store the file that the node has placed for the server; return False if the server does not see it.

        `probe`: only look whether it is there.
        """
        path = self._path(run, node, check_digest(digest))
        if path is None:
            return False
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # another machine's directory, or one that the server may not read
            return False
        try:
            info = os.fstat(file)
            if not stat.S_ISREG(info.st_mode):
                return False
            if info.st_size != size:
                raise InvalidInput(f"{path} has {info.st_size} bytes, not {size}", "place the file again")
            if not probe:
                self._store_content(path, file, info, digest)
        finally:
            os.close(file)
        return True

    def _store_content(self, path: Path, file: int, info: os.stat_result, digest: str) -> None:
        """Link the file if it belongs to the server's user and nobody else can write to it; otherwise copy it."""
        blobs = self._store.blobs
        if info.st_uid == os.geteuid() and not info.st_mode & 0o022:
            with suppress(FileNotFoundError):
                blobs.adopt(str(path))  # under the digest of its content, whatever the node says
        blobs.put_stream(digest, _pieces(file))

    def _path(self, run: str, node: int, digest: str) -> Path | None:
        record = self._store.runs.record(run)
        capacity = capacity_of(self._store, record.workspace, record.spec.target)
        shared = str({**capacity.options, **record.spec.engine_options}.get("shared") or "")
        folder = os.path.expanduser(os.path.expandvars(shared))
        return Path(folder) / handover_name(run, node, digest) if os.path.isabs(folder) else None


def _pieces(file: int) -> Iterator[bytes]:
    while piece := os.read(file, _CHUNK):
        yield piece
