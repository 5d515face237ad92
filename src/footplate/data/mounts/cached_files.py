"""Random access to remote files through the cache, from any thread.

A small file is fetched whole when it is opened. A large one is fetched by the blocks that are read, with read-ahead
while they are read in order. Once no block is missing, the cache keeps the file as a whole.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from footplate.data.cache import DataCache
from footplate.data.stores.base import SMALL, FileStore
from footplate.data.transfer import fetch
from footplate.domain.data import StoreEntry

AHEAD = 4
"""Number of blocks to read ahead while a file is read in order."""


class CachedFile:
    """A file that the cache has completely: `file` is open for reading."""

    def __init__(self, file: int) -> None:
        self.file = file

    def fetch_range(self, start: int, length: int) -> None:
        """Ensure that these bytes can be read from `file`."""

    def close(self) -> None:
        os.close(self.file)


class BlockFile:
    """A large file of which the cache may have any part: `file` holds the bytes that were fetched."""

    def __init__(
        self, store: FileStore, entry: StoreEntry, cache: DataCache, key: str, pool: ThreadPoolExecutor
    ) -> None:
        self._store, self._entry, self._cache, self._key, self._pool = store, entry, cache, key, pool
        self._partial = cache.partial(key, entry)
        self.file = self._partial.file
        self._lock = threading.Lock()
        self._coming: dict[int, Future[None]] = {}
        self._next = 0

    def fetch_range(self, start: int, length: int) -> None:
        end = min(start + length, self._entry.size)
        if start >= end:
            return
        first = start // self._partial.block
        last = (end - 1) // self._partial.block
        futures = [self._request_block(index) for index in range(first, last + 1)]
        if first <= self._next <= last + 1:  # sequential so far
            for index in range(last + 1, min(last + 1 + AHEAD, self._partial.count)):
                self._request_block(index)
        self._next = last + 1
        for future in futures:
            if future is not None:
                future.result()

    def _request_block(self, index: int) -> Future[None] | None:
        """Return the future that fetches the block, or None if it is cached."""
        with self._lock:
            future = self._coming.get(index)
            if future is not None and not (future.done() and future.exception()):
                return future
            if future is None and self._partial.has(index):
                return None
            self._coming[index] = future = self._pool.submit(self._fetch_block, index)
            return future

    def _fetch_block(self, index: int) -> None:
        with self._partial.lock_block(index):
            if not self._partial.has(index):
                start, length = self._partial.span(index)
                self._partial.write(index, self._store.read(self._entry.path, start, length, self._entry.etag))
        if not self._partial.missing():
            self._cache.keep_partial(self._key, self._entry, self._partial)
            self._cache.evict_if_due()  # the file read here is open, whatever happens to its name

    def close(self) -> None:
        for future in list(self._coming.values()):
            future.cancel()
        for future in list(self._coming.values()):
            if not future.cancelled():
                future.exception()  # only waits: the reader has received the error
        self._partial.close()


def open_remote(
    store: FileStore, entry: StoreEntry, cache: DataCache, pool: ThreadPoolExecutor
) -> CachedFile | BlockFile:
    """Open the file for reading; `close` allows the cache to evict it."""
    if entry.size <= SMALL or store.ranges is False:
        return CachedFile(cache.open(store, entry, pool))
    key = cache.key(store, entry)
    whole = cache.find(key, entry.size)
    if whole is None and not fetch.supports_ranges(store, entry):
        whole = cache.open(store, entry, pool)
    return CachedFile(whole) if whole is not None else BlockFile(store, entry, cache, key, pool)
