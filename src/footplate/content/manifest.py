"""The manifest: a snapshot as one JSON document (format: docs/internals), whose sha256 is the snapshot's id.

An attacker may have written a manifest. Every reader uses `parse_manifest`, which guarantees that each path stays
inside the target directory, no path passes through a link, and no link leads out.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, List, NamedTuple, Set, cast

from footplate.content.blobs import check_digest
from footplate.errors import InvalidInput

FILE, FOLDER, LINK = "f", "d", "l"
PLAIN, EXECUTABLE = 0o644, 0o755

_FORMAT = 1
_MOST_HOPS = 40  # as many links as Linux follows for one path
_HINT = "this manifest was not written by Footplate, or was damaged: take the snapshot again"


class ManifestEntry(NamedTuple):
    """One row of a manifest. `content` is a file's digest or a link's target; it is empty for an (empty) directory."""

    path: str
    type: str
    mode: int
    size: int
    content: str


def to_manifest(entries: Iterable[ManifestEntry]) -> bytes:
    """Encode entries in the one canonical form. Names that are not UTF-8 become escaped surrogates."""
    document = {"entries": sorted(entries), "format": _FORMAT}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def is_manifest(head: bytes) -> bool:
    """Whether content that begins with these bytes looks like a manifest."""
    return head.startswith(b'{"entries":[')


def parse_manifest(manifest: bytes) -> List[ManifestEntry]:
    try:
        document: Any = json.loads(manifest)
    except (ValueError, RecursionError):
        raise InvalidInput("the manifest is not JSON", _HINT) from None
    if not isinstance(document, dict) or set(cast("Dict[str, Any]", document)) != {"entries", "format"}:
        raise InvalidInput("a manifest must have exactly the fields 'entries' and 'format'", _HINT)
    if document["format"] != _FORMAT or not isinstance(document["entries"], list):
        raise InvalidInput(f"the manifest has format {document['format']!r:.50}", f"use one of format {_FORMAT}")
    entries = [_entry(row) for row in cast("List[Any]", document["entries"])]
    _check_order(entries)
    _check_nesting(entries)
    check_links({entry.path: entry.content for entry in entries if entry.type == LINK})
    return entries


def check_links(links: Dict[str, str]) -> None:
    """Refuse links that lead out of the directory, directly or through each other."""
    for path, target in outer_links(links).items():
        raise InvalidInput(f"the link {path!r} leads out of the folder, to {target!r}", _HINT)


def outer_links(links: Dict[str, str]) -> Dict[str, str]:
    """Return the links that lead out of the directory, directly or through each other."""
    return {
        path: target for path, target in links.items() if not target or "\0" in target or _leaves(path, target, links)
    }


def _leaves(path: str, target: str, links: Dict[str, str]) -> bool:
    if target.startswith("/"):
        return True
    here = path.split("/")[:-1]
    ahead = target.split("/")[::-1]
    hops = 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            if not here:
                return True
            here.pop()
        elif part not in ("", "."):
            onward = links.get("/".join([*here, part]))
            if onward is None:
                here.append(part)
                continue
            hops += 1
            if hops > _MOST_HOPS:
                return False  # the kernel gives up here as well: it leads nowhere
            if onward.startswith("/"):
                return True
            ahead.extend(reversed(onward.split("/")))
    return False


def _entry(row: Any) -> ManifestEntry:
    kinds = (str, str, int, int, str)
    fields = cast("List[Any]", row)
    if not isinstance(row, list) or [type(field) for field in fields] != list(kinds):
        raise InvalidInput(f"the manifest has an invalid row {row!r:.200}", _HINT)
    entry = ManifestEntry(*fields)
    _check_path(entry.path)
    if entry.type not in (FILE, FOLDER, LINK) or entry.mode not in (PLAIN, EXECUTABLE) or entry.size < 0:
        raise InvalidInput(f"the manifest has an invalid row {row!r:.200}", _HINT)
    if entry.type == FILE:
        check_digest(entry.content)
    return entry


def _check_path(path: str) -> None:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InvalidInput(f"the manifest has the path {path!r:.200}, which no file can have", _HINT) from None
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise InvalidInput(f"the manifest has the path {path!r:.200}, which is not inside the folder", _HINT)


def _check_order(entries: List[ManifestEntry]) -> None:
    for before, entry in zip(entries, entries[1:]):
        if before.path >= entry.path:
            what = "twice" if before.path == entry.path else f"after {before.path!r}, out of order"
            raise InvalidInput(f"the manifest names {entry.path!r} {what}", _HINT)


def _check_nesting(entries: List[ManifestEntry]) -> None:
    types = {entry.path: entry.type for entry in entries}
    fine: Set[str] = {""}
    for entry in entries:
        above = entry.path.rpartition("/")[0]
        while above not in fine:
            if types.get(above, FOLDER) != FOLDER:
                raise InvalidInput(f"the manifest has {entry.path!r} below {above!r}, which is not a folder", _HINT)
            fine.add(above)
            above = above.rpartition("/")[0]
