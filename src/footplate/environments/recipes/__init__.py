"""Packages that have no wheels and whose source must be edited to build against current libraries.

    horovod  the parts of a recipe, and the recipe of Horovod
    wheels   builds and keeps the wheels

A lock contains such a package with its whole recipe: the archive's hash, the edits, the tools with their hashes, the
variables. A node therefore builds the same wheel from the lock alone, whichever version of Footplate made the lock.

A new recipe is a module with a `RECIPE`, and a row in `_ALL`.
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

from footplate.environments.recipes.horovod import RECIPE as HOROVOD
from footplate.environments.recipes.horovod import Edit, Recipe
from footplate.environments.requirements import is_option, name_of, normalize
from footplate.errors import InvalidInput

_VERSION = re.compile(r"[^=\s]+==([^\s;]+)")
_ALL = {recipe.name: recipe for recipe in (HOROVOD,)}


@dataclass(frozen=True)
class RecipePlan:
    """Lines for the index, and the recipes that replace the other lines."""

    lines: list[str]
    recipes: list[Recipe] = field(default_factory=lambda: [])
    added: list[str] = field(default_factory=lambda: [])
    warnings: list[str] = field(default_factory=lambda: [])


def plan(lines: Sequence[str], installed: Iterable[str] = ()) -> RecipePlan:
    """Replace each line that names a recipe's package by the packages that it needs; other lines stay.

    `installed` are the names of packages that the environment has from elsewhere.
    """
    result = RecipePlan([])
    named = {*installed, *map(name_of, lines)}
    for line in lines:
        requirement = _requirement(line)
        recipe = _ALL.get(normalize(requirement.name)) if requirement is not None and requirement.url is None else None
        if recipe is None or requirement is None:
            result.lines.append(line)
        elif recipe not in result.recipes:
            _take(recipe, requirement, line, named, result)
    return result


def _take(recipe: Recipe, parsed: Requirement, line: str, named: set[str | None], result: RecipePlan) -> None:
    result.recipes.append(recipe)
    result.lines.extend([*recipe.needs, *(recipe.extras[extra] for extra in parsed.extras if extra in recipe.extras)])
    for name, (requirement, others) in recipe.beside.items():
        if named.isdisjoint({name, *others}):
            result.lines.append(requirement)
            result.added.append(name)
    if not parsed.specifier.contains(recipe.version, prereleases=True):
        result.warnings.append(f"{line} has no wheels and no recipe: {recipe.name} {recipe.version} is built instead")


def _requirement(line: str) -> Requirement | None:
    try:
        return None if is_option(line) else Requirement(line)
    except InvalidRequirement:
        return None


def describe(recipe: Recipe, pins: str, tools: str, brought: Mapping[str, str]) -> dict[str, Any]:
    """Return the recipe as content of a lock. `pins` are the other packages, `tools` the packages that it is built
    with.

    `brought` are packages that the environment has from elsewhere, name → build; the wheel is then built inside it.
    """
    present = {**brought, **blocks(pins)}
    linked = {name: present[name] for name in recipe.linked if name in present}
    if not any(name in linked for name in recipe.one_of):
        raise InvalidInput(
            f"{recipe.name} is built against {' or '.join(recipe.one_of)}, and the requirements contain none of them",
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
    versions = {name: match[1] for name in edit.since if (match := _VERSION.match(linked.get(name, "")))}
    return all(Version(version) >= Version(edit.since[name]) for name, version in versions.items())


def fingerprints(lines: Iterable[str]) -> dict[str, str]:
    """Return name → digest of the recipes that these lines use: another version of Footplate may have other recipes."""
    named = {name_of(line) for line in lines}
    return {name: fingerprint(recipe) for name, recipe in _ALL.items() if name in named}


def fingerprint(recipe: Recipe) -> str:
    content = {name: value for name, value in asdict(recipe).items() if name != "variables"}
    content["variables"] = recipe.variables(frozenset(recipe.linked))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def linkable() -> frozenset[str]:
    """Return the packages whose binaries the wheels of recipes link against."""
    return frozenset(name for recipe in _ALL.values() for name in recipe.linked)


def blocks(pins: str) -> Mapping[str, str]:
    """Split the text of a lock into name → pin with hashes."""
    by_name: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", pins.strip()):
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", block)
        if name:
            by_name[normalize(name[0])] = block.strip()
    return by_name
