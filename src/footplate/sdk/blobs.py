"""Content on its way to the server's store and back.

On one machine files go straight into the store's folder; to a team server they are sent, several at a time, and only
those that it does not have.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from typing import BinaryIO, Callable, Dict, Iterable, List, Sequence, Tuple, TypeVar, Union, cast

from footplate.content.blobs import BlobFolder, hash_file
from footplate.domain.records import FileView
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session, translating

T = TypeVar("T")
Source = Union[str, "os.PathLike[str]", BinaryIO]
"""A path on this machine, or an open binary stream."""

_CHUNK = 1024 * 1024
_PARALLEL = 8
_ASKED_AT_ONCE = 5000


def store(session: Session, sources: Sequence[Tuple[str, Source]]) -> List[FileView]:
    """Bring each source to the store; the files it now has, under their names, in the same order."""
    folder = session.blobs
    if folder is not None:
        return [_store_here(folder, name, source) for name, source in sources]
    contents = [(name, _Content(source)) for name, source in sources]
    views = [FileView(name, content.size, content.digest) for name, content in contents]
    send_missing(session, {content.digest: content.open for _, content in contents})
    return views


def send_missing(session: Session, contents: Dict[str, Callable[[], BinaryIO]]) -> None:
    """Send what the server does not have, of `{digest: how to open it}`."""
    digests = list(contents)
    missing: List[str] = []
    for start in range(0, len(digests), _ASKED_AT_ONCE):
        missing += session.post("/blobs/missing", {"digests": digests[start : start + _ASKED_AT_ONCE]})["missing"]

    def send(digest: str) -> None:
        with contents[digest]() as file:
            session.send(f"/blobs/{digest}", file)

    in_parallel(send, missing)


def fetch(session: Session, digest: str, target: str) -> None:
    """Write a blob to `target`, whole or not at all; folders above it are made."""
    write_aside(target, session.stream(f"/blobs/{digest}") if session.blobs is None else _pieces(session.blobs, digest))


def write_aside(target: str, pieces: Iterable[bytes]) -> None:
    folder = os.path.dirname(os.path.abspath(target))
    os.makedirs(folder, exist_ok=True)
    aside = os.path.join(folder, f".{os.path.basename(target)[:100]}.{os.urandom(4).hex()}")
    try:
        with open(aside, "wb") as file:
            for piece in pieces:
                file.write(piece)
        os.replace(aside, target)
    except BaseException:
        if os.path.exists(aside):
            os.unlink(aside)
        raise


def files_below(folder: str) -> List[Tuple[str, str]]:
    """`(name with slashes, path)` of every file below `folder`, sorted; links are followed, as uploads always did."""
    found: List[Tuple[str, str]] = []
    for above, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = os.path.join(above, name)
            if os.path.isfile(path):
                found.append((os.path.relpath(path, folder).replace(os.sep, "/"), path))
    return sorted(found)


def in_parallel(work: Callable[[T], None], items: Sequence[T]) -> None:
    """Do `work` for every item, a few at a time; the first error ends it."""
    waiting = list(reversed(items))
    errors: List[BaseException] = []

    def labour() -> None:
        while waiting and not errors:
            try:
                item = waiting.pop()
            except IndexError:  # another thread was quicker
                return
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


def opener(path: str) -> Callable[[], BinaryIO]:
    return lambda: open(path, "rb")


class _Content:
    """A source that has been read once, for its digest."""

    def __init__(self, source: Source) -> None:
        if hasattr(source, "read"):
            data = _read_all(cast("BinaryIO", source))
            self.digest, self.size = hashlib.sha256(data).hexdigest(), len(data)
            self.open: Callable[[], BinaryIO] = lambda: io.BytesIO(data)
        else:
            path = _checked(source)
            self.digest, self.size = hash_file(path)
            self.open = opener(path)


def _store_here(folder: BlobFolder, name: str, source: Source) -> FileView:
    with translating():
        if hasattr(source, "read"):
            data = _read_all(cast("BinaryIO", source))
            return FileView(name, len(data), folder.put_bytes(data))
        digest, size = folder.put_file(_checked(source))
        return FileView(name, size, digest)


def _checked(source: Source) -> str:
    path = os.fspath(cast("os.PathLike[str]", source))
    if not os.path.isfile(path):
        raise UserErrorException(f"there is no file {path!r} to upload", hint="upload a folder with upload_folder")
    return path


def _read_all(stream: BinaryIO) -> bytes:
    data = stream.read()
    return data.encode("utf-8") if isinstance(data, str) else data


def _pieces(folder: BlobFolder, digest: str) -> Iterable[bytes]:
    with translating(), folder.open(digest) as file:
        yield from iter(lambda: file.read(_CHUNK), b"")
