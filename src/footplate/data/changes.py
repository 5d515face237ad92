"""Comparison of the files that a dataset version pinned with the present ones."""

from __future__ import annotations

from collections.abc import Iterable

from footplate.domain.data import UNKNOWN_SIZE, Item


def compare(pinned: Iterable[Item], present: Iterable[Item]) -> dict[str, list[str]]:
    """Return the names added, removed and changed. Without an ETag and a digest, a file is compared by size alone."""
    before, now = {item.name: item for item in pinned}, {item.name: item for item in present}
    return {
        "added": sorted(now.keys() - before.keys()),
        "removed": sorted(before.keys() - now.keys()),
        "changed": sorted(name for name in before.keys() & now.keys() if _differs(before[name], now[name])),
    }


def _differs(before: Item, now: Item) -> bool:
    if before.digest and now.digest:
        return before.digest != now.digest
    if before.etag and now.etag:
        return before.etag != now.etag
    return UNKNOWN_SIZE not in (before.size, now.size) and before.size != now.size
