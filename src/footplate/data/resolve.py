"""Resolution of a dataset's definition to its current files: look up the sources, then apply the steps.

Names of files, as a script sees them below the mount point:
- a web file: the last part of its path, or among several sources its host and path;
- one source: for a folder, the path inside it; for a pattern, the path inside its fixed leading folder;
- several sources: the path inside their common folder, below the datastore's name if there are several datastores;
- `full_names` in the definition: the whole path in the datastore.

Columns may be encoded in paths, described by a format such as `{country}/{day:yyyy/MM/dd}/part.csv`.
"""

from __future__ import annotations

import posixpath
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Callable, Literal, Mapping

from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import find, open_store
from footplate.domain import store_names
from footplate.domain.data import HTTP, Item, StoreEntry, StoreSpec, place
from footplate.domain.datasets import sources_of
from footplate.domain.tables import is_true
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


_FIELD = re.compile(r"\{([^{}:]+)(?::([^{}]+))?\}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TIMES = (
    ("yyyy", r"\d{4}", "year"),
    ("MM", r"\d{2}", "month"),
    ("dd", r"\d{2}", "day"),
    ("HH", r"\d{2}", "hour"),
    ("mm", r"\d{2}", "minute"),
    ("ss", r"\d{2}", "second"),
)


class Partition:
    """A partition format. It describes the end of a path, from the segment with the first column on."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.columns: list[str] = []
        self.times: set[str] = set()
        start = form.find("{")
        if start < 0 or not _FIELD.search(form):
            raise InvalidInput(f"partition_format is {form!r}, which has no column", "write e.g. '{year}/data.csv'")
        begin = form.rfind("/", 0, start) + 1  # `year={year}`: the text before the column is not part of it
        self._pattern = re.compile(r"(?:.*/)?" + self._translate(form[begin:]), re.DOTALL)

    def values(self, path: str) -> dict[str, Any]:
        """Return the columns of this path, or none if it does not match. Times are seconds since the epoch."""
        match = self._pattern.fullmatch(path)
        if match is None:
            return {}
        return {c: _moment(c, match) if c in self.times else match[f"c_{c}"] for c in self.columns}

    def _translate(self, form: str) -> str:
        pattern, at = "", 0
        for field in _FIELD.finditer(form):
            pattern += _literal(form[at : field.start()]) + self._column(field[1], field[2])
            at = field.end()
        return pattern + _literal(form[at:])

    def _column(self, name: str, form: str | None) -> str:
        if not _NAME.fullmatch(name) or name in self.columns:
            raise InvalidInput(
                f"partition_format {self.form!r} has an invalid or repeated column {name!r}",
                "give each column its own name",
            )
        self.columns.append(name)
        if form is None:
            return rf"(?P<c_{name}>[^/]+)"
        self.times.add(name)
        text = re.escape(form)
        for token, pattern, part in _TIMES:
            text = text.replace(token, rf"(?P<{part}_{name}>{pattern})", 1)
        return text


def _literal(text: str) -> str:
    """Translate literal text. `*` matches any part of a path segment, as in the paths of datasets."""
    return r"[^/]*".join(re.escape(piece) for piece in text.split("*"))


def _moment(column: str, match: re.Match[str]) -> float | None:
    parts = {part: int(match[f"{part}_{column}"]) for _, _, part in _TIMES if f"{part}_{column}" in match.groupdict()}
    try:
        return datetime(**{"year": 1970, "month": 1, "day": 1, **parts}, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
