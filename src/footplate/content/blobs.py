"""A directory of blobs, each named by the sha256 of its content: `ab/<64 hex>`, mode 0444.

A blob is written to a temporary file, synced and renamed into place, so every file with a blob's name is that blob,
complete, even after a power failure. Any number of processes may write at once: they can only write the same bytes
under the same name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import re
import time
from typing import BinaryIO, Callable, Generator, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from footplate.disk import CHUNK, copy, space, sync, temporary_file, write_all
from footplate.errors import Broken, InvalidInput, NotFound

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = ".aside"
_FORGOTTEN = 24 * 3600.0  # the writer of a temporary file of this age is dead


class _Temporary(NamedTuple):
    path: str
    digest: str
    size: int


def check_digest(digest: str) -> str:
    """Return the digest if it is one, else raise InvalidInput. Digests in paths are checked here."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidInput(
            f"{digest!r:.100} is not a digest", "a digest is 64 lower-case hexadecimal characters (sha256)"
        )
    return digest


def hash_file(path: str) -> Tuple[str, int]:
    """Return the digest and size of the file's current content."""
    with open(path, "rb", buffering=0) as file:
        return _pump(file.fileno(), None)


class BlobFolder:
    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._temporary = os.path.join(self.root, _TEMPORARY)
        self._has_temporary = False

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, digest: str) -> str:
        return f"{self.root}/{check_digest(digest)[:2]}/{digest}"

    def has(self, digest: str) -> bool:
        return os.path.exists(self.path(digest))

    def missing(self, digests: Iterable[str]) -> Set[str]:
        return {digest for digest in digests if not self.has(digest)}

    def size(self, digest: str) -> int:
        with self._found(digest):
            return os.stat(self.path(digest)).st_size

    def open(self, digest: str) -> BinaryIO:
        with self._found(digest):
            return open(self.path(digest), "rb")

    def verify(self, digest: str) -> None:
        """Read the whole blob and raise Broken when it does not match its name."""
        with self._found(digest):
            actual, size = hash_file(self.path(digest))
        if actual != digest:
            raise Broken(
                f"blob {digest} holds {size} bytes that hash to {actual}",
                "the disk or another program has changed it; restore it from a backup",
                path=self.path(digest),
            )

    def copy_to(self, digest: str, target: str, executable: bool = False) -> None:
        """Write the blob to `target`, replacing an existing file; remove the new file when that fails."""
        with self._found(digest):
            source = os.open(self.path(digest), os.O_RDONLY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)  # never write through a link, nor into a file that has other names
            with space(os.path.dirname(target)), temporary_file(target, 0o755 if executable else 0o644) as out:
                copy(source, out)
        finally:
            os.close(source)

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        return self.put_stream(digest, (data,))

    def put_stream(self, digest: str, chunks: Iterable[bytes]) -> str:
        """Store the bytes of `chunks`, which must hash to `digest`. If the blob exists, nothing is read."""
        if not self.has(digest):
            file = self._write_temporary(lambda out: _drain(chunks, out))
            if file.digest != digest:
                os.unlink(file.path)
                raise InvalidInput(
                    f"the content sent for blob {digest} is {file.size} bytes that hash to {file.digest}",
                    "send the content again: it was changed or cut short on the way",
                )
            self._place([file])
        return digest

    def put_file(self, path: str, digest: Optional[str] = None, move: bool = False) -> Tuple[str, int]:
        """Store a file and return digest and size of the bytes stored, which are hashed while they are copied.

        `digest` is that of the file when it was last read; if such a blob exists, nothing is read. With `move` the
        file is gone afterwards, and it is renamed instead of copied where possible.
        """
        if digest is not None and self.has(digest):
            stored = digest, self.size(digest)
        else:
            stored = self.adopt(path) if move else self.put_files([(path, digest)])[0]
        if move:
            os.unlink(path)
        return stored

    def adopt(self, path: str) -> Tuple[str, int]:
        """Store a file that nobody will write to any more, without copying it where possible.

        The file keeps its name and becomes read-only: it and the blob are hard links. A file that has other names
        already is copied, because somebody might still write to it under one of those.
        """
        file = self._link_temporary(path)
        if file is None:
            return self.put_files([(path, None)])[0]
        self._place([file])
        return file.digest, file.size

    def put_files(self, files: Sequence[Tuple[str, Optional[str]]]) -> List[Tuple[str, int]]:
        """Store many files, given as (path, digest), as `put_file` does, with one sync of the disk for all of them."""
        stored: List[Tuple[str, int]] = []
        written: List[_Temporary] = []
        try:
            for path, digest in files:
                if digest is not None and self.has(digest):
                    stored.append((digest, self.size(digest)))
                    continue
                with open(path, "rb", buffering=0) as file:
                    taken = self._take(file)
                if taken.path:
                    written.append(taken)
                stored.append((taken.digest, taken.size))
        except BaseException:
            _unlink_all(written)
            raise
        self._place(written)
        return stored

    def sweep(self, older_than: float = _FORGOTTEN) -> None:
        """Remove temporary files that killed writers have left, if nobody touched them for so many seconds."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._temporary) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_ctime < time.time() - older_than:
                        os.unlink(entry.path)

    # ── how ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _found(self, digest: str) -> Generator[None, None, None]:
        try:
            yield
        except FileNotFoundError:
            raise NotFound(f"there is no blob {digest}", f"check {self.root}: was it moved or cleaned?") from None

    def _temporary_name(self) -> str:
        if not self._has_temporary:
            with space(self.root):
                os.makedirs(self._temporary, exist_ok=True)
            self._has_temporary = True
        return f"{self._temporary}/{os.getpid()}-{os.urandom(8).hex()}"

    def _take(self, file: io.FileIO) -> _Temporary:
        """Copy the file to a temporary one. A small file whose blob exists is only read, and the result has no path."""
        first, second = file.read(CHUNK), file.read(CHUNK)
        digest = hashlib.sha256(first).hexdigest()
        if not second and self.has(digest):
            return _Temporary("", digest, len(first))
        rest = iter(lambda: file.read(CHUNK), b"")
        return self._write_temporary(lambda out: _drain(itertools.chain((first, second), rest), out))

    def _write_temporary(self, fill: Callable[[int], Tuple[str, int]]) -> _Temporary:
        path = self._temporary_name()
        with space(self.root), temporary_file(path, 0o444) as out:
            return _Temporary(path, *fill(out))

    def _place(self, files: Sequence[_Temporary]) -> None:
        """Sync written files, give them their names, and sync the names."""
        try:
            with space(self.root):
                new = [file for file in files if not self.has(file.digest)]
                sync([file.path for file in new])
                folders = sorted({os.path.dirname(self.path(file.digest)) for file in new})
                for folder in folders:
                    os.makedirs(folder, exist_ok=True)
                for file in new:
                    os.rename(file.path, self.path(file.digest))
                sync(folders)
        finally:
            _unlink_all(files)

    def _link_temporary(self, path: str) -> Optional[_Temporary]:
        """Make a second name for a file that has only one, and hash it; return None when that is not possible."""
        name = self._temporary_name()
        try:
            if os.path.islink(path) or os.stat(path).st_nlink != 1:
                return None
            os.link(path, name)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, or one without hard links
            return None
        try:
            os.chmod(name, 0o444)
            return _Temporary(name, *hash_file(name))
        except BaseException:
            os.unlink(name)
            raise


def _unlink_all(files: Iterable[_Temporary]) -> None:
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.path)


def _pump(source: int, out: Optional[int]) -> Tuple[str, int]:
    """Hash the content of `source` while writing it to `out`."""
    return _drain(iter(lambda: os.read(source, CHUNK), b""), out)


def _drain(chunks: Iterable[bytes], out: Optional[int]) -> Tuple[str, int]:
    total, size = hashlib.sha256(), 0
    for chunk in chunks:
        total.update(chunk)
        size += len(chunk)
        if out is not None:
            write_all(out, chunk)
    return total.hexdigest(), size
