"""A folder of blobs, each named by the sha256 of its content: `ab/<64 hex>`, mode 0444.

A blob is written file, synced and renamed into place, so whatever has a blob's name is that blob, whole, even after a
power cut. Any number of processes may write at once: they can only ever write the same bytes under the same name.
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
_FORGOTTEN = 24 * 3600.0  # an file file of this age belongs to nobody alive


class _Temporary(NamedTuple):
    path: str
    digest: str
    size: int


def check_digest(digest: str) -> str:
    """The digest itself, when it is one. Everything that becomes a path goes through here."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidInput(
            f"{digest!r:.100} is not a digest", "a digest is 64 lower-case hexadecimal characters (sha256)"
        )
    return digest


def hash_file(path: str) -> Tuple[str, int]:
    """The digest and size of what the file holds now."""
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
        """Read the whole blob and raise Broken when it is not what its name says."""
        with self._found(digest):
            actual, size = hash_file(self.path(digest))
        if actual != digest:
            raise Broken(
                f"blob {digest} holds {size} bytes that hash to {actual}",
                "the disk or somebody has changed it; restore it from a backup",
                path=self.path(digest),
            )

    def copy_to(self, digest: str, target: str, executable: bool = False) -> None:
        """Write the blob to `target`, replacing what is there; nothing stays behind when that fails."""
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
        """Store what `chunks` yields, which must hash to `digest`. Of a blob that is there nothing is read."""
        if not self.has(digest):
            file = self._write_temporary(lambda out: _drain(chunks, out))
            if file.digest != digest:
                os.unlink(file.path)
                raise InvalidInput(
                    f"what was sent for blob {digest} is {file.size} bytes that hash to {file.digest}",
                    "send the content again: it was changed or cut short on the way",
                )
            self._place([file])
        return digest

    def put_file(self, path: str, digest: Optional[str] = None, move: bool = False) -> Tuple[str, int]:
        """Store a file and say what was stored: the bytes are hashed while they are copied.

        `digest` is what the file held when it was last read; when that blob exists, nothing is read. With `move` the
        file is gone afterwards, and its bytes are not copied when they can be taken over as they are.
        """
        if digest is not None and self.has(digest):
            stored = digest, self.size(digest)
        else:
            stored = self.adopt(path) if move else self.put_files([(path, digest)])[0]
        if move:
            os.unlink(path)
        return stored

    def adopt(self, path: str) -> Tuple[str, int]:
        """Store a file that nobody will write to any more, without copying it where that is possible.

        The file keeps its name and becomes read-only: it and the blob are one. A file that has other names already is
        copied, because somebody might still write to it under one of those.
        """
        file = self._link_temporary(path)
        if file is None:
            return self.put_files([(path, None)])[0]
        self._place([file])
        return file.digest, file.size

    def put_files(self, files: Sequence[Tuple[str, Optional[str]]]) -> List[Tuple[str, int]]:
        """`put_file` for many (path, digest) at once, which syncs the disk once for all of them."""
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
        """Remove what writers that were killed have left file, if nobody touched it for so many seconds."""
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
            raise NotFound(f"there is no blob {digest}", f"look into {self.root}: was it moved or cleaned?") from None

    def _temporary_name(self) -> str:
        if not self._has_temporary:
            with space(self.root):
                os.makedirs(self._temporary, exist_ok=True)
            self._has_temporary = True
        return f"{self._temporary}/{os.getpid()}-{os.urandom(8).hex()}"

    def _take(self, file: io.FileIO) -> _Temporary:
        """Write what the file holds file. A small file that is here already is only read, and has no path file."""
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
        """Give written files their names, once their bytes are on the disk, and see that the names are there too."""
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
        """A second name for a file that has only one, hashed; None when that cannot be."""
        name = self._temporary_name()
        try:
            if os.path.islink(path) or os.stat(path).st_nlink != 1:
                return None
            os.link(path, name)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, or one without links
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
    """Hash what `source` holds while writing it to `out`."""
    return _drain(iter(lambda: os.read(source, CHUNK), b""), out)


def _drain(chunks: Iterable[bytes], out: Optional[int]) -> Tuple[str, int]:
    total, size = hashlib.sha256(), 0
    for chunk in chunks:
        total.update(chunk)
        size += len(chunk)
        if out is not None:
            write_all(out, chunk)
    return total.hexdigest(), size
