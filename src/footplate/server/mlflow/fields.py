"""Checks of the fields of a request, with MLflow's texts. Fields that no route names are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.names import invalid_value

_SEE = " See the API docs for more information about request parameters."

TEXT, INTEGER, NUMBER, BOOL, LIST, TEXTS, ITEMS = "text", "integer", "number", "bool", "list", "texts", "items"


@dataclass(frozen=True)
class Field:
    """One field: its type, whether it is required, and how large it may be. `each`: keys that items must have."""

    type: str = TEXT
    required: bool = False
    most: int | None = None
    each: tuple[str, ...] = ()


Fields = Mapping[str, Field]


def need(type: str = TEXT, each: tuple[str, ...] = ()) -> Field:
    return Field(type, required=True, each=each)


def check(fields: Fields, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with its numbers as numbers; raise for the first field that is missing or wrong."""
    checked = dict(request)
    for name, field in fields.items():
        value = request.get(name)
        if name == "run_id" and value is None:
            value = checked["run_id"] = request.get("run_uuid")
        if value is None or value == "":
            if field.required:
                raise MlflowError(f"Missing value for required parameter '{name}'.{_SEE}")
            if value is None:
                checked.pop(name, None)
            continue
        checked[name] = _convert(name, field, value)
    return checked


def _convert(name: str, field: Field, value: Any) -> Any:
    converted: Any = _CONVERTERS[field.type](value)
    if converted is None or (field.most is not None and converted > field.most):
        error = invalid_value(name, value, f" Hint: Value was of type '{type(value).__name__}'.")
        raise MlflowError(error.message + _SEE)
    for at, item in enumerate(converted if field.each else ()):
        for key in field.each:
            if cast("dict[str, Any]", item).get(key) in (None, ""):
                raise MlflowError(f"Missing value for required parameter '{name}[{at}].{key}'.{_SEE}")
    return converted


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return int(value) if not isinstance(value, float) or value.is_integer() else None
    except (TypeError, ValueError, OverflowError):
        return None


def number(value: Any) -> float | None:
    """Return a number that JSON holds as a number or as text; NaN and the infinities are words."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _bool(value: Any) -> bool | None:
    words = {"true": True, "false": False}
    return value if isinstance(value, bool) else words.get(str(value).lower()) if isinstance(value, str) else None


def _list(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType]


def _items(value: Any) -> list[Any] | None:
    items = _list(value)
    return items if items is not None and all(isinstance(item, dict) for item in items) else None


def _texts(value: Any) -> list[str] | None:
    items = _list(value)
    return items if items is not None and all(isinstance(item, str) for item in items) else None


_CONVERTERS = {TEXT: _text, INTEGER: _integer, NUMBER: number, BOOL: _bool, LIST: _list, TEXTS: _texts, ITEMS: _items}
