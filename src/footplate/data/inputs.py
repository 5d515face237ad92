"""Inputs of runs: a dataset, or a path of a datastore, made visible as a file or folder of this machine.

A single file appears as the file itself, everything else as a folder. Local data appears without being copied.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from footplate.content.listing import Listing, write_listing
from footplate.data.cache import DataCache
from footplate.data.mounts.mount import Mount, mount_folder, mount_listing, mount_writable
from footplate.data.resolve import resolve, stores_or_web
from footplate.data.stores.base import Report
from footplate.data.stores.registry import open_lazily, open_store
from footplate.data.transfer import batch
from footplate.domain import store_names
from footplate.domain.data import StoreSpec
from footplate.domain.datasets import sources_of


class InputData(NamedTuple):
    """The data to show: a definition, its stores by name, and the file and digest of its pinned listing, if any."""

    definition: Mapping[str, Any]
    stores: Mapping[str, StoreSpec]
    listing: str | None = None
    digest: str | None = None


class VisibleInput:
    """Visible data. `path` goes to the script: for a dataset of one file, that file. `root` is the mount, link or copy.

    `close` may be called more than once.
    """

    def __init__(self, path: Path, mount: Mount, point: str | None = None, made: str | None = None) -> None:
        """`point` is a folder that existed before, `made` one that did not: `close` restores both states."""
        self.path = path
        self.root = mount.path
        self.record = mount.record
        self.is_link = mount.is_link
        self._mount, self._point, self._made = mount, point, made

    def guard(self, pids: Iterable[int]) -> None:
        """Keep the mount until these processes have ended, even if its owner dies first."""
        self._mount.guard(pids)

    def problems(self) -> list[str]:
        """Return the causes of failed reads, for a script that has only seen an errno."""
        return self._mount.problems()

    def close(self) -> None:
        self._mount.close()
        if self._point is not None:
            os.makedirs(self._point, exist_ok=True)
        if self._made is not None:
            with contextlib.suppress(OSError):  # somebody has put more into it
                os.rmdir(self._made)


def mount_input(
    wanted: InputData, at: str, scratch: str, cache: DataCache, report: Report | None = None
) -> VisibleInput:
    """Show the data at the path `at` until it is closed, fetching files as they are read.

    `scratch` is a directory that lives at least as long.
    """
    point = at if os.path.isdir(at) else None
    place = _single_local_source(wanted)
    if place is not None:
        spec, path = place
        # A file keeps its name, because scripts derive the format from it.
        folder = open_lazily(spec).folder
        is_file = folder is not None and (folder / store_names.clean_folder(path)).is_file()
        where = os.path.join(at, os.path.basename(path)) if is_file else at
        mount = mount_folder(spec, path, where, cache)
        return VisibleInput(mount.path, mount, point, at if is_file and point is None else None)
    listing, digest = ensure_listing(wanted, scratch)
    mount = mount_listing(listing, digest, stores_or_web(wanted.stores), at, cache, report=report)
    return VisibleInput(_path_for_script(wanted.definition, listing, mount.path), mount, point)


def download_input(
    wanted: InputData, at: str, scratch: str, cache: DataCache | None, overwrite: bool, report: Report | None = None
) -> VisibleInput:
    """Put all of the data into the folder `at`, where the script may change it.

    With a cache, the data comes from there if possible; it then lasts until it is closed, and `scratch` must live as
    long.
    """
    listing, digest = ensure_listing(wanted, scratch)
    specs = stores_or_web(wanted.stores)
    if cache is not None:
        changes = os.path.join(scratch, f"changes-{os.urandom(4).hex()}")
        mount = mount_writable(listing, digest, specs, at, changes, cache, report)
        if mount is not None:
            return VisibleInput(_path_for_script(wanted.definition, listing, mount.path), mount)
    with Listing(listing) as files:
        rule: batch.Overwrite = "replace" if overwrite else "skip"
        stores = {name: open_store(spec) for name, spec in specs.items()}
        batch.download(files, stores, at, overwrite=rule, report=report)
    return VisibleInput(_path_for_script(wanted.definition, listing, Path(at)), Mount(at))


def ensure_listing(wanted: InputData, scratch: str) -> tuple[str, str]:
    """Return file and digest of the pinned listing, or of one written now to the directory `scratch`."""
    if wanted.listing is not None and wanted.digest is not None:
        return wanted.listing, wanted.digest
    os.makedirs(scratch, exist_ok=True)
    path = os.path.join(scratch, f"listing-{os.urandom(4).hex()}")
    return path, write_listing(resolve(wanted.definition, wanted.stores), path).digest


def _single_local_source(wanted: InputData) -> tuple[StoreSpec, str] | None:
    """Return the store and path if the data is exactly one file or folder of this machine."""
    sources = list(sources_of(wanted.definition))
    if len(sources) != 1 or wanted.definition.get("steps") or "datastore" not in sources[0]:
        return None
    path = str(sources[0]["path"])
    spec = wanted.stores[str(sources[0]["datastore"])]
    return None if store_names.is_pattern(path) or open_lazily(spec).folder is None else (spec, path)


def _path_for_script(definition: Mapping[str, Any], listing: str, folder: Path) -> Path:
    """Return the file's path if the dataset was made of exactly one file, and otherwise its folder's."""
    sources = list(sources_of(definition))
    if len(sources) != 1 and not definition.get("is_file"):
        return folder
    with Listing(listing) as files:
        if len(files) != 1:
            return folder
        (item,) = files
    source = str(sources[0].get("url") or store_names.clean_folder(str(sources[0].get("path"))))
    return folder / item.name if definition.get("is_file") or item.source == source else folder
