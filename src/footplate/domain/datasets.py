"""Data as the workspace knows it: where it lies (datastores), what is named (datasets), and what runs read and write.

A dataset is a definition, `{"sources": [{"datastore", "path"} or {"url"}, …], "steps": [{"do", …}, …], …}`, which the
client's API words and `footplate.data` carries out. One that was made of a version by a step has that version's id as
`of`. A version of it may also pin what the definition named on the day that it was registered: a listing (path, size
and ETag of every file), kept as one blob.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Mapping, Optional, Set, Tuple, cast

from footplate.domain.data import SERVER, StoreSpec
from footplate.domain.store_names import clean_folder
from footplate.errors import InvalidInput

DEFAULT_DATASTORE = "workspaceblobstore"
BUILT_IN_DATASTORES = (DEFAULT_DATASTORE, "workspacefilestore")
"""Folders of the server's home, which every workspace has without anybody registering them."""

OUTPUT_PATH = "dataset/{run-id}/{output-name}"
"""Where an output goes when nobody says: a folder for each run and name."""

INPUT_MODES = ("mount", "download", "direct")
OUTPUT_MODES = ("mount", "upload")
KINDS = ("file", "tabular")

_STORE_NAME = re.compile(r"[a-z0-9_][a-z0-9_\-]{0,254}", re.ASCII)
_DATASET_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_\-. ]{0,254}", re.ASCII)
_INPUT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


# ── What a run asks for ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DataInput:
    """Data that a run reads: either a `dataset`, by id, or the `path` of a `datastore`.

    `mode`: mount (appears as a folder, or a file, and is read as it is needed), download (copied before the start) or
    direct (the script gets the id and reads by itself). `path_on_compute`: where it appears, else a folder of ours.
    """

    name: str
    dataset: Optional[str] = None
    datastore: Optional[str] = None
    path: str = ""
    mode: str = "mount"
    path_on_compute: Optional[str] = None
    overwrite: bool = False


@dataclass(frozen=True)
class Registration:
    """The name under which an output becomes a dataset when the run has ended well."""

    name: str
    description: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class DataOutput:
    """A folder that a run writes and that goes to `path` of `datastore`; `{run-id}` and `{output-name}` are filled in.

    `mode`: mount (kept also when the run fails) or upload (at the end, when all went well). `globs` choose among its
    files. `is_dataset` is false for one that is only a place: then it is no dataset of the run. `table`: how its files
    are read as a table (`format`, `types`, `steps` of a tabular definition, and `glob`: which of them); None for files.
    """

    name: str
    datastore: str = DEFAULT_DATASTORE
    path: str = OUTPUT_PATH
    mode: str = "mount"
    path_on_compute: Optional[str] = None
    globs: Tuple[str, ...] = ()
    overwrite: bool = False
    is_dataset: bool = True
    register: Optional[Registration] = None
    table: Optional[Dict[str, Any]] = None


def check_data(inputs: Tuple[DataInput, ...], outputs: Tuple[DataOutput, ...]) -> None:
    """Refuse, by name, what no node could make true."""
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
        clean_folder(each.path)  # refuses what would leave the datastore
        if "\0" in (each.path_on_compute or ""):
            raise InvalidInput(f"path_on_compute of {what} {each.name!r} contains NUL", "remove it")
        if isinstance(each, DataOutput) and each.register is not None:
            check_dataset_name(each.register.name)  # now, not when the run is done and cannot be kept
    for each in inputs:
        if (each.dataset is None) == (each.datastore is None):
            raise InvalidInput(f"input {each.name!r} names no data", "give either a dataset or a datastore with a path")


def output_path(output: DataOutput, run: str) -> str:
    """Where an output of this run goes, with the template filled in."""
    return output.path.replace("{run-id}", run).replace("{output-name}", output.name).strip("/")


def written_definition(output: DataOutput, run: str) -> Dict[str, Any]:
    """The dataset that an output of this run is."""
    table = dict(output.table or {})
    path = "/".join(part for part in (clean_folder(output_path(output, run)), table.pop("glob", "")) if part)
    return {"sources": [{"datastore": output.datastore, "path": path}], **table}


# ── What is kept ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DatastoreView:
    """A place for data. `kind` and `location` are those of a StoreSpec; credentials are never part of a view."""

    workspace: str
    name: str
    kind: str
    location: Dict[str, Any] = field(default_factory=lambda: {})
    has_credentials: bool = False
    is_default: bool = False
    created: Optional[float] = None
    options: Dict[str, Any] = field(default_factory=lambda: {})  # the client's own words, kept as they are


@dataclass(frozen=True)
class DatasetView:
    """A dataset with its id; registered ones have a name and a version as well.

    `listing` is the digest of the blob that pins it, `files` and `size` what it holds, `run` the run that wrote it.
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
    """One line between a run and a dataset. `role`: read or wrote; `name` is what the run calls it."""

    run: str
    dataset: str
    role: str
    name: str
    dataset_name: Optional[str] = None
    version: Optional[int] = None
    experiment: Optional[str] = None
    status: Optional[str] = None


@dataclass(frozen=True)
class ModelUse:
    """A dataset behind a model. `purpose`: what it was used for, or the name of the run's input."""

    model: str
    model_version: int
    dataset: str
    purpose: str
    dataset_name: Optional[str] = None
    version: Optional[int] = None


@dataclass(frozen=True)
class Lineage:
    """What a dataset came from (runs that wrote it) and what came of it (runs that read it, models made by those)."""

    dataset: DatasetView
    runs: Tuple[DataUse, ...] = ()
    models: Tuple[ModelUse, ...] = ()


@dataclass(frozen=True)
class RunData:
    """What a run's node needs to bring its data: the datasets by id, and the stores by name, with their credentials."""

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
    """A built-in datastore for who does not see its folder: the server hands its files out and takes them in."""
    location = {"url": url, "workspace": workspace, "datastore": name}
    return StoreSpec(SERVER, location, {"token": token} if token else {})


def sources_of(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The sources of a definition, each checked to be one."""
    sources: Any = definition.get("sources")
    if not isinstance(sources, (list, tuple)) or not sources:
        raise InvalidInput("the dataset names no data", "give at least one path")
    for source in cast("Tuple[Any, ...]", sources):
        named: Mapping[str, Any] = cast("Mapping[str, Any]", source) if isinstance(source, Mapping) else {}
        text = all(isinstance(named.get(key), str) for key in ("datastore", "path"))
        if isinstance(named.get("url"), str) == text:
            raise InvalidInput(f"{source!r} is no source of a dataset", "give a datastore and a path, or a url")
        yield named


def origin_of(definition: Mapping[str, Any]) -> Optional[str]:
    """The id of the version that a dataset was made of by its last steps; None when it was made of none."""
    origin: Any = definition.get("of")
    return origin if isinstance(origin, str) else None


def datastores_of(definition: Mapping[str, Any]) -> Tuple[str, ...]:
    """The names of the datastores that a definition reads from, each once."""
    return tuple(dict.fromkeys(str(s["datastore"]) for s in sources_of(definition) if "datastore" in s))
