"""Configuration objects that check their attributes: a misspelled one raises AttributeError."""

from __future__ import annotations

import difflib
from typing import Any, Dict, Iterable, Mapping, cast


class Checked:
    """Base of the configuration classes. After `_seal`, no new attributes can be added; dataclasses seal themselves."""

    _sealed = False

    def _seal(self) -> None:
        self._sealed = True

    def __post_init__(self) -> None:
        self._seal()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sealed and not name.startswith("_") and not hasattr(self, name):
            attributes = public_attributes(self)
            hint = nearest(name, attributes) or f"its attributes are {', '.join(sorted(attributes))}"
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}\nhint: {hint}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in public_attributes(self).items())
        return f"{type(self).__name__}({values})"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the question whether another name was meant; empty if none is near."""
    near = [other for other in difflib.get_close_matches(name, list(names)) if _is_near(name, other)]
    return f"did you mean {near[0]!r}?" if near else ""


def _is_near(name: str, other: str) -> bool:
    """Return whether names that begin with the same word, such as `get_`, are also alike in the rest."""
    word, _, rest = name.partition("_")
    other_word, _, other_rest = other.partition("_")
    return not rest or word != other_word or bool(difflib.get_close_matches(rest, [other_rest]))


def public_attributes(thing: object) -> Dict[str, Any]:
    return {key: value for key, value in vars(thing).items() if not key.startswith("_")}


def flat(thing: Checked, prefix: str = "") -> Dict[str, Any]:
    """Return the attributes of a configuration object and of its sections, by dotted names."""
    flattened: Dict[str, Any] = {}
    for name, value in public_attributes(thing).items():
        flattened.update(flat(value, f"{prefix}{name}.") if isinstance(value, Checked) else {prefix + name: value})
    return flattened


def changed_attributes(thing: Checked, default: Checked) -> Dict[str, Any]:
    """Return the attributes, by dotted names, whose values are not those of `default`."""
    defaults = flat(default)
    return {name: value for name, value in flat(thing).items() if repr(value) != repr(defaults.get(name))}


def reasons_for(reasons: Mapping[str, str], names: Iterable[str]) -> Dict[str, str]:
    """Return the reason for each name that `reasons` lists, by itself or with its whole section."""
    sections = {name: [key for key in reasons if name == key or name.startswith(key + ".")] for name in names}
    return {name: reasons[keys[0]] for name, keys in sections.items() if keys}


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def to_camel(value: Any) -> Any:
    """Return a configuration object as plain data with camelCase keys. The keys of users' dictionaries stay as they
    are."""
    if isinstance(value, Checked):
        return {camel(key): to_camel(inner) for key, inner in public_attributes(value).items()}
    if hasattr(value, "to_definition"):  # data passed to a run, which knows its own format
        return value.to_definition()
    if isinstance(value, Mapping):
        return {str(key): to_camel(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_camel(inner) for inner in cast("Any", value)]
    return value
