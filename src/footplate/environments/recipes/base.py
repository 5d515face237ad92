"""What a recipe is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """Every `before` in the file becomes `after`. A file without it is not the source that the recipe is for.

    `since` names packages with versions: what is linked against one of them that is older does without the edit.
    """

    path: str
    before: str
    after: str
    since: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Recipe:
    """How a wheel of one version of a package is made from its source archive.

    `needs` is what the package itself needs when it runs, `tools` what it is built with. `linked` are the packages that
    the wheel depends on byte by byte, `one_of` those of which at least one must be there; `variables` takes the names
    of the linked ones that are. `extras` says which requirement an extra of the package stands for;
    `beside` what is installed with it, unless a line names it or what would do as well: name → requirement, others.
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
