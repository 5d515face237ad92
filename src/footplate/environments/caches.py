"""What environments are made from, kept on this machine: how much of the disk each cache holds, and clearing them.

A file that environments share with a cache is counted with the cache, once, however many names it has; what an
environment holds alone is counted with the environment (`folders.own_size`). So all of it together is what is used.

Nothing disappears from under a build: `folders.building` and `folders.clearing` exclude each other.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from footplate.domain.records import CacheView
from footplate.environments import built_environments, bytecode, pythons, uv
from footplate.environments.base import Say
from footplate.environments.conda import packages
from footplate.environments.disk import own_size, size
from footplate.environments.recipes import wheels
from footplate.errors import InvalidInput


@dataclass(frozen=True)
class EnvironmentCache:
    """`clear` takes the root of the environments, and removes what nothing uses and was not used since a time."""

    folder: str
    holds: str
    clear: Callable[[Path, float], object]


ALL = {
    "wheels": EnvironmentCache(
        uv.STORE, "wheels that were fetched", lambda root, _before: uv.clear_wheels(root, False)
    ),
    "bytecode": EnvironmentCache(bytecode.STORE, "bytecode, by content of wheels", bytecode.clear),
    "conda": EnvironmentCache(packages.STORE, "conda's packages, unpacked, and lists of channels", packages.clear),
    "recipes": EnvironmentCache(wheels.STORE, "wheels that recipes made", wheels.clear),
    "pythons": EnvironmentCache(pythons.STORE, "Pythons that uv fetched", pythons.clear),
}


def check(names: Sequence[str]) -> None:
    for name in names:
        if name not in ALL:
            raise InvalidInput(f"there is no cache {name!r}", f"the caches are {', '.join(ALL)}")


def sizes(root: Path) -> list[CacheView]:
    """What each holds on disk, every file once."""
    return [CacheView(name, cache.holds, size(root / cache.folder)) for name, cache in ALL.items()]


def clear(root: Path, before: float, whole: Sequence[str], say: Say) -> list[CacheView]:
    """Those that are named `whole` go altogether, of the others what nothing uses; `size` is what that freed.

    Environments keep what they share with a cache: their own names for it stay.
    """
    check(whole)
    with built_environments.clearing(root) as free:
        if not free:
            say("the caches are left as they are: an environment is being built from them")
            return []
        return [_cleared(root, name, before, name in whole) for name in ALL]


def _cleared(root: Path, name: str, before: float, whole: bool) -> CacheView:
    cache = ALL[name]
    held = own_size(root / cache.folder)
    if not whole:
        cache.clear(root, before)
    elif name == "pythons":
        pythons.clear(root, float("inf"))  # those that environments use are no copies: they are what these run with
    elif name == "wheels":
        uv.clear_wheels(root, everything=True)
    else:
        shutil.rmtree(root / cache.folder, ignore_errors=True)
    return CacheView(name, cache.holds, max(0, held - own_size(root / cache.folder)))
