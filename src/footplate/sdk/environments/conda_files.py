"""Checks of a conda file's content."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, cast

from footplate.sdk.exceptions import UserErrorException

_KEYS = ("name", "channels", "dependencies", "prefix")


def top_level(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise UserErrorException(f"{where} is not a conda file", hint="it has the keys name, channels and dependencies")
    content = cast("Mapping[str, Any]", data)
    unknown = [str(key) for key in content if key not in _KEYS]
    if unknown:
        hint = f"a conda file has the keys {', '.join(_KEYS)}"
        if "variables" in unknown:
            hint += "; variables belong in the environment's environment_variables"
        raise UserErrorException(f"{where} has the unknown key {', '.join(unknown)}", hint=hint)
    return content


def items_of(value: Any, key: str, where: str) -> Sequence[Any]:
    if value is not None and not isinstance(value, (list, tuple)):
        raise UserErrorException(f"{key} of {where} is {value!r}", hint="it is a list")
    return cast("Sequence[Any]", value or ())


def texts_of(value: Any, key: str, where: str) -> List[str]:
    items = items_of(value, key, where)
    for item in items:
        if not isinstance(item, str):
            raise UserErrorException(f"{key} of {where} has {item!r}", hint="each is a string; put it in quotes")
    return list(items)


def text_of(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserErrorException(f"{what} is {value!r}", hint="give a string such as numpy")
    return value
