"""The files of a tabular definition: looked up in their stores, brought to this machine when their rows are read."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from footplate.data import transfer
from footplate.data.base import Store
from footplate.data.resolve import WEB, names_key, resolve, web_store
from footplate.data.stores import open_store
from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.domain.data import Item, StoreSpec
from footplate.domain.datasets import sources_of
from footplate.domain.tabular import Json, format_of

Stores = Mapping[str, StoreSpec]


@contextlib.contextmanager
def opened(definition: Json, stores: Stores) -> Generator[Table, None, None]:
    """The table of a definition. Copies of remote files are gone when it is closed."""
    if format_of(definition)["kind"] == "sql":
        yield Table(definition, database=_database(definition, stores))
        return
    with tempfile.TemporaryDirectory(prefix="footplate-table-") as scratch:
        yield Table(definition, _files(definition, stores, Path(scratch)))


def _files(definition: Json, stores: Stores, scratch: Path) -> list[SourceFile]:
    """In the order of the sources; what one source finds is sorted, since stores list in no order."""
    reached = dict[str, Store]()
    found = dict[tuple[str, str], SourceFile]()
    for source in sources_of(definition):
        items = sorted(
            resolve({"sources": [source], "full_names": True}, stores), key=lambda item: names_key(item.name)
        )
        for item in items:
            if item.store not in reached:
                reached[item.store] = open_store(web_store() if item.store == WEB else stores[item.store])
            found.setdefault((item.store, item.source), _file(item, reached[item.store], scratch))
    return list(found.values())


def _file(item: Item, store: Store, scratch: Path) -> SourceFile:
    if store.folder is not None:
        path = store.folder / item.source
        return SourceFile("/" + item.name, lambda: path)

    @functools.cache
    def fetch() -> Path:
        below = scratch / store.spec.identity()
        name = f"{abs(hash(item.source)):x}/{Path(item.source).name}"
        return transfer.download([item._replace(name=name, path=item.source)], {item.store: store}, below)[0]

    shown = item.name if item.store == WEB else "/" + item.name
    return SourceFile(shown, fetch, lambda limit: store.read(item.source, 0, limit, item.etag))


def _database(definition: Json, stores: Stores) -> str:
    source: Any = next(iter(sources_of(definition)))
    return stores[source["datastore"]].credentials["url"]
