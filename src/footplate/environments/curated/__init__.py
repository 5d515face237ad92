"""Environments that are there without anybody having registered them.

Ours are tested with their pins (`tested`). Azure's names lead to what those environments held (`azure`, with a grammar
for the many spellings); where that cannot be installed any more, to the nearest of ours, and the run is told.
"""

from __future__ import annotations

import difflib

from footplate.environments.curated import azure, tested
from footplate.environments.curated.base import Curated
from footplate.errors import NotFound

PREFIXES = ("azureml", "microsoft", "footplate-")
"""Names that begin so, in whatever case, cannot be registered."""

__all__ = ["PREFIXES", "Curated", "every", "find", "get", "is_reserved", "with_nearest"]


def is_reserved(name: str) -> bool:
    return name.lower().startswith(PREFIXES)


def every() -> list[Curated]:
    """All that are known by name: ours first, then Azure's."""
    return [*tested.ALL, *azure.ALL]


def find(name: str) -> Curated | None:
    """By name, in whatever case; None for one that leads nowhere."""
    wanted = name.lower()
    known = {entry.name.lower(): entry for entry in every()}
    return known.get(wanted) or azure.understand(name)


def with_nearest(name: str) -> list[Curated]:
    """What the name stands for, and what stands in for that: all that a lock may be made from."""
    entry = find(name)
    instead = find(entry.nearest) if entry is not None and entry.nearest is not None else None
    return [one for one in (entry, instead) if one is not None]


def get(name: str) -> Curated:
    found = find(name)
    if found is not None:
        return found
    names = [entry.name for entry in every()]
    near = difflib.get_close_matches(name.lower(), [one.lower() for one in names], 3, 0.5)
    meant = [one for one in names if one.lower() in near]
    hint = f"did you mean {' or '.join(meant)}? " if meant else ""
    raise NotFound(f"there is no curated environment {name!r}", f"{hint}see them with: footplate env list --curated")
