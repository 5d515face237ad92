"""A directory of blobs, each named by the sha256 of its content: `ab/<64 hex>`, mode 0444.

A blob is written to a temporary file, synced and renamed into place, so every file with a blob's name is that blob,
complete, even after a power failure. Any number of processes may write at once: they can only write the same bytes
under the same name.

Disks and other programs can still change a file, so every blob is hashed when it is read or copied. One that does not
match its name moves to `.damaged/<64 hex>` and counts as missing, so the next upload of the right content heals it.
The check costs 17 µs for a file of 5 kB, which takes 100 µs or more to copy, and about 1 to 2 s for a GiB.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import re
import time
from typing import (
    BinaryIO,
    Callable,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from footplate.disk import CHUNK, copy, space, sync, temporary_file, write_all
from footplate.errors import Broken, InvalidInput, NotFound

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = ".aside"
_DAMAGED = ".damaged"
_CHECKED_FIRST = 64 << 20  # bytes: a larger blob is hashed while it is read, so that its reader need not wait
_REMEMBERED = 10_000
_RENEW_SECONDS = 300.0
_KEPT_DAMAGE = 30 * 24 * 3600.0  # seconds that the content of a damaged blob is kept for an examination
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
    def __init__(self, root: str, renew_seconds: float = _RENEW_SECONDS) -> None:
        """`renew_seconds`: how old the time of a blob may be before `has` renews it."""
        self._renew_seconds = renew_seconds
        self.root = os.path.abspath(root)
        self._temporary = os.path.join(self.root, _TEMPORARY)
        self._has_temporary = False
        self._checked: Dict[str, Tuple[int, int, int, int]] = {}  # device, inode, size and time of the last change

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, digest: str) -> str:
        return f"{self.root}/{check_digest(digest)[:2]}/{digest}"

    def has(self, digest: str) -> bool:
        """Whether the blob exists. If so, its time is renewed: the caller relies on it, and `remove` keeps it."""
        path = self.path(digest)
        try:
            if os.stat(path).st_ctime < time.time() - self._renew_seconds:
                with contextlib.suppress(PermissionError):  # of another user: only the owner removes blobs
                    os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def walk(self) -> Iterator[Tuple[str, os.stat_result]]:
        """Yield the digest and status of every blob."""
        for folder in sorted(os.listdir(self.root)) if os.path.isdir(self.root) else ():
            if len(folder) == 2:
                for name in sorted(os.listdir(f"{self.root}/{folder}")):
                    with contextlib.suppress(FileNotFoundError):  # set aside or removed meanwhile
                        if _DIGEST.fullmatch(name):
                            yield name, os.stat(f"{self.root}/{folder}/{name}")

    def missing(self, digests: Iterable[str]) -> Set[str]:
        return {digest for digest in digests if not self.has(digest)}

    def vouches_for(self, manifest: str) -> bool:
        """Whether the store has this manifest and, with it, all of its files: none was lost to damage since."""
        return self.has(manifest) and not self.has_lost_blobs()

    def has_lost_blobs(self) -> bool:
        """Whether a blob was found damaged and has not been stored again."""
        try:
            return bool(self.missing(os.listdir(f"{self.root}/{_DAMAGED}")))
        except FileNotFoundError:
            return False

    def size(self, digest: str) -> int:
        with self._explain_absence(digest):
            return os.stat(self.path(digest)).st_size

    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading, after a check of its whole content."""
        file = self._open_unchecked(digest)
        try:
            self._check(digest, file, *_pump(file.fileno(), None))
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    def open_part(self, digest: str) -> BinaryIO:
        """Open the blob to read a part of it. The whole content is checked the first time, and when the file changes.

        A client that reads 1 GiB in parts of 1 MiB would otherwise wait for 1 s at each part.
        """
        info = os.stat(self.path(digest)) if self.has(digest) else None
        identity = None if info is None else (info.st_dev, info.st_ino, info.st_size, info.st_ctime_ns)
        if identity is not None and self._checked.get(digest) == identity:
            return self._open_unchecked(digest)
        file = self.open(digest)
        if len(self._checked) >= _REMEMBERED:
            self._checked.clear()
        if identity is not None:
            self._checked[digest] = identity
        return file

    def read(self, digest: str) -> Iterator[bytes]:
        """Return the pieces of the blob. The last piece of a damaged one is an error."""
        if self.size(digest) <= _CHECKED_FIRST:
            return _pieces(self.open(digest))
        return self._hash_pieces(digest, self._open_unchecked(digest))

    def verify(self, digest: str) -> None:
        """Read the whole blob; set it aside and raise Broken when it does not match its name."""
        self.open(digest).close()

    def checked_path(self, digest: str) -> str:
        """Return the path of the blob, for readers that need a file, after a check of its whole content."""
        self.verify(digest)
        return self.path(digest)

    def copy_to(self, digest: str, target: str, executable: bool = False) -> None:
        """Write the blob to `target`, replacing an existing file; remove the new file when that fails."""
        with self.open(digest) as source:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)  # never write through a link, nor into a file that has other names
            with space(os.path.dirname(target)), temporary_file(target, 0o755 if executable else 0o644) as out:
                copy(source.fileno(), out)

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
                    copied = self._take(file)
                if copied.path:
                    written.append(copied)
                stored.append((copied.digest, copied.size))
        except BaseException:
            _unlink_all(written)
            raise
        self._place(written)
        return stored

    def remove(self, digest: str, unused_since: float) -> bool:
        """Remove the blob unless somebody stored it, or asked for it, since that time; return whether it was removed.

        It is renamed first: who asks afterwards finds nothing, and who asked just before has renewed its time.
        """
        path = self.path(digest)
        aside = self._temporary_name()
        try:
            before = os.stat(path)
            if before.st_ctime >= unused_since:
                return False
            os.rename(path, aside)
        except FileNotFoundError:
            return False
        if os.stat(aside).st_mtime_ns != before.st_mtime_ns:
            os.rename(aside, path)
            return False
        os.unlink(aside)
        return True

    def sweep(self, older_than: float = _FORGOTTEN) -> None:
        """Remove temporary files that killed writers have left, if nobody touched them for so many seconds."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._temporary) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_ctime < time.time() - older_than:
                        os.unlink(entry.path)

    def clear_damage(self) -> None:
        """Remove damaged blobs that were stored again, and the content of others after a month.

        The name of a lost blob stays: it tells clients that content must be sent again.
        """
        with contextlib.suppress(FileNotFoundError), os.scandir(f"{self.root}/{_DAMAGED}") as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if self.has(entry.name):
                        os.unlink(entry.path)
                    elif entry.stat(follow_symlinks=False).st_ctime < time.time() - _KEPT_DAMAGE:
                        os.truncate(entry.path, 0)

    # ── how ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _open_unchecked(self, digest: str) -> BinaryIO:
        with self._explain_absence(digest):
            return open(self.path(digest), "rb", buffering=0)  # the descriptor is read too: nothing may be read ahead

    def _hash_pieces(self, digest: str, file: BinaryIO) -> Iterator[bytes]:
        """Hash the pieces on their way, and keep the last one back until the hash is right."""
        total = hashlib.sha256()
        size = 0
        last = b""
        with file:
            for piece in iter(lambda: file.read(CHUNK), b""):
                total.update(piece)
                size += len(piece)
                if last:
                    yield last
                last = piece
            self._check(digest, file, total.hexdigest(), size)
        yield last

    def _check(self, digest: str, file: BinaryIO, actual: str, size: int) -> None:
        if actual != digest:
            self._set_aside(digest, file)
            raise _damage_error(digest, f"{self.root}/{_DAMAGED}/{digest}", f"holds {size} bytes that hash to {actual}")

    def _set_aside(self, digest: str, file: BinaryIO) -> None:
        """Move the open file, unless another process has done so and the blob is healed by now."""
        with contextlib.suppress(OSError):  # a store that cannot be written to; the blob is an error all the same
            if os.path.samestat(os.stat(self.path(digest)), os.fstat(file.fileno())):
                os.makedirs(f"{self.root}/{_DAMAGED}", exist_ok=True)
                os.rename(self.path(digest), f"{self.root}/{_DAMAGED}/{digest}")

    @contextlib.contextmanager
    def _explain_absence(self, digest: str) -> Generator[None, None, None]:
        try:
            yield
        except FileNotFoundError:
            damaged = f"{self.root}/{_DAMAGED}/{digest}"
            if os.path.exists(damaged):
                raise _damage_error(digest, damaged, "was damaged and set aside") from None
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


def _damage_error(digest: str, path: str, problem: str) -> Broken:
    return Broken(
        f"blob {digest} {problem}; the damaged file is {path}",
        "the disk or another program has changed it; submit or upload the content again, or restore it from a backup",
        path=path,
    )


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(CHUNK), b"")


def _unlink_all(files: Iterable[_Temporary]) -> None:
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.path)


def _pump(source: int, out: Optional[int]) -> Tuple[str, int]:
    """Hash the content of `source` while writing it to `out`."""
    return _drain(iter(lambda: os.read(source, CHUNK), b""), out)


def _drain(chunks: Iterable[bytes], out: Optional[int]) -> Tuple[str, int]:
    total = hashlib.sha256()
    size = 0
    for chunk in chunks:
        total.update(chunk)
        size += len(chunk)
        if out is not None:
            write_all(out, chunk)
    return total.hexdigest(), size
