"""The files of a tabular definition: found in their stores, and fetched when their rows are read."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import OrderedDict
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Mapping, cast

from footplate.content.listing import Listing
from footplate.data.cache import DataCache, cache_at
from footplate.data.resolve import WEB, WEB_STORE, names_key, resolve
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import open_store
from footplate.data.tabular.arrow import pa
from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.transfer.batch import PARALLEL_BLOCKS, shut_down
from footplate.domain.data import SQL, Item, StoreSpec
from footplate.domain.datasets import sources_of
from footplate.domain.store_names import is_pattern, matches
from footplate.domain.tables import Json, format_of
from footplate.errors import Conflict, InvalidInput

Stores = Mapping[str, StoreSpec]

_HELD = 64
"""Number of cached files protected from eviction at a time. They are read one after the other."""


@contextlib.contextmanager
def open_table(
    definition: Json, stores: Stores, cache: str, listing: str | None = None
) -> Generator[Table, None, None]:
    """Open the table of a definition, from the files that `listing` pins, or else from its current files.

    Local files are read in place, others through the cache in the directory `cache`.
    """
    if format_of(definition)["kind"] == "sql":
        with _translating_errors():
            yield Table(definition, database=_database(definition, stores))
        return
    items = _read_pinned_items(definition, listing) if listing else _find_current_items(definition, stores)
    with contextlib.closing(_CachedFiles(cache)) as fetched, _translating_errors():
        yield Table(definition, _files(items, stores, fetched))


@contextlib.contextmanager
def _translating_errors() -> Generator[None, None, None]:
    """Translate Arrow errors for which no caller had a better message."""
    try:
        yield
    except pa.ArrowException as error:
        raise InvalidInput(
            f"the table cannot be computed: {error}", "set the columns' types with set_column_types, or drop them"
        ) from error


def _find_current_items(definition: Json, stores: Stores) -> list[Item]:
    """Return the files in the order of the sources; those of one source are sorted, since stores list in no order."""
    items: dict[tuple[str, str], Item] = {}
    for source in sources_of(definition):
        for item in sorted(resolve({"sources": [source]}, stores), key=lambda item: names_key(item.source)):
            items.setdefault((item.store, item.source), item)
    return list(items.values())


def _read_pinned_items(definition: Json, listing: str) -> list[Item]:
    """Return the items of a listing in the same order, although it does not record which source found them."""
    sources = list(sources_of(definition))

    def order(item: Item) -> tuple[int, str]:
        finders = (at for at, source in enumerate(sources) if _finds(source, item))
        return next(finders, len(sources)), names_key(item.source)

    with Listing(listing) as items:
        return sorted(items, key=order)


def _finds(source: Mapping[str, Any], item: Item) -> bool:
    if "url" in source:
        return source["url"] == item.source
    path = str(source["path"]).strip("/")
    if source["datastore"] != item.store:
        return False
    if is_pattern(path):
        return matches(path, item.source)
    return not path or item.source == path or item.source.startswith(path + "/")


def _files(items: Sequence[Item], stores: Stores, fetched: _CachedFiles) -> list[SourceFile]:
    reached: dict[str, FileStore] = {}
    for label in {item.store for item in items}:
        reached[label] = open_store(WEB_STORE if label == WEB else stores[label])
    return [_file(item, reached[item.store], fetched) for item in items]


def _file(item: Item, store: FileStore, fetched: _CachedFiles) -> SourceFile:
    if store.folder is not None:
        return SourceFile("/" + item.source, lambda: _local_path(store, item))
    name = item.source if item.store == WEB else "/" + item.source
    return SourceFile(name, lambda: fetched.path(store, item), lambda limit: fetched.head(store, item, limit))


def _local_path(store: FileStore, item: Item) -> Path:
    """Return the file's path if the file has not changed since it was listed."""
    if item.etag and store.stat(item.source).etag != item.etag:
        raise Conflict(
            f"{item.source!r} has changed since the dataset was registered",
            "dataset.verify() lists the changes; register a new version to read the present data",
        )
    return cast("Path", store.folder) / item.source


class _CachedFiles:
    """Files of remote stores, fetched through the cache and protected from eviction."""

    def __init__(self, cache: str) -> None:
        self._folder = cache
        self._cache: DataCache | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._held: OrderedDict[tuple[str, str], int] = OrderedDict()

    def path(self, store: FileStore, item: Item) -> Path:
        return Path(f"/proc/self/fd/{self._open(store, item)}")

    def head(self, store: FileStore, item: Item, limit: int) -> bytes:
        """Return the first bytes, directly from the store if the file is larger and not cached."""
        cache = self._open_cache()
        cached = cache.find(cache.key(store, item.entry()), item.size)
        if cached is None and not 0 <= item.size <= limit:
            return store.read(item.source, 0, limit, item.etag)
        if cached is not None:
            os.close(cached)
        return os.pread(self._open(store, item), limit, 0)

    def _open(self, store: FileStore, item: Item) -> int:
        key = (item.store, item.source)
        if key not in self._held:
            self._pool = self._pool or ThreadPoolExecutor(PARALLEL_BLOCKS)
            self._held[key] = self._open_cache().open(store, item.entry(), self._pool)
            if len(self._held) > _HELD:
                os.close(self._held.popitem(last=False)[1])
        return self._held[key]

    def _open_cache(self) -> DataCache:
        self._cache = self._cache or cache_at(self._folder)
        return self._cache

    def close(self) -> None:
        for file in self._held.values():
            os.close(file)
        if self._pool is not None:
            shut_down(self._pool)


def _database(definition: Json, stores: Stores) -> str:
    source: Any = next(iter(sources_of(definition)))
    spec = stores[source["datastore"]]
    if spec.kind != SQL:
        raise InvalidInput(
            f"datastore {source['datastore']!r} is not a database",
            "use one of Datastore.register_sql_database, register_azure_sql_database, register_azure_postgre_sql",
        )
    sql = importlib.import_module("footplate.data.tabular.sql")  # with SQLAlchemy, which only queries need
    return sql.database_url(spec)
