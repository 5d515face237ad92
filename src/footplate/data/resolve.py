"""Resolution of a dataset's definition to its current files: look up the sources, then apply the steps.

Names of files, as a script sees them below the mount point:
- a web file: the last part of its path, or among several sources its host and path;
- one source: for a folder, the path inside it; for a pattern, the path inside its fixed leading folder;
- several sources: the path inside their common folder, below the datastore's name if there are several datastores;
- `full_names` in the definition: the whole path in the datastore.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Callable, Literal, Mapping

from footplate.data.partitions import Partition
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import find, open_store
from footplate.domain import store_names
from footplate.domain.data import HTTP, Item, StoreEntry, StoreSpec, place
from footplate.domain.datasets import sources_of
from footplate.domain.tables.expressions import is_true
from footplate.errors import InvalidInput, NotFound

WEB = ""
"""The label of the web store, in which an item's path is its whole URL."""

WEB_STORE = StoreSpec(HTTP)
Namer = Callable[[Mapping[str, Any], StoreEntry], str]


def stores_or_web(stores: Mapping[str, StoreSpec]) -> Mapping[str, StoreSpec]:
    """Return the stores; without any, the web store, since all sources then are URLs."""
    return stores or {WEB: WEB_STORE}


def resolve(
    definition: Mapping[str, Any], stores: Mapping[str, StoreSpec], *, if_nothing: Literal["refuse", "pass"] = "refuse"
) -> Iterator[Item]:
    """Yield the files of a dataset. `stores` are its datastores, by name.

    A source that finds nothing raises NotFound, unless `if_nothing` is "pass".
    """
    sources = list(sources_of(definition))
    name_of: Namer = (lambda _, entry: entry.path) if definition.get("full_names") else _namer(sources)
    items = _look_up(sources, name_of, stores, if_nothing == "pass")
    steps: Sequence[Mapping[str, Any]] = definition.get("steps") or ()
    if not steps:
        return items
    # Stores list in no particular order, but "the first ten" must mean the same ten to everybody.
    ordered: Iterable[Item] = sorted(items, key=lambda item: names_key(item.name))
    partition = Partition(definition["partition_format"]) if definition.get("partition_format") else None
    for step in steps:
        ordered = _apply_step(step, ordered, partition)
    return iter(ordered)


def names_key(name: str) -> str:
    """Return the sort key of a name in a listing, which keeps the files of a folder together."""
    return name.replace("/", "\0")


# ── Sources ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _look_up(
    sources: Sequence[Mapping[str, Any]], name_of: Namer, stores: Mapping[str, StoreSpec], may_be_gone: bool
) -> Iterator[Item]:
    opened: dict[str, FileStore] = {}
    seen: set[tuple[str, str]] = set()
    for source in sources:
        label = str(source.get("datastore", WEB))
        if label not in opened:
            opened[label] = open_store(_spec(label, stores))
        for entry in _entries(opened[label], source, may_be_gone):
            if len(sources) > 1:
                if (label, entry.path) in seen:
                    continue
                seen.add((label, entry.path))
            yield place(entry, name_of(source, entry), label)


def _spec(label: str, stores: Mapping[str, StoreSpec]) -> StoreSpec:
    if label == WEB:
        return WEB_STORE
    if label not in stores:
        raise NotFound(f"the datastore {label!r} does not exist", "register it again, or create the dataset again")
    return stores[label]


def _entries(store: FileStore, source: Mapping[str, Any], may_be_gone: bool) -> Iterator[StoreEntry]:
    try:
        yield from [store.stat(str(source["url"]))] if "url" in source else find(store, str(source["path"]))
    except NotFound as error:
        if may_be_gone:
            return
        if "url" in source:
            raise
        name = str(source["datastore"])
        # The store does not know its own name; its hint has a placeholder for it.
        raise NotFound(f"datastore {name!r}: {error.message}", (error.hint or "").replace("NAME", name)) from None


def _namer(sources: Sequence[Mapping[str, Any]]) -> Namer:
    labels = {str(source["datastore"]) for source in sources if "datastore" in source}
    bases = [_folder_above(str(source["path"])) for source in sources if "datastore" in source]
    common = posixpath.commonpath(bases) if bases and all(bases) else ""

    def name(source: Mapping[str, Any], entry: StoreEntry) -> str:
        if "url" in source:
            whole = store_names.url_name(str(source["url"]))
            return whole.rpartition("/")[2] if len(sources) == 1 else whole
        if len(sources) == 1:
            return _name_in_source(str(source["path"]), entry.path)
        below = _relative(entry.path, common)
        return store_names.join(str(source["datastore"]), below) if len(labels) > 1 else below

    return name


def _folder_above(path: str) -> str:
    """Return the folder above a path: several sources are told apart by the last part of their paths."""
    if store_names.is_pattern(path):
        return store_names.clean_folder(store_names.fixed_folder(path.strip("/")))
    return store_names.clean_folder(path).rpartition("/")[0]


def _name_in_source(path: str, entry: str) -> str:
    """Return the name of an entry found by a single source."""
    if store_names.is_pattern(path):
        return _relative(entry, store_names.clean_folder(store_names.fixed_folder(path.strip("/"))))
    folder = store_names.clean_folder(path)
    return entry.rpartition("/")[2] if entry == folder else _relative(entry, folder)


def _relative(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else path


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _apply_step(step: Mapping[str, Any], items: Iterable[Item], partition: Partition | None) -> Iterable[Item]:
    kind = step.get("do")
    if kind == "skip":
        return islice(items, int(step["count"]), None)
    if kind == "take":
        return islice(items, int(step["count"]))
    if kind == "sample":
        return _draw(items, float(step["probability"]), int(step["seed"]), True)
    if kind == "split":
        return _draw(items, float(step["percentage"]), int(step["seed"]), bool(step["first"]))
    if kind == "filter":
        return (item for item in items if is_true(step["expression"], _filter_fields(item, partition)))
    raise InvalidInput(
        f"a file dataset has no step {kind!r}", "create the dataset again with this version of Footplate"
    )


def _draw(items: Iterable[Item], share: float, seed: int, kept: bool) -> Iterator[Item]:
    """Draw each item with this probability.

    The same seed draws the same items; `kept=False` yields exactly the others.
    """
    draw = random.Random(seed)
    return (item for item in items if (draw.random() < share) is kept)


def _filter_fields(item: Item, partition: Partition | None) -> dict[str, Any]:
    """Return the fields that a filter may use: Azure's names for file metadata, and the columns of the partition."""
    facts: dict[str, Any] = {
        "Size": item.size,
        "LastModifiedTime": item.modified,
        "CreatedTime": item.modified,
        "Path": "/" + item.name,
    }
    return {**facts, **(partition.values(item.source) if partition else {})}
