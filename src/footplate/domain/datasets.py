"""Data as the workspace knows it: datastores, named datasets, and the inputs and outputs of runs.

A dataset is a definition, `{"sources": [{"datastore", "path"} or {"url"}, …], "steps": [{"do", …}, …], …}`, which the
client's API writes and `footplate.data` evaluates. A dataset that a step derived from a version has that version's id
as `of`. A version may also pin the files that the definition named when it was registered: a listing (path, size and
ETag of every file), stored as one blob.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Mapping, Optional, Set, Tuple, cast

from footplate.domain.data import SERVER, StoreSpec
from footplate.domain.orders import DEFAULT_DATASTORE, DataInput, DataOutput
from footplate.domain.store_names import clean_folder
from footplate.errors import InvalidInput

BUILT_IN_DATASTORES = (DEFAULT_DATASTORE, "workspacefilestore")
"""Directories of the server's home that every workspace has without registration."""

INPUT_MODES = ("mount", "download", "direct")
OUTPUT_MODES = ("mount", "upload")
KINDS = ("file", "tabular")

_STORE_NAME = re.compile(r"[a-z0-9_][a-z0-9_\-]{0,254}", re.ASCII)
_DATASET_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_\-. ]{0,254}", re.ASCII)
_INPUT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


# ── What a run asks for ───────────────────────────────────────────────────────────────────────────────────────────────


def check_data(inputs: Tuple[DataInput, ...], outputs: Tuple[DataOutput, ...]) -> None:
    """Raise InvalidInput, naming the input or output, for a request that no node could satisfy."""
    seen: Set[str] = set()
    for each in (*inputs, *outputs):
        what = "input" if isinstance(each, DataInput) else "output"
        if not _INPUT_NAME.fullmatch(each.name):
            raise InvalidInput(
                f"{each.name!r} cannot name an {what}", "use letters, digits and '_', not beginning with a digit"
            )
        if each.name in seen:
            raise InvalidInput(f"there are two inputs or outputs called {each.name!r}", "give each its own name")
        seen.add(each.name)
        modes = INPUT_MODES if isinstance(each, DataInput) else OUTPUT_MODES
        if each.mode not in modes:
            raise InvalidInput(f"the mode of {what} {each.name!r} is {each.mode!r}", f"use {', '.join(modes)}")
        clean_folder(each.path)  # raises for a path that leaves the datastore
        if "\0" in (each.path_on_compute or ""):
            raise InvalidInput(f"path_on_compute of {what} {each.name!r} contains NUL", "remove it")
        if isinstance(each, DataOutput) and each.register is not None:
            check_dataset_name(each.register.name)  # now, not when the run has ended and its output cannot be stored
    for each in inputs:
        if (each.dataset is None) == (each.datastore is None):
            raise InvalidInput(f"input {each.name!r} names no data", "give either a dataset or a datastore with a path")


def output_path(output: DataOutput, run: str) -> str:
    """Return the destination of an output of this run, with the template filled in."""
    return output.path.replace("{run-id}", run).replace("{output-name}", output.name).strip("/")


def written_definition(output: DataOutput, run: str) -> Dict[str, Any]:
    """Return the definition of the dataset that an output of this run is."""
    table = dict(output.table or {})
    path = "/".join(part for part in (clean_folder(output_path(output, run)), table.pop("glob", "")) if part)
    return {"sources": [{"datastore": output.datastore, "path": path}], **table}


# ── What is kept ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DatastoreView:
    """A datastore. `kind` and `location` are those of a StoreSpec; credentials are never part of a view."""

    workspace: str
    name: str
    kind: str
    location: Dict[str, Any] = field(default_factory=lambda: {})
    has_credentials: bool = False
    is_default: bool = False
    created: Optional[float] = None
    options: Dict[str, Any] = field(default_factory=lambda: {})  # in the client's own words, stored unchanged


@dataclass(frozen=True)
class DatasetView:
    """A dataset with its id; registered ones also have a name and a version.

    `listing` is the digest of the blob that pins its files, `files` and `size` summarize it, `run` is the run that
    wrote it.
    """

    id: str
    workspace: str
    kind: str
    created: float
    definition: Dict[str, Any] = field(default_factory=lambda: {})
    name: Optional[str] = None
    version: Optional[int] = None
    listing: Optional[str] = None
    files: Optional[int] = None
    size: Optional[int] = None
    description: Optional[str] = None
    run: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class DataUse:
    """A link between a run and a dataset. `role`: read or wrote; `name` is the run's name for it."""

    run: str
    dataset: str
    role: str
    name: str
    dataset_name: Optional[str] = None
    version: Optional[int] = None
    experiment: Optional[str] = None
    status: Optional[str] = None


SAMPLE_INPUT, SAMPLE_OUTPUT = "sample input", "sample output"
"""Purposes of datasets that a model has at most one of."""


@dataclass(frozen=True)
class ModelUse:
    """A dataset behind a model. `purpose`: the user's word for its use, or the name of the run's input."""

    model: str
    model_version: int
    dataset: str
    purpose: str
    dataset_name: Optional[str] = None
    version: Optional[int] = None


@dataclass(frozen=True)
class Lineage:
    """The origin of a dataset (runs that wrote it) and its uses (runs that read it, and models that those made)."""

    dataset: DatasetView
    runs: Tuple[DataUse, ...] = ()
    models: Tuple[ModelUse, ...] = ()


@dataclass(frozen=True)
class RunData:
    """The data of a run for its nodes: datasets by id, and stores by name, with their credentials."""

    datasets: Dict[str, DatasetView] = field(default_factory=lambda: {})
    stores: Dict[str, StoreSpec] = field(default_factory=lambda: {})


# ── Names and definitions ─────────────────────────────────────────────────────────────────────────────────────────────


def check_datastore_name(name: str) -> None:
    if not _STORE_NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is not a datastore name", "use lower-case letters, digits, '_' and '-', at most 255 in all"
        )


def check_dataset_name(name: str) -> None:
    if not _DATASET_NAME.fullmatch(name) or name != name.strip():
        raise InvalidInput(
            f"{name!r} is not a dataset name",
            "use letters, digits, '_', '-', '.' and spaces, beginning with a letter, digit or '_', at most 255 in all",
        )


def through_server(url: str, token: Optional[str], workspace: str, name: str) -> StoreSpec:
    """Return a built-in datastore for a client that cannot see its directory: the server transfers its files."""
    location = {"url": url, "workspace": workspace, "datastore": name}
    return StoreSpec(SERVER, location, {"token": token} if token else {})


def sources_of(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the sources of a definition, after checking each of them."""
    sources: Any = definition.get("sources")
    if not isinstance(sources, (list, tuple)) or not sources:
        raise InvalidInput("the dataset names no data", "give at least one path")
    for source in cast("Tuple[Any, ...]", sources):
        named: Mapping[str, Any] = cast("Mapping[str, Any]", source) if isinstance(source, Mapping) else {}
        text = all(isinstance(named.get(key), str) for key in ("datastore", "path"))
        if isinstance(named.get("url"), str) == text:
            raise InvalidInput(f"{source!r} is not a source of a dataset", "give a datastore and a path, or a url")
        yield named


def origin_of(definition: Mapping[str, Any]) -> Optional[str]:
    """Return the id of the version that the dataset was derived from, or None."""
    origin: Any = definition.get("of")
    return origin if isinstance(origin, str) else None


def datastores_of(definition: Mapping[str, Any]) -> Tuple[str, ...]:
    """Return the names of the datastores that a definition reads, each once."""
    return tuple(dict.fromkeys(str(s["datastore"]) for s in sources_of(definition) if "datastore" in s))
