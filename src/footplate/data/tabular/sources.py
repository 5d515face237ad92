"""The files of a tabular definition: looked up in their stores, brought to this machine when their rows are read."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from footplate.content.listing import Listing
from footplate.data.cache import DataCache, cache_at
from footplate.data.resolve import WEB, names_key, resolve, web_store
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import open_store
from footplate.data.tabular.arrow import pa
from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.transfer.batch import PARALLEL_BLOCKS
from footplate.domain.data import SQL, Item, StoreSpec
from footplate.domain.datasets import sources_of
from footplate.domain.store_names import is_pattern, matches
from footplate.domain.tabular import Json, format_of
from footplate.errors import Conflict, InvalidInput

Stores = Mapping[str, StoreSpec]

_HELD = 64
"""How many files of the cache are kept from being removed. They are read one after the other."""


@contextlib.contextmanager
def opened(definition: Json, stores: Stores, cache: str, listing: str | None = None) -> Generator[Table, None, None]:
    """The table of a definition, from the files that `listing` pins, else from what its sources mean now.

    Files of this machine are read in place, others through the cache in the folder `cache`.
    """
    if format_of(definition)["kind"] == "sql":
        with _explained():
            yield Table(definition, database=_database(definition, stores))
        return
    items = _pinned(definition, listing) if listing else _found(definition, stores)
    with contextlib.closing(_Fetched(cache)) as fetched, _explained():
        yield Table(definition, _files(items, stores, fetched))


@contextlib.contextmanager
def _explained() -> Generator[None, None, None]:
    """What Arrow cannot do, and nobody who asked it has put in better words."""
    try:
        yield
    except pa.ArrowException as error:
        raise InvalidInput(
            f"the table cannot be computed: {error}", "set the columns' types with set_column_types, or leave them out"
        ) from error


def _found(definition: Json, stores: Stores) -> list[Item]:
    """In the order of the sources; what one source finds is sorted, since stores list in no order."""
    found = dict[tuple[str, str], Item]()
    for source in sources_of(definition):
        for item in sorted(resolve({"sources": [source]}, stores), key=lambda item: names_key(item.source)):
            found.setdefault((item.store, item.source), item)
    return list(found.values())


def _pinned(definition: Json, listing: str) -> list[Item]:
    """The items of a listing in the same order: it has lost which source found them."""
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


def _files(items: Sequence[Item], stores: Stores, fetched: _Fetched) -> list[SourceFile]:
    reached = dict[str, FileStore]()
    for label in {item.store for item in items}:
        reached[label] = open_store(web_store() if label == WEB else stores[label])
    return [_file(item, reached[item.store], fetched) for item in items]


def _file(item: Item, store: FileStore, fetched: _Fetched) -> SourceFile:
    if store.folder is not None:
        return SourceFile("/" + item.source, lambda: _in_place(store, item))
    shown = item.source if item.store == WEB else "/" + item.source
    return SourceFile(shown, lambda: fetched.path(store, item), lambda limit: fetched.head(store, item, limit))


def _in_place(store: FileStore, item: Item) -> Path:
    """The file itself, if it is still the one that was named."""
    if item.etag and store.stat(item.source).etag != item.etag:
        raise Conflict(
            f"{item.source!r} was changed since the dataset was registered",
            "dataset.verify() tells what changed; register a new version to read the data as it is now",
        )
    return cast("Path", store.folder) / item.source


class _Fetched:
    """Files of stores elsewhere, through the cache, which may not remove what is held here."""

    def __init__(self, cache: str) -> None:
        self._folder = cache
        self._cache: DataCache | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._held = OrderedDict[tuple[str, str], int]()

    def path(self, store: FileStore, item: Item) -> Path:
        return Path(f"/proc/self/fd/{self._open(store, item)}")

    def head(self, store: FileStore, item: Item, limit: int) -> bytes:
        """The first bytes, from the store itself as long as the file is not here and is larger than that."""
        cache = self._opened()
        held = cache.find(cache.key(store, item.entry()), item.size)
        if held is None and not 0 <= item.size <= limit:
            return store.read(item.source, 0, limit, item.etag)
        if held is not None:
            os.close(held)
        return os.pread(self._open(store, item), limit, 0)

    def _open(self, store: FileStore, item: Item) -> int:
        known = (item.store, item.source)
        if known not in self._held:
            self._pool = self._pool or ThreadPoolExecutor(PARALLEL_BLOCKS)
            self._held[known] = self._opened().open(store, item.entry(), self._pool)
            if len(self._held) > _HELD:
                os.close(self._held.popitem(last=False)[1])
        return self._held[known]

    def _opened(self) -> DataCache:
        self._cache = self._cache or cache_at(self._folder)
        return self._cache

    def close(self) -> None:
        for file in self._held.values():
            os.close(file)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _database(definition: Json, stores: Stores) -> str:
    source: Any = next(iter(sources_of(definition)))
    spec = stores[source["datastore"]]
    if spec.kind != SQL:
        raise InvalidInput(
            f"datastore {source['datastore']!r} is no database",
            "use one of Datastore.register_sql_database, register_azure_sql_database, register_azure_postgre_sql",
        )
    return importlib.import_module("footplate.data.tabular.sql").database_url(spec)  # SQLAlchemy, for queries alone
