"""The state of a source directory, and the digests of its files, when it was last read.

A file with the same size, times and inode is not read again. A file that changed so shortly before it was read that a
later change could have left the same times is not trusted; git has the same rule for its index. The cache may be lost
or damaged at any time; that costs one reading of the directory.
"""

from __future__ import annotations

import binascii
import contextlib
import hashlib
import marshal
import os
import time
from typing import Any, Container, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from footplate.disk import atomic_write

Stamp = Tuple[int, int, int, int, int]
"""A regular file: mode, size, mtime_ns, ctime_ns, inode."""

What = Union[Stamp, str, None]
"""An entry: a file's stamp, a link's target, or None when it is uncertain."""

Seen = Dict[str, Dict[str, What]]
"""For every directory ("" or "a/b/") its entries by name, without subdirectories, which have keys of their own."""

_MAGIC = b"footplate stat cache 3, marshal %d\n" % marshal.version
_TICK_NS = 50_000_000  # more than a tick of any kernel's coarse clock
_COARSE_NS = 2_000_000_000  # more than the resolution of file systems that store whole seconds
_DIGEST_BYTES = 32


class WatchedFolder(NamedTuple):
    """Files that git watches (`git_index.py`): its index, and by directory the names that it does not watch."""

    index: Any
    others: Dict[str, List[str]]


NOBODY = WatchedFolder(None, {})


class Scanned(NamedTuple):
    """The result of a scan: the key of its rules, the snapshot's id, and the notices to the user."""

    rules: Any = None
    manifest: Optional[str] = None
    notices: Tuple[str, ...] = ()


class _Memory(NamedTuple):
    """The larger part of the cache, which is loaded only when needed."""

    seen: Seen
    digests: bytes
    others: Dict[str, List[str]]


class StatCache:
    """The memory of one directory, for one scan: the result of the last scan under the rules `rules`.

    `began_ns` is the start of the scan, by the clock of the files' times.
    """

    def __init__(self, path: Optional[str], began_ns: Optional[int] = None) -> None:
        self._path = path
        self._unread: Union[bytes, memoryview] = b""
        self._memory: Optional[_Memory] = None
        self.began_ns = time.time_ns() if began_ns is None else began_ns
        self._scanned = Scanned()
        self.index: Any = None
        if path is not None:
            self._load(path)

    @classmethod
    def for_folder(cls, cache_folder: str, folder: str, began_ns: Optional[int] = None) -> StatCache:
        name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
        return cls(os.path.join(cache_folder, name), began_ns)

    @property
    def rules(self) -> Any:
        return self._scanned.rules

    @property
    def manifest(self) -> Optional[str]:
        return self._scanned.manifest

    @property
    def notices(self) -> Tuple[str, ...]:
        return self._scanned.notices

    @property
    def seen(self) -> Seen:
        return self._recall().seen

    @property
    def others(self) -> Dict[str, List[str]]:
        """The names that `WatchedFolder` excludes."""
        return self._recall().others

    def digests(self) -> Dict[str, str]:
        """Return the digest of every file in `seen`. Stored in its order: an unchanged directory needs none."""
        raw = self._recall().digests
        starts = range(0, len(raw), _DIGEST_BYTES)
        return {path: raw[at : at + _DIGEST_BYTES].hex() for at, path in zip(starts, _files(self.seen))}

    def save(
        self,
        scanned: Scanned,
        seen: Seen,
        digests: Mapping[str, str],
        changing: Container[str],
        watch: WatchedFolder = NOBODY,
    ) -> None:
        """Save a scan, without files that changed during it or shortly before."""
        if self._path is None:
            return
        trusted: Seen = {
            folder: {
                name: what if self._is_settled(what) and folder + name not in changing else None
                for name, what in names.items()
            }
            for folder, names in seen.items()
        }
        raw = b"".join(bytes.fromhex(digests[path]) for path in _files(trusted))
        head = marshal.dumps((tuple(scanned), watch.index))
        body = marshal.dumps((trusted, raw, _with_uncertain(watch.others, trusted)))
        data = len(head).to_bytes(4, "little") + head + body
        with contextlib.suppress(OSError):  # without a cache the next scan takes longer, nothing else
            folder = os.path.dirname(self._path)
            for each in (os.path.dirname(folder), folder):  # what others may write decides what a snapshot contains
                os.makedirs(each, 0o700, exist_ok=True)
            checksum = binascii.crc32(data).to_bytes(4, "little")
            atomic_write(self._path, b"".join((_MAGIC, checksum, data)), durable=False, mode=0o600)

    def _is_settled(self, what: What) -> bool:
        if not isinstance(what, tuple):
            return True
        _, _, modified, changed, _ = what
        # A kernel that stores fractions of seconds leaves a round number once in a million times.
        slack = _COARSE_NS if changed % 1_000_000 == 0 else _TICK_NS
        return max(modified, changed) + slack < self.began_ns

    def _load(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return
        start = len(_MAGIC) + 4
        data = memoryview(content)[start:]
        # Checked first: marshal may crash on bytes that it did not write.
        if content.startswith(_MAGIC) and content[len(_MAGIC) : start] == binascii.crc32(data).to_bytes(4, "little"):
            end = 4 + int.from_bytes(data[:4], "little")
            scanned, self.index = marshal.loads(data[4:end])
            self._scanned = Scanned(*scanned)
            self._unread = data[end:]

    def _recall(self) -> _Memory:
        if self._memory is None:
            self._memory = _Memory(*marshal.loads(self._unread)) if self._unread else _Memory({}, b"", {})
            self._unread = b""
        return self._memory


def _with_uncertain(others: Dict[str, List[str]], trusted: Seen) -> Dict[str, List[str]]:
    """Add the files that are not trusted: the next scan has to look at them in any case."""
    uncertain = {
        folder: [name for name, what in names.items() if what is None]
        for folder, names in trusted.items()
        if None in names.values()
    }
    return {folder: sorted({*others.get(folder, ()), *uncertain.get(folder, ())}) for folder in {**others, **uncertain}}


def _files(seen: Seen) -> Iterator[str]:
    return (folder + name for folder, names in seen.items() for name, what in names.items() if type(what) is tuple)
