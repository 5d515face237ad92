"""The public Python API: the names that `azureml` modules export, and the sections of their docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import azureml

SECTIONS = ("Args", "Returns", "Raises", "Example")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):$", re.MULTILINE)
_ENTRY = re.compile(r"^([\w*., ]+):\s+(.*)", re.DOTALL)

Public = type | FunctionType


@dataclass(frozen=True)
class Doc:
    """A docstring, taken apart at its sections."""

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    returns: str = ""
    raises: dict[str, str] = field(default_factory=dict[str, str])
    example: str = ""

    @classmethod
    def of(cls, found: Any) -> Doc:
        own = vars(found).get("__doc__") if inspect.isclass(found) else found.__doc__
        text, *rest = _SECTION.split(inspect.cleandoc(own or ""))
        parts = {name: inspect.cleandoc(body) for name, body in zip(rest[::2], rest[1::2], strict=True)}
        arguments, raises = (dict(_entries(parts.get(name, ""))) for name in ("Args", "Raises"))
        return cls(text.strip(), arguments, parts.get("Returns", ""), raises, parts.get("Example", ""))


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each entry; `a, b: text` describes several, and indented lines continue an entry."""
    for block in re.split(r"\n(?! )", body) if body else []:
        entry = _ENTRY.match(block)
        assert entry, f"an entry has no name: {block!r}"
        for name in entry[1].split(","):
            yield name.strip(" *"), " ".join(entry[2].split())


@dataclass(frozen=True)
class Member:
    """A method or property of a class."""

    name: str
    target: FunctionType | property

    @property
    def is_property(self) -> bool:
        return isinstance(self.target, property)

    @property
    def code(self) -> Any:
        return self.target.fget if isinstance(self.target, property) else self.target


def public() -> dict[str, list[Public]]:
    """Return the classes and functions of every `azureml` module; each stands in the module with the shortest path."""
    homes: dict[Public, str] = {}
    for name in sorted(_modules(), key=lambda name: (name.count("."), name)):
        try:
            module = importlib.import_module(name)
        except ImportError:  # a part of Azure's SDK that Footplate does not have, and says so
            continue
        for exported in getattr(module, "__all__", ()):
            found = getattr(module, exported)
            if not exported.startswith("_") and isinstance(found, (type, FunctionType)):
                homes.setdefault(found, name)
    by_module: dict[str, list[Public]] = {}
    for found, name in sorted(homes.items(), key=lambda pair: pair[0].__name__):
        by_module.setdefault(name, []).append(found)
    return dict(sorted(by_module.items()))


def _modules() -> Iterator[str]:
    """Yield the names of all modules; folders such as `azureml/train` are packages without a file of their own."""
    for root in map(Path, azureml.__path__):
        for path in root.rglob("*.py"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            if not any(part.startswith("_") and part != "__init__" for part in parts):
                yield ".".join(part for part in parts if part != "__init__")


def members(found: type) -> dict[str, Member]:
    """Return the public methods and properties of a class and of the classes of Footplate that it is made of.

    `from_view` makes objects from records of the server, and `view` returns them; scripts have no use for either.
    """
    kinds = [each for each in reversed(found.__mro__) if each.__module__.startswith("footplate.")]
    names = {name: value for each in kinds for name, value in vars(each).items()}
    own = ("from_view", "view")
    named = {name: value for name, value in names.items() if not name.startswith("_") and name not in own}
    targets = {name: getattr(value, "__func__", value) for name, value in named.items()}
    return {name: Member(name, it) for name, it in targets.items() if isinstance(it, (FunctionType, property))}


def owner(found: type, name: str, listed: set[type]) -> type:
    """Return the listed class that documents a member: the most general one that has the same definition."""
    same = [each for each in found.__mro__ if each in listed and _definition(each, name) is _definition(found, name)]
    return same[-1]


def _definition(found: type, name: str) -> object:
    return next((vars(each)[name] for each in found.__mro__ if name in vars(each)), None)


def parameters(found: Callable[..., Any] | type) -> list[inspect.Parameter]:
    """Return the parameters that a caller passes; names with an underscore are private."""
    names = inspect.signature(_called(found)).parameters.values()
    return [each for each in names if each.name not in ("self", "cls") and not each.name.startswith("_")]


def _called(found: Any) -> Callable[..., Any]:
    """Return the function whose parameters the caller of a class or function passes."""
    if not inspect.isclass(found) or "__signature__" in vars(found):
        return found
    if issubclass(found, Enum):
        return lambda: None
    own = [vars(each).get(name) for each in found.__mro__ for name in ("__init__", "__new__")]
    functions = [getattr(each, "__func__", each) for each in own]  # __new__ is a static method
    return next((each for each in functions if isinstance(each, FunctionType)), lambda: None)
