"""Transfers to and from the server's content store.

On one machine the store is a folder, and files are copied straight into it. `RemoteBlobs` offers the same methods for a
store on another machine: it sends only the blobs that the store lacks, several at a time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from contextlib import nullcontext, suppress
from typing import BinaryIO, Callable, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, TypeVar, Union, cast

from footplate.content.blobs import BlobFolder, hash_file
from footplate.disk import atomic_file, write_all
from footplate.domain.records import FileView
from footplate.domain.text import size as readable_size
from footplate.sdk.display.status_line import working
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session, translating

T = TypeVar("T")
Source = Union[str, "os.PathLike[str]", BinaryIO]
"""A path on this machine, or an open binary stream."""

Passing = Callable[[Iterator[bytes]], Iterator[bytes]]
"""A function through which the pieces of a download pass, for example to count them."""

_CHUNK = 1024 * 1024
_LARGE = 4 * 1024 * 1024  # bytes of an upload that may take a while
_IN_MEMORY = 8 * 1024 * 1024
_PARALLEL = 8


class RemoteBlobs:
    """The content store of a server on another machine, with the methods of `BlobFolder` that the SDK uses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def has(self, digest: str) -> bool:
        return not self.missing({digest})

    def vouches_for(self, manifest: str) -> bool:
        return self._session.api.blobs.vouches_for(manifest)

    def missing(self, digests: Iterable[str]) -> Set[str]:
        return set(self._session.api.blobs.missing(list(digests)))

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if not self.has(digest):
            self._session.api.blobs.put(digest, data)
        return digest

    def put_files(self, files: Sequence[Tuple[str, Optional[str]]]) -> List[Tuple[str, int]]:
        """Send each file and return its digest and size.

        The server checks the digest, so a file that changes while it is sent is an error and never a wrong blob.
        """
        hashed = [hash_file(path) for path, _ in files]
        paths = {digest: path for (path, _), (digest, _) in zip(files, hashed)}
        in_parallel(lambda digest: self._send(digest, paths[digest]), sorted(self.missing(paths)))
        return hashed

    def open(self, digest: str) -> BinaryIO:
        content = cast("BinaryIO", tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115  # whoever asked closes it
        for piece in self._session.api.blobs.read(digest):
            content.write(piece)
        content.seek(0)
        return content

    def _send(self, digest: str, path: str) -> None:
        with open(os.fspath(path), "rb") as file:
            self._session.api.blobs.put(digest, file)


Blobs = Union[BlobFolder, RemoteBlobs]


def store_of(session: Session) -> Blobs:
    folder = session.blob_folder
    return RemoteBlobs(session) if folder is None else BlobFolder(folder)


def put(session: Session, sources: Sequence[Tuple[str, Source]]) -> List[FileView]:
    """Store each source and return the stored files, under their names and in the same order."""
    store = store_of(session)
    views: List[FileView] = []
    with translating():
        paths = {at: _find_file(source) for at, (_, source) in enumerate(sources) if not hasattr(source, "read")}
        total = sum(map(os.path.getsize, paths.values()))
        files = f"{len(paths)} files" if len(paths) != 1 else os.path.basename(next(iter(paths.values())))
        with working(f"uploading {files} ({readable_size(total)})") if total > _LARGE else nullcontext():
            stored = dict(zip(paths, store.put_files([(path, None) for path in paths.values()])))
        for at, (name, source) in enumerate(sources):
            if at in stored:
                digest, size = stored[at]
            else:
                data = cast("BinaryIO", source).read()
                data = data.encode("utf-8") if isinstance(data, str) else data
                digest = store.put_bytes(data)
                size = len(data)
            views.append(FileView(name, size, digest))
    return views


def fetch(session: Session, digest: str, target: str, passing: Passing = iter) -> None:
    """Write a blob to `target`, whole or not at all; create missing folders. Its pieces go through `passing`."""
    store = store_of(session)
    with translating():
        if isinstance(store, RemoteBlobs) or not store.has(digest):  # the server reads it from its object store
            write_pieces(target, passing(session.api.blobs.read(digest)))
            return
        with store.open(digest) as file:
            write_pieces(target, passing(iter(lambda: file.read(_CHUNK), b"")))


def write_pieces(target: str, pieces: Iterator[bytes]) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    with atomic_file(target, durable=False) as out:
        for piece in pieces:
            write_all(out, piece)


def in_parallel(work: Callable[[T], None], items: Sequence[T]) -> None:
    """Call `work` for every item, a few at a time; the first error stops it."""
    waiting = list(reversed(items))
    errors: List[BaseException] = []

    def labour() -> None:
        while waiting and not errors:
            with suppress(IndexError):  # another thread took the last item
                item = waiting.pop()
                try:
                    work(item)
                except BaseException as error:
                    errors.append(error)

    threads = [threading.Thread(target=labour, daemon=True) for _ in range(min(_PARALLEL, len(items)) - 1)]
    for thread in threads:
        thread.start()
    labour()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _find_file(source: Source) -> str:
    path = os.fspath(cast("os.PathLike[str]", source))
    if not os.path.isfile(path):
        raise UserErrorException(f"there is no file {path!r} to upload", hint="upload a folder with upload_folder")
    return path
