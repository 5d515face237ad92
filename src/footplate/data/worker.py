"""The verbs of this room for callers that cannot or should not import it: plain data in, plain data out.

The SDK calls them in its own process. Inside a job, whose interpreter may be old and has nothing installed, it starts
`python -m footplate.data.worker` with the agent's interpreter and speaks JSON over pipes: one request
`{"verb", "arguments"}` as the first line of stdin; on stdout lines of `{"progress": […]}`, at the end `{"result": …}`
or `{"error": …}`. Credentials come with the request, so they are in no argument list and no environment.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from footplate.content.listing import Listing, write_listing
from footplate.data import changes, inputs
from footplate.data.cache import cache_at
from footplate.data.resolve import WEB, resolve, web_store
from footplate.data.stores.base import Children, FileStore, Progress, Report
from footplate.data.stores.registry import find_beginning, open_store
from footplate.data.transfer import batch
from footplate.domain.codec import from_json
from footplate.domain.data import Item, StoreSpec, place
from footplate.domain.store_names import clean_folder, join
from footplate.errors import Broken, FootplateError, InvalidInput, NotFound

GOING = "going"
"""The folder of the cache where it is noted how far large uploads are."""

Specs = Mapping[str, Any]
"""Stores by name, each a StoreSpec as JSON."""


def check(store: Mapping[str, Any]) -> None:
    """Whether the store lets us in; an error says why not."""
    next(iter(_open(store).list()), None)


def children(store: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """What lies in a folder, or the file of that name; NotFound when there is neither."""
    opened, name = _open(store), clean_folder(folder)
    found = opened.children(name)
    if name and not any(found) and not (opened.folder and (opened.folder / name).is_dir()):
        found = Children([], [opened.stat(name)])
    return {"folders": sorted(found.folders), "files": [list(entry) for entry in sorted(found.files)]}


def peek(definition: Mapping[str, Any], stores: Specs) -> str:
    """The name of one file of the dataset; an error when there is none."""
    for item in resolve(definition, _specs(stores)):
        return item.name
    raise NotFound("the dataset holds no files", "look at its paths and steps")


def enumerate_files(definition: Mapping[str, Any], stores: Specs, target: str) -> dict[str, Any]:
    """Write the listing of what the definition means now to the file `target`."""
    made = write_listing(resolve(definition, _specs(stores)), target)
    return {"digest": made.digest, "count": made.count, "size": made.size}


def select(store: Mapping[str, Any], label: str, prefix: str, target: str) -> dict[str, Any]:
    """Write the listing of what lies below `prefix`, under its whole path, to the file `target`."""
    found = find_beginning(_open(store), prefix)
    made = write_listing((place(entry, entry.path, label) for entry in found), target)
    return {"count": made.count, "size": made.size}


def compare(listing: str, definition: Mapping[str, Any], stores: Specs) -> dict[str, list[str]]:
    """What differs now from what the listing pinned, and be it that nothing is left of it."""
    with Listing(listing) as pinned:
        return changes.compare(pinned, resolve(definition, _specs(stores), if_nothing="pass"))


def upload(
    files: Sequence[tuple[str, str]],
    store: Mapping[str, Any],
    folder: str,
    overwrite: bool,
    cache: str | None = None,
    report: Report | None = None,
) -> dict[str, int]:
    """Local files to the folder of a store, each under its name there."""
    named = [(Path(path), join(clean_folder(folder), name)) for path, name in files]
    rule, notes = "replace" if overwrite else "skip", os.path.join(cache, GOING) if cache else None
    done = batch.upload(named, _open(store), overwrite=rule, report=report, notes=notes)
    return {"stored": len(done.stored), "skipped": len(done.skipped)}


def download(
    listing: str,
    stores: Specs,
    target: str,
    overwrite: str = "refuse",
    ignore_not_found: bool = False,
    report: Report | None = None,
) -> list[str]:
    """The files of a listing below `target`; where each that came is."""
    opened = _open_all(stores)
    with Listing(listing) as wanted:
        items = [item for item in wanted if not ignore_not_found or _exists(item, opened)]
    if overwrite == "skip":
        items = [item for item in items if not os.path.lexists(f"{target}/{item.name}")]
    rule: Any = overwrite
    return [str(path) for path in batch.download(items, opened, target, overwrite=rule, report=report)]


def _exists(item: Item, stores: Mapping[str, FileStore]) -> bool:
    try:
        stores[item.store].stat(item.source)
    except NotFound:
        return False
    return True


class Holding(NamedTuple):
    """What lasts until `close`."""

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
) -> Holding:
    """The data as a file or folder at `target`."""
    wanted = inputs.Wanted(definition, _specs(stores), listing, digest)
    shown = inputs.show(wanted, target, scratch, cache_at(cache))
    return Holding(str(shown.path), shown.close)


def cache_usage(cache: str) -> dict[str, int]:
    found = cache_at(cache).usage()
    return {"files": found.files, "bytes": found.bytes, "held": found.held, "limit": found.limit}


def clear_cache(cache: str, keep: int) -> int:
    """Remove what was not used for longest until at most `keep` bytes are left; how many bytes that made free."""
    return cache_at(cache).make_room(keep)


VERBS: dict[str, Callable[..., Any]] = {
    "check": check,
    "children": children,
    "peek": peek,
    "enumerate": enumerate_files,
    "compare": compare,
    "upload": upload,
    "download": download,
    "select": select,
    "cache_usage": cache_usage,
    "clear_cache": clear_cache,
}
TABLE = "table."
LASTING: dict[str, Callable[..., Holding]] = {"mount": mount}
REPORTING = frozenset(("upload", "download"))


def _specs(stores: Specs) -> dict[str, StoreSpec]:
    return {name: from_json(StoreSpec, spec) for name, spec in stores.items()}


def _open(spec: Mapping[str, Any]) -> FileStore:
    return open_store(from_json(StoreSpec, spec))


def _open_all(stores: Specs) -> dict[str, FileStore]:
    return {name: open_store(spec) for name, spec in (_specs(stores) or {WEB: web_store()}).items()}


def perform(verb: str, arguments: Mapping[str, Any], report: Report | None = None) -> Any:
    """Carry out one verb. Those of tables, `table.…`, are in a room of their own."""
    if verb.startswith(TABLE):
        return tables().VERBS[verb[len(TABLE) :]](**arguments)
    more = {"report": report} if verb in REPORTING else {}
    return VERBS[verb](**arguments, **more)


def tables() -> Any:
    """The room of tables, which needs Arrow."""
    try:
        return importlib.import_module("footplate.data.tabular.operations")
    except ImportError as error:
        raise InvalidInput(
            f"tables need a library that is not installed beside Footplate ({error.name})",
            "install it with: pip install 'footplate[data]'",
        ) from None


def hold(verb: str, arguments: Mapping[str, Any]) -> Holding:
    """Carry out a verb whose effect lasts."""
    return LASTING[verb](**arguments)


# ── As a process of its own ───────────────────────────────────────────────────────────────────────────────────────────


def main() -> int:
    """One request; the answer is the last line. Nothing else may write to the pipe, so stdout is taken away."""
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
            held = hold(request["verb"], request["arguments"])
            try:
                say(result=held.result)
                sys.stdin.read()  # until whoever asked closes the pipe, or is no more
            finally:
                held.close()
        else:
            say(result=perform(request["verb"], request["arguments"], report))
    except FootplateError as error:
        say(error=error.to_wire())
    except OSError as error:
        say(error=Broken(f"the data could not be moved: {error}", "see the error").to_wire())
    return 0


if __name__ == "__main__":
    sys.exit(main())
