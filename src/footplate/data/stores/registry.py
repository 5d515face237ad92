"""Stores by kind, imported on first use, and lookup of paths in them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from footplate.data.stores.base import FileStore
from footplate.domain import store_names
from footplate.domain.codec import from_json
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


def specs_from_json(stores: Mapping[str, Any]) -> dict[str, StoreSpec]:
    return {name: from_json(StoreSpec, spec) for name, spec in stores.items()}


def open_store(spec: StoreSpec) -> FileStore:
    """Return the store that `spec` describes, without a request to its server."""
    row = _REGISTRY.get(spec.check().kind)
    if row is None:
        raise InvalidInput("a database has rows, not files", "read it with Dataset.Tabular.from_sql_query")
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


def open_lazily(spec: StoreSpec) -> FileStore:
    """Return a store that is opened on first use: cached files are read without importing its library."""
    return open_store(spec) if spec.kind in (FOLDER, AZURE_FILE) else cast(FileStore, _LazyStore(spec.check()))


class _LazyStore:
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
    """Yield the files that a user's path means: the file itself, all of a folder, or the matches of a pattern.

    Raise NotFound at the end if there are none. On web servers, which cannot list, a path is always a file.
    """
    empty = True
    for entry in _matching(store, path):
        empty = False
        yield entry
    if empty:
        raise NotFound(f"no files found at {path!r}", "list the folder with: footplate datastore ls NAME")


def find_by_prefix(store: FileStore, prefix: str) -> Iterator[StoreEntry]:
    """Like `find`, but if nothing has that name, yield the files whose path begins with `prefix`, possibly none."""
    empty = True
    for entry in _matching(store, prefix):
        empty = False
        yield entry
    beginning = prefix.lstrip("/")
    if empty and beginning and not store_names.is_pattern(prefix):
        for page in store.list(store_names.clean_folder(beginning.rpartition("/")[0])):
            yield from (entry for entry in page if entry.path.startswith(beginning))


def _matching(store: FileStore, path: str) -> Iterator[StoreEntry]:
    if store.spec.kind == HTTP:
        if not path.strip("/"):
            raise InvalidInput(f"{store!r} cannot list its files", "give the path of a file")
        yield store.stat(path)
    elif store_names.is_pattern(path):
        pattern = path.strip("/")
        regex = store_names.compile_pattern(pattern)
        for page in store.list(store_names.clean_folder(store_names.fixed_folder(pattern))):
            yield from (entry for entry in page if regex.fullmatch(entry.path))
    else:
        yield from _file_or_folder(store, store_names.clean_folder(path))


def _file_or_folder(store: FileStore, path: str) -> Iterator[StoreEntry]:
    if path:
        try:
            yield store.stat(path)
            return
        except NotFound:
            pass
    for page in store.list(path):
        yield from page
