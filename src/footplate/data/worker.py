"""Data operations for callers that cannot or should not import this package: plain data in, plain data out.

The SDK calls them in its own process. Inside a job, whose interpreter may be old and has nothing installed, the SDK
starts `python -m footplate.data.worker` with the agent's interpreter and exchanges JSON over pipes: one request
`{"verb", "arguments"}` as the first line of stdin; on stdout lines of `{"progress": […]}`, then `{"result": …}` or
`{"error": …}`. Credentials are part of the request, so no argument list and no environment variable holds them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from footplate.content.listing import Listing, write_listing
from footplate.data import changes, inputs
from footplate.data.cache import cache_at
from footplate.data.resolve import resolve, stores_or_web
from footplate.data.stores.base import Children, FileStore, Progress, Report, exists
from footplate.data.stores.registry import find_by_prefix, open_store, specs_from_json
from footplate.data.transfer import batch
from footplate.domain.codec import from_json
from footplate.domain.data import StoreSpec, place
from footplate.domain.store_names import clean_folder, join
from footplate.errors import Broken, FootplateError, InvalidInput, NotFound

UPLOAD_NOTES = "going"
"""The cache directory that records the progress of large uploads."""

Specs = Mapping[str, Any]
"""Stores by name, each a StoreSpec as JSON."""


def check(store: Mapping[str, Any]) -> None:
    """Raise an error unless the store accepts our credentials."""
    next(iter(_open(store).list()), None)


def children(store: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the contents of a folder, or the file of that name. Raise NotFound if neither exists."""
    opened, name = _open(store), clean_folder(folder)
    contents = opened.children(name)
    if name and not any(contents) and not (opened.folder and (opened.folder / name).is_dir()):
        contents = Children([], [opened.stat(name)])
    return {"folders": sorted(contents.folders), "files": [list(entry) for entry in sorted(contents.files)]}


def peek(definition: Mapping[str, Any], stores: Specs) -> str:
    """Return the name of one file of the dataset. Raise NotFound if it has none."""
    for item in resolve(definition, specs_from_json(stores)):
        return item.name
    raise NotFound("the dataset has no files", "check its paths and steps")


def enumerate_files(definition: Mapping[str, Any], stores: Specs, target: str) -> dict[str, Any]:
    """Write the listing of the definition's current files to the file `target`."""
    listing = write_listing(resolve(definition, specs_from_json(stores)), target)
    return {"digest": listing.digest, "count": listing.count, "size": listing.size}


def select(store: Mapping[str, Any], label: str, prefix: str, target: str) -> dict[str, Any]:
    """Write the listing of the files below `prefix`, named by their whole path, to the file `target`."""
    entries = find_by_prefix(_open(store), prefix)
    listing = write_listing((place(entry, entry.path, label) for entry in entries), target)
    return {"count": listing.count, "size": listing.size}


def compare(listing: str, definition: Mapping[str, Any], stores: Specs) -> dict[str, list[str]]:
    """Compare the pinned listing with the current files, which may all be gone."""
    with Listing(listing) as pinned:
        return changes.compare(pinned, resolve(definition, specs_from_json(stores), if_nothing="pass"))


def upload(
    files: Sequence[tuple[str, str]],
    store: Mapping[str, Any],
    folder: str,
    overwrite: bool,
    cache: str | None = None,
    earlier: str | None = None,
    report: Report | None = None,
) -> dict[str, int]:
    """Upload local files to a folder of the store, each under its given name.

    `earlier` is a folder of the store: files that it has too are linked, and nothing is done if it has exactly these.
    """
    opened, top = _open(store), clean_folder(folder)
    same: dict[str, str] = {}
    if earlier is not None:
        same = batch.find_unchanged([(Path(path), name) for path, name in files], opened, clean_folder(earlier))
        if len(same) == len(files) == sum(map(len, opened.list(earlier))):
            return {"stored": 0, "skipped": len(same)}
    named = [(Path(path), join(top, name)) for path, name in files]
    rule = "replace" if overwrite else "skip"
    notes = os.path.join(cache, UPLOAD_NOTES) if cache else None
    stored = {join(top, name): path for name, path in same.items()}
    done = batch.upload(named, opened, overwrite=rule, report=report, notes=notes, stored=stored)
    return {"stored": len(done.stored), "skipped": len(done.skipped)}


def delete(store: Mapping[str, Any], folder: str) -> int:
    """Delete all files of a folder of the store, and return their number."""
    opened = _open(store)
    names = [entry.path for page in opened.list(clean_folder(folder)) for entry in page]
    with batch.thread_pool(batch.PARALLEL) as pool:
        list(batch.in_parallel(pool, opened.delete, names))
    if opened.folder is not None:
        for place, _, _ in os.walk(opened.folder / clean_folder(folder), topdown=False):
            with contextlib.suppress(OSError):  # somebody has put a file there meanwhile
                os.rmdir(place)
    return len(names)


def download(
    listing: str,
    stores: Specs,
    target: str,
    overwrite: str = "refuse",
    ignore_not_found: bool = False,
    report: Report | None = None,
) -> list[str]:
    """Download the files of a listing below `target`, and return the local paths."""
    opened = {name: open_store(spec) for name, spec in stores_or_web(specs_from_json(stores)).items()}
    with Listing(listing) as pinned:
        items = [item for item in pinned if not ignore_not_found or exists(opened[item.store], item.source)]
    if overwrite == "skip":
        items = [item for item in items if not os.path.lexists(f"{target}/{item.name}")]
    rule: Any = overwrite
    return [str(path) for path in batch.download(items, opened, target, overwrite=rule, report=report)]


class LastingResult(NamedTuple):
    """The result of an operation whose effect lasts until `close` is called."""

    result: Any
    close: Callable[[], None]


def mount(
    definition: Mapping[str, Any],
    listing: str | None,
    digest: str | None,
    stores: Specs,
    target: str,
    scratch: str,
    cache: str,
) -> LastingResult:
    """Show the data as a file or folder at `target`."""
    data = inputs.InputData(definition, specs_from_json(stores), listing, digest)
    visible = inputs.mount_input(data, target, scratch, cache_at(cache))
    return LastingResult(str(visible.path), visible.close)


def cache_usage(cache: str) -> dict[str, int]:
    usage = cache_at(cache).usage()
    return {"files": usage.files, "bytes": usage.bytes, "held": usage.in_use, "limit": usage.limit}


def clear_cache(cache: str, keep: int) -> int:
    """Remove the least recently used files until at most `keep` bytes are left. Return the number of bytes freed."""
    return cache_at(cache).evict(keep)


VERBS: dict[str, Callable[..., Any]] = {
    "check": check,
    "children": children,
    "peek": peek,
    "enumerate": enumerate_files,
    "compare": compare,
    "upload": upload,
    "download": download,
    "select": select,
    "delete": delete,
    "cache_usage": cache_usage,
    "clear_cache": clear_cache,
}
TABLE = "table."
LASTING: dict[str, Callable[..., LastingResult]] = {"mount": mount}
REPORTING = frozenset(("upload", "download"))


def _open(spec: Mapping[str, Any]) -> FileStore:
    return open_store(from_json(StoreSpec, spec))


def perform(verb: str, arguments: Mapping[str, Any], report: Report | None = None) -> Any:
    """Run one operation. Those of tables (`table.…`) are in `tabular.operations`."""
    if verb.startswith(TABLE):
        return tables().VERBS[verb[len(TABLE) :]](**arguments)
    more = {"report": report} if verb in REPORTING else {}
    return VERBS[verb](**arguments, **more)


def tables() -> Any:
    """Return the module of table operations, which needs Arrow."""
    try:
        return importlib.import_module("footplate.data.tabular.operations")
    except ImportError as error:
        raise InvalidInput(
            f"tables need a library that is not installed alongside Footplate ({error.name})",
            "install it with: pip install 'footplate[data]'",
        ) from None


def hold(verb: str, arguments: Mapping[str, Any]) -> LastingResult:
    """Run an operation whose effect lasts."""
    return LASTING[verb](**arguments)


# ── As a process of its own ───────────────────────────────────────────────────────────────────────────────────────────


def main() -> int:
    """Answer one request from stdin. stdout is redirected, because nothing else may write to the pipe."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def say(**line: Any) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    def report(progress: Progress) -> None:
        say(progress=list(progress))

    request = json.loads(sys.stdin.readline())
    try:
        if request["verb"] in LASTING:
            lasting = hold(request["verb"], request["arguments"])
            try:
                say(result=lasting.result)
                sys.stdin.read()  # until the caller closes the pipe or dies
            finally:
                lasting.close()
        else:
            say(result=perform(request["verb"], request["arguments"], report))
    except FootplateError as error:
        say(error=error.to_wire())
    except OSError as error:
        say(error=Broken(f"the transfer failed: {error}", "see the error").to_wire())
    return 0


if __name__ == "__main__":
    sys.exit(main())
