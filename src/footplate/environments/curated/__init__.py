"""Curated environments, which every workspace has without registering them.

tested       the record of one; our own, with pins that the tests install and train with
azure        Azure's names and their original packages, with a grammar for the many spellings
substitutes  locks: the original packages, else those of the nearest tested environment of the same framework
"""

from __future__ import annotations

import difflib

from footplate.environments.curated import azure, tested
from footplate.environments.curated.tested import Curated
from footplate.errors import NotFound

PREFIXES = ("azureml", "microsoft", "footplate-")
"""Prefixes of names, in any case, that cannot be registered."""

__all__ = ["PREFIXES", "Curated", "every", "find", "get", "is_reserved", "with_nearest"]


def is_reserved(name: str) -> bool:
    return name.lower().startswith(PREFIXES)


def every() -> list[Curated]:
    """Return all entries with a name: ours first, then Azure's."""
    return [*tested.ALL, *azure.ALL]


def find(name: str) -> Curated | None:
    """Return the entry of a name in any case, or None if the name is unknown."""
    lower = name.lower()
    entries = {entry.name.lower(): entry for entry in every()}
    return entries.get(lower) or azure.understand(name)


def with_nearest(name: str) -> list[Curated]:
    """Return the entry of a name and its substitute: everything that a lock may be made from."""
    entry = find(name)
    instead = find(entry.nearest) if entry is not None and entry.nearest is not None else None
    return [one for one in (entry, instead) if one is not None]


def get(name: str) -> Curated:
    entry = find(name)
    if entry is not None:
        return entry
    names = [one.name for one in every()]
    near = difflib.get_close_matches(name.lower(), [one.lower() for one in names], 3, 0.5)
    similar = [one for one in names if one.lower() in near]
    hint = f"did you mean {' or '.join(similar)}? " if similar else ""
    raise NotFound(f"there is no curated environment {name!r}", f"{hint}see them with: footplate env list --curated")
