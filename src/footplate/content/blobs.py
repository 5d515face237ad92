"""Content-addressed files in a folder: `ab/<64 hex>`, written aside, fsynced, renamed, mode 0444.

A blob that has its name is whole. Several processes may write the same one at the same time: all of them write the same
bytes, and the last rename wins. A full disk is OutOfSpace, and leaves nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import uuid
from typing import BinaryIO, Iterable, Iterator, Optional, Tuple

from footplate.errors import Broken, FootplateError, InvalidInput, NotFound, OutOfSpace

CHUNK = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FICLONE = 0x40049409  # Linux: share the blocks of another file until one of the two is written to
_FULL = (errno.ENOSPC, errno.EDQUOT)


class BlobFolder:
    def __init__(self, root: str) -> None:
        self.root = os.fspath(root)

    def path(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise InvalidInput(f"{digest!r} is not a digest", "give the 64 hexadecimal digits of a sha256")
        return os.path.join(self.root, digest[:2], digest)

    def has(self, digest: str) -> bool:
        return os.path.exists(self.path(digest))

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if not self.has(digest):
            with self._aside() as (temporary, target):
                target.write(data)
                self._keep(temporary, target, digest)
        return digest

    def put_file(self, path: str, digest: Optional[str] = None, move: bool = False) -> Tuple[str, int]:
        """Store a file; what is stored is what was hashed, even if somebody writes to the file meanwhile.

        With a `digest` that is in the store already nothing is read. With `move` the file itself becomes the blob where
        the file system allows, and is gone from where it was in any case.
        """
        if digest is not None and self.has(digest):
            size = os.path.getsize(path)
            if move:
                os.unlink(path)
            return digest, size
        stored = self._take_over(path) if move else None
        if stored is None:
            stored = self._copy_in(path)
            if move:
                os.unlink(path)
        return stored

    def put_stream(self, digest: str, chunks: Iterable[bytes]) -> None:
        """Store what somebody sends under the digest that they claim, or refuse it and keep nothing."""
        self.path(digest)
        hasher = hashlib.sha256()
        with self._aside() as (temporary, target):
            for chunk in chunks:
                hasher.update(chunk)
                target.write(chunk)
            if hasher.hexdigest() != digest:
                raise InvalidInput(
                    f"what was sent as {digest} has the digest {hasher.hexdigest()}", "send it again, whole"
                )
            self._keep(temporary, target, digest)

    def open(self, digest: str) -> BinaryIO:
        try:
            return open(self.path(digest), "rb")
        except FileNotFoundError:
            raise NotFound(f"there is no blob {digest}", "send it first") from None

    def verify(self, digest: str) -> None:
        """Read a blob and raise Broken if it is not what its name says."""
        hasher = hashlib.sha256()
        with self.open(digest) as source:
            for chunk in iter(lambda: source.read(CHUNK), b""):
                hasher.update(chunk)
        if hasher.hexdigest() != digest:
            raise Broken(f"blob {digest} is damaged", "restore it from a backup, or remove it and send it again")

    def copy_to(self, digest: str, target: str, executable: bool = False) -> None:
        """A copy that its owner may change: shared blocks where the file system can, a plain copy elsewhere."""
        with self.open(digest) as source, _translated(target):
            mode = 0o755 if executable else 0o644
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(handle, "wb") as copy:
                try:
                    fcntl.ioctl(copy.fileno(), _FICLONE, source.fileno())
                except OSError:
                    _pour(source, copy)

    # ── How a blob gets in ────────────────────────────────────────────────────────────────────────────────────────────

    def _copy_in(self, path: str) -> Tuple[str, int]:
        hasher, size = hashlib.sha256(), 0
        with open(path, "rb") as source, self._aside() as (temporary, target):
            for chunk in iter(lambda: source.read(CHUNK), b""):
                hasher.update(chunk)
                target.write(chunk)
                size += len(chunk)
            self._keep(temporary, target, hasher.hexdigest())
        return hasher.hexdigest(), size

    def _take_over(self, path: str) -> Optional[Tuple[str, int]]:
        """Move the file in by rename, then hash it where nobody else knows its name. None if that cannot be done."""
        temporary = os.path.join(self._made(self.root), f".moving-{uuid.uuid4().hex}")
        try:
            os.rename(path, temporary)
        except OSError:
            return None
        try:
            with open(temporary, "rb") as source, _translated(temporary):
                hasher, size = hashlib.sha256(), 0
                for chunk in iter(lambda: source.read(CHUNK), b""):
                    hasher.update(chunk)
                    size += len(chunk)
                os.fsync(source.fileno())
            self._rename(temporary, hasher.hexdigest())
        except BaseException:
            with contextlib.suppress(OSError):
                os.rename(temporary, path)
            raise
        return hasher.hexdigest(), size

    @contextlib.contextmanager
    def _aside(self) -> Iterator[Tuple[str, BinaryIO]]:
        """A file beside the store that is gone at the end, unless it was kept."""
        temporary = os.path.join(self._made(self.root), f".writing-{uuid.uuid4().hex}")
        with _translated(self.root):
            try:
                with open(temporary, "xb") as target:
                    yield temporary, target
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)

    def _keep(self, temporary: str, target: BinaryIO, digest: str) -> None:
        if self.has(digest):
            return
        target.flush()
        os.fsync(target.fileno())
        self._rename(temporary, digest)

    def _rename(self, temporary: str, digest: str) -> None:
        final = self.path(digest)
        self._made(os.path.dirname(final))
        os.chmod(temporary, 0o444)
        os.rename(temporary, final)

    def _made(self, folder: str) -> str:
        with _translated(folder):
            os.makedirs(folder, exist_ok=True)
        return folder


@contextlib.contextmanager
def _translated(where: str) -> Iterator[None]:
    try:
        yield
    except FootplateError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise OutOfSpace(f"no space left on the disk of {where}", "make room there, then try again") from error
        raise


def _pour(source: BinaryIO, target: BinaryIO) -> None:
    """Copy inside the kernel where it can; from the beginning, since nothing was written yet."""
    source.seek(0)
    if hasattr(os, "copy_file_range"):
        try:
            while os.copy_file_range(source.fileno(), target.fileno(), 1 << 30):
                pass
            return
        except OSError as error:
            if error.errno in _FULL:
                raise
    source.seek(target.tell())
    shutil.copyfileobj(source, target, CHUNK)
