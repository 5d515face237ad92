"""Stores by kind, loaded when first asked for, and what is found in them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from footplate.data.stores.base import FileStore
from footplate.domain import store_names
from footplate.domain.data import (
    ADLS_GEN2,
    AZURE_BLOB,
    AZURE_FILE,
    FOLDER,
    GCS,
    HTTP,
    S3,
    SERVER,
    StoreEntry,
    StoreSpec,
)
from footplate.errors import InvalidInput, NotFound


class _Row(NamedTuple):
    module: str
    attribute: str
    extra: str | None = None


_REGISTRY = {
    FOLDER: _Row("footplate.data.stores.folder", "FolderStore"),
    AZURE_FILE: _Row("footplate.data.stores.folder", "MountedShare"),
    HTTP: _Row("footplate.data.stores.http", "HttpStore"),
    SERVER: _Row("footplate.data.stores.server", "ServerStore"),
    AZURE_BLOB: _Row("footplate.data.stores.objects", "AzureBlobStore", "data"),
    ADLS_GEN2: _Row("footplate.data.stores.objects", "AzureBlobStore", "data"),
    S3: _Row("footplate.data.stores.objects", "S3Store", "data"),
    GCS: _Row("footplate.data.stores.objects", "GcsStore", "data"),
}


def open_store(spec: StoreSpec) -> FileStore:
    """The store that `spec` describes. Nothing is asked of its server yet."""
    row = _REGISTRY.get(spec.check().kind)
    if row is None:
        raise InvalidInput("a database holds rows and no files", "read it with Dataset.Tabular.from_sql_query")
    try:
        module = importlib.import_module(row.module)
    except ImportError as error:
        if row.extra is None:
            raise
        raise InvalidInput(
            f"a store of kind {spec.kind!r} needs a library that is not installed here ({error.name})",
            f"install it with: pip install 'footplate[{row.extra}]'",
        ) from None
    return getattr(module, row.attribute)(spec)


def open_later(spec: StoreSpec) -> FileStore:
    """A store that is opened when something is asked of it: what a cache has, is had without loading its library."""
    return open_store(spec) if spec.kind in (FOLDER, AZURE_FILE) else cast(FileStore, _LaterStore(spec.check()))


class _LaterStore:
    folder = None

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self._opened: FileStore | None = None

    @property
    def ranges(self) -> bool | None:
        return None if self._opened is None else self._opened.ranges

    def __getattr__(self, name: str) -> Any:
        self._opened = self._opened or open_store(self.spec)
        return getattr(self._opened, name)


def find(store: FileStore, path: str = "") -> Iterator[StoreEntry]:
    """The files that a path of a user means: the file itself, all of a folder, or what a pattern matches.

    Nothing found is NotFound, raised once the listing is through. A web server lists nothing: there it is a file.
    """
    empty = True
    for entry in _meant(store, path):
        empty = False
        yield entry
    if empty:
        raise NotFound(f"there is nothing at {path!r}", "look at what is there with: footplate datastore ls NAME")


def find_beginning(store: FileStore, prefix: str) -> Iterator[StoreEntry]:
    """As `find`; where nothing is called so, the files whose path begins with `prefix`, which may be none."""
    empty = True
    for entry in _meant(store, prefix):
        empty = False
        yield entry
    beginning = prefix.lstrip("/")
    if empty and beginning and not store_names.is_pattern(prefix):
        for page in store.list(store_names.clean_folder(beginning.rpartition("/")[0])):
            yield from (entry for entry in page if entry.path.startswith(beginning))


def _meant(store: FileStore, path: str) -> Iterator[StoreEntry]:
    if store.spec.kind == HTTP:
        if not path.strip("/"):
            raise InvalidInput(f"{store!r} does not tell which files it has", "give the path of a file")
        return iter([store.stat(path)])
    if store_names.is_pattern(path):
        return _match(store, path.strip("/"))
    return _file_or_folder(store, store_names.clean_folder(path))


def _match(store: FileStore, pattern: str) -> Iterator[StoreEntry]:
    wanted = store_names.compile_pattern(pattern)
    for page in store.list(store_names.clean_folder(store_names.fixed_folder(pattern))):
        yield from (entry for entry in page if wanted.fullmatch(entry.path))


def _file_or_folder(store: FileStore, path: str) -> Iterator[StoreEntry]:
    if path:
        try:
            yield store.stat(path)
            return
        except NotFound:
            pass
    for page in store.list(path):
        yield from page
