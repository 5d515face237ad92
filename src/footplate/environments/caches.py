"""Caches that environments are built from: their sizes, and how they are cleared.

A file that environments share with a cache counts as part of the cache, once; a file that only an environment holds
counts as part of the environment. The sum is the space in use.

Builds and clearing exclude each other (`built_environments.building` and `clearing`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from footplate.domain.records import CacheView
from footplate.environments import built_environments, bytecode, conda, pythons, uv
from footplate.environments.base import Say
from footplate.environments.built_environments import own_size, size
from footplate.environments.recipes import wheels
from footplate.errors import InvalidInput


@dataclass(frozen=True)
class EnvironmentCache:
    """`clear(root, before)` removes entries that nothing uses and that were last used before this time."""

    folder: str
    holds: str
    clear: Callable[[Path, float], object]


ALL = {
    "wheels": EnvironmentCache(uv.STORE, "downloaded wheels", lambda root, _before: uv.clear_wheels(root, False)),
    "bytecode": EnvironmentCache(bytecode.STORE, "bytecode, by content of wheels", bytecode.clear),
    "conda": EnvironmentCache(conda.STORE, "unpacked conda packages and channel indexes", conda.clear_packages),
    "recipes": EnvironmentCache(wheels.STORE, "wheels built by recipes", wheels.clear),
    "pythons": EnvironmentCache(pythons.STORE, "Pythons downloaded by uv", pythons.clear),
}


def check(names: Sequence[str]) -> None:
    for name in names:
        if name not in ALL:
            raise InvalidInput(f"there is no cache {name!r}", f"the caches are {', '.join(ALL)}")


def sizes(root: Path) -> list[CacheView]:
    """Return each cache with its size on disk; each file counts once."""
    return [CacheView(name, cache.holds, size(root / cache.folder)) for name, cache in ALL.items()]


def clear(root: Path, before: float, whole: Sequence[str], say: Say) -> list[CacheView]:
    """Empty the caches named in `whole`, remove unused entries from the others, and return how much each one freed.

    Environments keep the files that they share with a cache.
    """
    check(whole)
    with built_environments.clearing(root) as free:
        if not free:
            say("the caches are not cleared: an environment is being built from them")
            return []
        return [_clear_one(root, name, before, name in whole) for name in ALL]


def _clear_one(root: Path, name: str, before: float, whole: bool) -> CacheView:
    cache = ALL[name]
    size_before = own_size(root / cache.folder)
    if not whole:
        cache.clear(root, before)
    elif name == "pythons":
        pythons.clear(root, float("inf"))  # environments run with these, not with copies, so used ones stay
    elif name == "wheels":
        uv.clear_wheels(root, everything=True)
    else:
        shutil.rmtree(root / cache.folder, ignore_errors=True)
    return CacheView(name, cache.holds, max(0, size_before - own_size(root / cache.folder)))
