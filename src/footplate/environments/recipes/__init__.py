"""Packages that no index has as a wheel and whose source needs edits before it builds against what is current.

A lock names such a package together with its whole recipe: the archive by its hash, the edits, the tools with their
hashes, the variables. So a node builds the same wheel from the lock alone, whatever version of Footplate made the lock.
The wheel is made once per recipe and per what it is linked against, and kept (`wheels`). A new recipe is a module here
with a `RECIPE`, and its name below.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from footplate.environments.recipes.base import Edit, Recipe
from footplate.environments.recipes.horovod import RECIPE as HOROVOD
from footplate.environments.requirements import is_option, name_of, normalize
from footplate.errors import InvalidInput

_VERSION = re.compile(r"[^=\s]+==([^\s;]+)")
_ALL = {recipe.name: recipe for recipe in (HOROVOD,)}


@dataclass(frozen=True)
class RecipePlan:
    """Lines for the index, and the recipes that stand for the other lines."""

    lines: list[str]
    recipes: list[Recipe] = field(default_factory=list[Recipe])
    added: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def plan(lines: Sequence[str], there: Iterable[str] = ()) -> RecipePlan:
    """Lines that name a recipe's package are replaced by what it needs; all others stay as they are.

    `there` are the names of what the environment has from elsewhere.
    """
    found, named = RecipePlan([]), {*there, *map(name_of, lines)}
    for line in lines:
        wanted = _requirement(line)
        recipe = _ALL.get(normalize(wanted.name)) if wanted is not None and wanted.url is None else None
        if recipe is None or wanted is None:
            found.lines.append(line)
        elif recipe not in found.recipes:
            _take(recipe, wanted, line, named, found)
    return found


def _take(recipe: Recipe, wanted: Requirement, line: str, named: set[str | None], found: RecipePlan) -> None:
    found.recipes.append(recipe)
    found.lines.extend([*recipe.needs, *(recipe.extras[extra] for extra in wanted.extras if extra in recipe.extras)])
    for name, (requirement, others) in recipe.beside.items():
        if named.isdisjoint({name, *others}):
            found.lines.append(requirement)
            found.added.append(name)
    if not wanted.specifier.contains(recipe.version, prereleases=True):
        found.warnings.append(f"{line} has no wheels and no recipe: {recipe.name} {recipe.version} is built instead")


def _requirement(line: str) -> Requirement | None:
    try:
        return None if is_option(line) else Requirement(line)
    except InvalidRequirement:
        return None


def describe(recipe: Recipe, pins: str, tools: str, brought: Mapping[str, str]) -> dict[str, Any]:
    """What the lock keeps of a recipe. `pins` is what is installed beside it, `tools` what it is built with.

    `brought` is what the environment has from elsewhere, name → which build of it: then the wheel is made inside of it.
    """
    there = {**brought, **blocks(pins)}
    linked = {name: there[name] for name in recipe.linked if name in there}
    if not any(name in linked for name in recipe.one_of):
        raise InvalidInput(
            f"{recipe.name} is built against {' or '.join(recipe.one_of)}, and the requirements bring none of them",
            f"add one of them beside {recipe.name}, for example: {recipe.one_of[0]}",
        )
    described = {
        "name": recipe.name,
        "version": recipe.version,
        "sha256": recipe.sha256,
        "edits": [[edit.path, edit.before, edit.after] for edit in recipe.edits if _is_for(edit, linked)],
        "variables": recipe.variables(frozenset(linked)),
        "linked": linked,
        "tools": tools,
    }
    return {**described, "inside": True} if brought else described


def _is_for(edit: Edit, linked: Mapping[str, str]) -> bool:
    versions = {name: found[1] for name in edit.since if (found := _VERSION.match(linked.get(name, "")))}
    return all(Version(version) >= Version(edit.since[name]) for name, version in versions.items())


def fingerprints(lines: Iterable[str]) -> dict[str, str]:
    """name → digest of the recipe, of those that these lines ask for: another version of Footplate may have others."""
    named = {name_of(line) for line in lines}
    return {name: fingerprint(recipe) for name, recipe in _ALL.items() if name in named}


def fingerprint(recipe: Recipe) -> str:
    content = {name: value for name, value in asdict(recipe).items() if name != "variables"}
    content["variables"] = recipe.variables(frozenset(recipe.linked))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def linkable() -> frozenset[str]:
    """The packages that wheels of recipes depend on byte by byte."""
    return frozenset(name for recipe in _ALL.values() for name in recipe.linked)


def blocks(pins: str) -> Mapping[str, str]:
    """name → its pin with hashes, of the text of a lock."""
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", pins.strip()):
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", block)
        if name:
            found[normalize(name[0])] = block.strip()
    return found
