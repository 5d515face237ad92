"""A dataset, or a path of a datastore, made visible as a file or folder of this machine: what inputs of runs become.

One file is shown as the file itself, everything else as a folder. What lies on this machine is shown where it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from footplate.content.listing import Listing, write_listing
from footplate.data.cache import DataCache
from footplate.data.mounts.mount import Mount, lend_listing, mount_folder, mount_listing
from footplate.data.resolve import WEB, resolve, web_store
from footplate.data.stores.base import Report
from footplate.data.stores.registry import open_later, open_store
from footplate.data.transfer import batch
from footplate.domain import store_names
from footplate.domain.data import StoreSpec
from footplate.domain.datasets import sources_of


class Wanted(NamedTuple):
    """What is to be shown: a definition, its stores by name, and file and digest of the listing when it pins one."""

    definition: Mapping[str, Any]
    stores: Mapping[str, StoreSpec]
    listing: str | None = None
    digest: str | None = None


class Shown:
    """`path` is what a script is given: of a dataset of one file, the file. `root` is what was mounted, linked or made.

    `close` may be called more than once.
    """

    def __init__(self, path: Path, mount: Mount, point: str | None = None, made: str | None = None) -> None:
        """`point` is a folder that was there before, `made` one that was not: both are to be as they were."""
        self.path, self.root, self.record, self.is_link = path, mount.path, mount.record, mount.is_link
        self._mount, self._point, self._made = mount, point, made

    def guard(self, pids: Iterable[int]) -> None:
        """These processes read here, too: the mount stays until they have ended, should its owner die before."""
        self._mount.guard(pids)

    def problems(self) -> list[str]:
        """What could not be read, in words: whoever read has seen no more than a number."""
        return self._mount.problems()

    def close(self) -> None:
        self._mount.close()
        if self._point is not None:
            os.makedirs(self._point, exist_ok=True)
        if self._made is not None:
            with contextlib.suppress(OSError):  # somebody has put more into it
                os.rmdir(self._made)


def show(wanted: Wanted, at: str, scratch: str, cache: DataCache, report: Report | None = None) -> Shown:
    """The data at the path `at`, read as it is needed, until it is closed. `scratch` is a folder that lives as long."""
    point = at if os.path.isdir(at) else None
    place = _whole_source(wanted)
    if place is not None:
        spec, path = place
        # A file keeps its name, which scripts read the format from.
        is_file = _is_file(spec, path)
        where = os.path.join(at, os.path.basename(path)) if is_file else at
        mount = mount_folder(spec, path, where, cache)
        return Shown(mount.path, mount, point, at if is_file and point is None else None)
    listing, digest = listed(wanted, scratch)
    mount = mount_listing(listing, digest, wanted.stores or {WEB: web_store()}, at, cache, report=report)
    return Shown(_shown(wanted.definition, listing, mount.path), mount, point)


def bring(
    wanted: Wanted, at: str, scratch: str, cache: DataCache | None, overwrite: bool, report: Report | None = None
) -> Shown:
    """The data in the folder `at`, all of it, and to be changed as one likes.

    With a cache it comes from there where it can, and then lasts until it is closed; `scratch` has to live as long.
    """
    listing, digest = listed(wanted, scratch)
    specs = wanted.stores or {WEB: web_store()}
    if cache is not None:
        changes = os.path.join(scratch, f"changes-{os.urandom(4).hex()}")
        mount = lend_listing(listing, digest, specs, at, changes, cache, report)
        if mount is not None:
            return Shown(_shown(wanted.definition, listing, mount.path), mount)
    with Listing(listing) as files:
        rule: batch.Overwrite = "replace" if overwrite else "skip"
        stores = {name: open_store(spec) for name, spec in specs.items()}
        batch.download(files, stores, at, overwrite=rule, report=report)
    return Shown(_shown(wanted.definition, listing, Path(at)), Mount(at, "copied"))


def listed(wanted: Wanted, scratch: str) -> tuple[str, str]:
    """The file and digest of the pinned listing, else of one that is made now, in the folder `scratch`."""
    if wanted.listing is not None and wanted.digest is not None:
        return wanted.listing, wanted.digest
    os.makedirs(scratch, exist_ok=True)
    path = os.path.join(scratch, f"listing-{os.urandom(4).hex()}")
    return path, write_listing(resolve(wanted.definition, wanted.stores), path).digest


def _whole_source(wanted: Wanted) -> tuple[StoreSpec, str] | None:
    """The one file or folder on this machine that all of the data is, if it is one."""
    sources = list(sources_of(wanted.definition))
    if len(sources) != 1 or wanted.definition.get("steps") or "datastore" not in sources[0]:
        return None
    path, spec = str(sources[0]["path"]), wanted.stores[str(sources[0]["datastore"])]
    return None if store_names.is_pattern(path) or open_later(spec).folder is None else (spec, path)


def _is_file(spec: StoreSpec, path: str) -> bool:
    folder = open_later(spec).folder
    return folder is not None and (folder / store_names.clean_folder(path)).is_file()


def _shown(definition: Mapping[str, Any], listing: str, folder: Path) -> Path:
    name = the_file(definition, listing)
    return folder if name is None else folder / name


def the_file(definition: Mapping[str, Any], listing: str) -> str | None:
    """The name of the file when the dataset was made of exactly one: then a script gets its path, not its folder's."""
    sources = list(sources_of(definition))
    if len(sources) != 1 and not definition.get("is_file"):
        return None
    with Listing(listing) as files:
        if len(files) != 1:
            return None
        (item,) = files
    path = str(sources[0].get("url") or store_names.clean_folder(str(sources[0].get("path"))))
    return item.name if definition.get("is_file") or item.source == path else None
