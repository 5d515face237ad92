"""Bodies of requests that register something: the client sends them and the services receive them as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.records import FileView


@dataclass(frozen=True)
class NewModel:
    """A model to register: either `root` and `files` (blobs that are in the store), or `run` and `run_path`.

    `key` makes the request idempotent. `datasets` holds (purpose, id); datasets that the run has read are added.
    """

    key: str
    name: str
    root: Optional[str] = None
    files: Tuple[FileView, ...] = ()
    run: Optional[str] = None
    run_path: Optional[str] = None
    description: Optional[str] = None
    framework: Optional[str] = None
    framework_version: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    properties: Dict[str, str] = field(default_factory=lambda: {})
    resources: Dict[str, Any] = field(default_factory=lambda: {})
    options: Dict[str, Any] = field(default_factory=lambda: {})
    datasets: Tuple[Tuple[str, str], ...] = ()


@dataclass(frozen=True)
class NewDataset:
    """A dataset definition to keep; with a `name` it is registered. `key` makes the request idempotent.

    `run` is the run that registers it; with `output`, the run also wrote the data, as its output of that name.
    """

    key: str
    kind: str
    definition: Dict[str, Any]
    name: Optional[str] = None
    listing: Optional[str] = None
    description: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    new_version: bool = False
    run: Optional[str] = None
    output: Optional[str] = None


@dataclass(frozen=True)
class NewDatastore:
    """A datastore to register. `if_exists`: refuse or replace."""

    kind: str
    location: Dict[str, str] = field(default_factory=lambda: {})
    credentials: Dict[str, str] = field(default_factory=lambda: {}, repr=False)
    options: Dict[str, Any] = field(default_factory=lambda: {})
    if_exists: str = "refuse"
