"""Download of one file: whole and as it was listed, or not at all.

A file of up to `SMALL` bytes is one request, verified in memory. A larger one is fetched in parallel blocks into a
partial file; a later attempt resumes it as long as the store still has the same file. If the store does not support
ranges, or does not know the length, the file is fetched in one stream.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future

from footplate.backoff import Backoff
from footplate.data.stores.base import SMALL, Count, FileStore, fingerprint
from footplate.data.stores.folder import ASIDE
from footplate.data.transfer.partial import Partial
from footplate.disk import atomic_file, space, write_all
from footplate.domain.data import StoreEntry
from footplate.errors import Broken, Unavailable

_BLOCK = 8 * 1024 * 1024  # larger than those of random access, because the whole file is wanted
_ATTEMPTS_WITHOUT_PROGRESS = 5
_PAUSE, _LONGEST_PAUSE = 0.2, 1.0


def read_whole(store: FileStore, entry: StoreEntry) -> bytes:
    """Fetch a small file, and verify it."""
    data = store.read(entry.path, etag=entry.etag)
    check_length(entry, len(data))
    check_digest(entry, [data])
    return data


def check_length(entry: StoreEntry, length: int) -> None:
    if entry.size >= 0 and length != entry.size:
        raise Broken(
            f"{entry.path!r} has {length} bytes, but {entry.size} were listed",
            "it was changed or truncated in its store: check it there, or create a new version of the dataset",
        )


def check_digest(entry: StoreEntry, chunks: Iterable[bytes]) -> None:
    """Verify the content, if the entry has a digest."""
    name, _, expected = entry.digest.partition(":")
    if not expected:
        return
    # Where the system forbids MD5, Python 3.9 and newer may still use it for this.
    total = hashlib.new(name, usedforsecurity=False) if sys.version_info >= (3, 9) else hashlib.new(name)
    for chunk in chunks:
        total.update(chunk)
    if total.hexdigest() != expected:
        raise Broken(
            f"{entry.path!r} has content with the digest {name}:{total.hexdigest()}, not {entry.digest}",
            "it was changed in its store or on the way: check it there, or create a new version of the dataset",
        )


def fetch_large(store: FileStore, entry: StoreEntry, target: str, mode: int, pool: Executor, count: Count) -> None:
    """Fetch a file of any size to `target`, which appears or is replaced once the file is complete."""
    if entry.size < 0 or not supports_ranges(store, entry):
        _fetch_stream(store, entry, target, mode, count)
        return
    key = fingerprint(store.spec.identity(), entry.path, entry.etag, str(entry.size), entry.digest)[:32]
    aside = os.path.join(os.path.dirname(target), f"{ASIDE}{key}")
    with Partial(aside, entry.size, _BLOCK) as partial:
        fetch_blocks(store, entry, partial, pool, count)
        verify_partial(partial, entry)
        partial.finish(mode)
    os.replace(aside, target)


def supports_ranges(store: FileStore, entry: StoreEntry) -> bool:
    """Return whether the store supports ranges.

    A one-byte read decides: otherwise each block would cost the whole file.
    """
    if store.ranges is None:
        store.read(entry.path, 0, 1, entry.etag)
    return bool(store.ranges)


def fetch_blocks(store: FileStore, entry: StoreEntry, partial: Partial, pool: Executor, count: Count) -> None:
    """Fetch the missing blocks through `pool`. The first failure stops the rest; complete blocks are kept."""
    missing = partial.missing()
    count(entry.size - sum(partial.span(index)[1] for index in missing))

    def fetch(index: int) -> None:
        start, length = partial.span(index)
        partial.write(index, store.read(entry.path, start, length, entry.etag))
        count(length)

    run_all(pool, fetch, missing)


def run_all(pool: Executor, act: Callable[[int], None], numbers: Iterable[int]) -> None:
    """Call `act` with each number through `pool`. The first failure stops those that have not begun, and is raised."""
    stop = threading.Event()

    def run(number: int) -> None:
        if stop.is_set():
            return
        try:
            act(number)
        except BaseException:
            stop.set()
            raise

    wait_all([pool.submit(run, number) for number in numbers])


def wait_all(futures: list[Future[None]]) -> None:
    """Wait for all, then raise the first error."""
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]


def verify_partial(partial: Partial, entry: StoreEntry) -> None:
    """Verify a file that has all its blocks, and discard it if it differs from its listing."""
    try:
        check_digest(entry, partial.chunks())
    except Broken:
        partial.discard()
        raise


def _fetch_stream(store: FileStore, entry: StoreEntry, target: str, mode: int, count: Count) -> None:
    aside = os.path.join(os.path.dirname(target), f"{ASIDE}{os.urandom(8).hex()}")
    with space(os.path.dirname(target)), atomic_file(target, durable=True, mode=mode, temporary=aside) as out:
        _stream_with_retries(store, entry, out, count)
        with open(aside, "rb") as file:
            check_digest(entry, iter(lambda: file.read(SMALL), b""))


def _stream_with_retries(store: FileStore, entry: StoreEntry, out: int, count: Count) -> None:
    """Resume a stream that was cut, for as long as there is progress."""
    attempts = 0
    backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
    while True:
        begun = os.fstat(out).st_size
        try:
            _stream_rest(store, entry, out, count)
            return
        except Unavailable:
            attempts = 0 if os.fstat(out).st_size > begun else attempts + 1
            if attempts == _ATTEMPTS_WITHOUT_PROGRESS:
                raise
            if attempts:
                backoff.wait()
            else:
                backoff.reset()


def _stream_rest(store: FileStore, entry: StoreEntry, out: int, count: Count) -> None:
    """Continue at the end of the file, where the last attempt stopped."""
    length = os.fstat(out).st_size
    os.lseek(out, length, os.SEEK_SET)
    for chunk in store.stream(entry.path, length, entry.etag):
        write_all(out, chunk)
        length += len(chunk)
        count(len(chunk))
    check_length(entry, length)
