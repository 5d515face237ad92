"""The parts of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """Replace every `before` in a file by `after`. A file without it is not the source that the recipe is for.

    `since` maps packages to versions: a wheel that is linked against an older one is built without this edit.
    """

    path: str
    before: str
    after: str
    since: Mapping[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Recipe:
    """Instructions to build a wheel of one version of a package from its source archive.

    `needs` are the package's own dependencies, `tools` its build dependencies. The wheel links against the `linked`
    packages that are present, and needs at least `one_of`; `variables` maps the names of those present to build
    variables. `extras` maps the package's extras to requirements. `beside` maps names to a requirement that is
    installed as well, and the alternatives to it that make it unnecessary.
    """

    name: str
    version: str
    sha256: str
    edits: tuple[Edit, ...]
    needs: tuple[str, ...]
    tools: tuple[str, ...]
    linked: tuple[str, ...]
    one_of: tuple[str, ...]
    extras: Mapping[str, str]
    beside: Mapping[str, tuple[str, tuple[str, ...]]]
    variables: Callable[[frozenset[str]], dict[str, str]]
