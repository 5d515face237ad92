"""From a dataset's definition to the files that it means now: sources looked up, then the steps carried out.

How files are named, which is what a script sees below the mount point:
- a file of the web: its host and path;
- one source: a folder's files by their path inside it, a pattern's by their path inside the folder that it begins with;
- several: by their path inside the folder that all of them have in common; of several datastores, below its name;
- by their whole path in the datastore when the definition says `full_names`.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from footplate.data.partitions import Partition
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import find, open_store
from footplate.domain import store_names
from footplate.domain.data import HTTP, Item, StoreEntry, StoreSpec, place
from footplate.domain.datasets import sources_of
from footplate.domain.expressions import is_true
from footplate.errors import InvalidInput, NotFound

WEB = ""
"""The label of the store of web addresses, where the path of an item is the whole address."""

Opener = Callable[[StoreSpec], FileStore]
Namer = Callable[[Mapping[str, Any], StoreEntry], str]


def web_store() -> StoreSpec:
    return StoreSpec(HTTP)


def resolve(
    definition: Mapping[str, Any],
    stores: Mapping[str, StoreSpec],
    opener: Opener = open_store,
    *,
    if_nothing: Literal["refuse", "pass"] = "refuse",
) -> Iterator[Item]:
    """The files of a dataset. `stores` are its datastores, by name.

    A source that finds nothing is NotFound, unless `if_nothing` lets it pass.
    """
    sources = list(sources_of(definition))
    name_of = _whole_path if definition.get("full_names") else _namer(sources)
    found = _look_up(sources, name_of, stores, opener, if_nothing == "pass")
    steps: Sequence[Mapping[str, Any]] = definition.get("steps") or ()
    if not steps:
        return found
    # Stores list in no order, and "the first ten" must mean the same ten to everybody.
    ordered: Iterable[Item] = sorted(found, key=lambda item: names_key(item.name))
    partition = Partition(definition["partition_format"]) if definition.get("partition_format") else None
    for step in steps:
        ordered = _carry_out(step, ordered, partition)
    return iter(ordered)


def names_key(name: str) -> str:
    """Sorts as a listing does: what is in a folder stands together."""
    return name.replace("/", "\0")


# ── Sources ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _look_up(
    sources: Sequence[Mapping[str, Any]],
    name_of: Namer,
    stores: Mapping[str, StoreSpec],
    opener: Opener,
    may_be_gone: bool,
) -> Iterator[Item]:
    opened: dict[str, FileStore] = {}
    seen: set[tuple[str, str]] = set()
    for source in sources:
        label = str(source.get("datastore", WEB))
        if label not in opened:
            opened[label] = opener(_spec(label, stores))
        for entry in _entries(opened[label], source, may_be_gone):
            if len(sources) > 1:
                if (label, entry.path) in seen:
                    continue
                seen.add((label, entry.path))
            yield place(entry, name_of(source, entry), label)


def _spec(label: str, stores: Mapping[str, StoreSpec]) -> StoreSpec:
    if label == WEB:
        return web_store()
    if label not in stores:
        raise NotFound(f"the datastore {label!r} is not there", "register it again, or make the dataset anew")
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
        # The store does not know what it is called; its hint leaves room for that.
        raise NotFound(f"datastore {name!r}: {error.message}", (error.hint or "").replace("NAME", name)) from None


def _whole_path(source: Mapping[str, Any], entry: StoreEntry) -> str:
    return entry.path


def _namer(sources: Sequence[Mapping[str, Any]]) -> Namer:
    labels = {str(source["datastore"]) for source in sources if "datastore" in source}
    bases = [_above(str(source["path"])) for source in sources if "datastore" in source]
    common = posixpath.commonpath(bases) if bases and all(bases) else ""

    def name(source: Mapping[str, Any], entry: StoreEntry) -> str:
        if "url" in source:
            return store_names.url_name(str(source["url"]))
        if len(sources) == 1:
            return _inside(str(source["path"]), entry.path)
        below = _relative(entry.path, common)
        return store_names.join(str(source["datastore"]), below) if len(labels) > 1 else below

    return name


def _above(path: str) -> str:
    """The folder around what a path names: of several sources, what tells them apart has to stay."""
    if store_names.is_pattern(path):
        return store_names.clean_folder(store_names.fixed_folder(path.strip("/")))
    return store_names.clean_folder(path).rpartition("/")[0]


def _inside(path: str, entry: str) -> str:
    """The name of an entry that a single source found."""
    if store_names.is_pattern(path):
        return _relative(entry, store_names.clean_folder(store_names.fixed_folder(path.strip("/"))))
    folder = store_names.clean_folder(path)
    return entry.rpartition("/")[2] if entry == folder else _relative(entry, folder)


def _relative(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else path


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _carry_out(step: Mapping[str, Any], items: Iterable[Item], partition: Partition | None) -> Iterable[Item]:
    what = step.get("do")
    if what == "skip":
        return islice(items, int(step["count"]), None)
    if what == "take":
        return islice(items, int(step["count"]))
    if what == "sample":
        return _drawn(items, float(step["probability"]), int(step["seed"]), True)
    if what == "split":
        return _drawn(items, float(step["percentage"]), int(step["seed"]), bool(step["first"]))
    if what == "filter":
        return (item for item in items if is_true(step["expression"], _facts(item, partition)))
    raise InvalidInput(f"a file dataset has no step {what!r}", "make the dataset anew with this version of Footplate")


def _drawn(items: Iterable[Item], share: float, seed: int, kept: bool) -> Iterator[Item]:
    """Each with this probability; the same seed draws the same, and `kept` false gives exactly the others."""
    draw = random.Random(seed)
    return (item for item in items if (draw.random() < share) is kept)


def _facts(item: Item, partition: Partition | None) -> dict[str, Any]:
    """What a filter may ask of a file: Azure's names for its metadata, and the columns of its partition."""
    facts: dict[str, Any] = {
        "Size": item.size,
        "LastModifiedTime": item.modified,
        "CreatedTime": item.modified,
        "Path": "/" + item.name,
    }
    return {**facts, **(partition.values(item.source) if partition else {})}
