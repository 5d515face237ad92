"""Checks of names, keys, values and lengths, with the texts that MLflow's clients expect."""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from collections.abc import Sequence
from typing import Any

from footplate.server.mlflow.errors import MlflowError

KEY, PARAMETER_VALUE, TAG_VALUE, EXPERIMENT_VALUE, REGISTRY_VALUE = 250, 6_000, 8_000, 20_000, 100_000
_NAME = re.compile(r"[/\w.\- :]*")
_ALIAS = re.compile(r"[\w\-]*", re.ASCII)
_ALIAS_VERSION = re.compile(r"[vV]\d+")
_CHARACTERS = (
    "Names may only contain alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), colon(:) "
    "and slashes (/)."
)
_FIRST = "amber brave calm deft eager fleet glad hardy keen lively merry nimble proud quiet rapid sleek swift wise"
_SECOND = "bear crane dove eagle finch goose hare ibis jay kite lark moose newt otter pike quail raven seal trout wren"


def invalid_value(name: str, value: Any, message: str | None = None) -> MlflowError:
    """Return the error about a field; `message` says what would be right."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return MlflowError(f"Invalid value {text} for parameter '{name}' supplied" + (f": {message}" if message else "."))


def missing_value(name: str) -> MlflowError:
    return MlflowError(f"Missing value for required parameter '{name}'.")


def check_key(key: Any, path: str = "key", what: str = "key", longest: int = KEY) -> str:
    """Return the key of a metric, a parameter or a tag; raise for one that could be mistaken for another path."""
    if not isinstance(key, str):
        raise missing_value(path) if key is None else invalid_value(path, key, _CHARACTERS)
    if not _NAME.fullmatch(key):
        raise invalid_value(path, key, _CHARACTERS)
    _check_path(key, path)
    return limited(what, key, longest)


def _check_path(name: str, path: str) -> None:
    norm = posixpath.normpath(name)
    if norm != name or norm == "." or norm.startswith(("..", "/")):
        raise invalid_value(
            path,
            name,
            "Names may be treated as files in certain cases, and must not resolve to other names when treated as "
            f"such. This name would resolve to {norm!r}",
        )


def limited(what: str, value: str, longest: int, truncate: bool = False) -> str:
    """Return a value that is not too long, or its beginning."""
    if len(value) <= longest:
        return value
    if truncate:
        return value[:longest]
    raise MlflowError(f"'{what}' exceeds the maximum length of {longest} characters")


def check_unique(keys: Sequence[str]) -> None:
    repeated = [key for at, key in enumerate(keys) if key in keys[:at]]
    if repeated:
        raise MlflowError(
            f"Duplicate parameter keys have been submitted: {repeated}. Please ensure the request contains only one "
            "param value per param key."
        )


def check_experiment_name(name: str) -> None:
    if not name:
        raise MlflowError(f"Invalid experiment name: '{name}'")
    limited("name", name, 500)


def check_model_name(name: str, field: str = "name") -> None:
    if not name.strip():
        raise missing_value(field)
    if "/" in name or ":" in name:
        raise MlflowError(f"Invalid model name '{name}'. Names cannot contain '/' or ':'.")
    _check_path(name, "name")


def check_alias(alias: str) -> None:
    if not alias:
        raise MlflowError("Registered model alias name cannot be empty.")
    if not _ALIAS.fullmatch(alias):
        raise MlflowError(
            f"Invalid alias name: '{alias}'. Names may only contain alphanumerics, underscores (_), and dashes (-)."
        )
    limited("Registered model alias name", alias, 255)
    if alias.lower() == "latest":
        raise MlflowError("'latest' alias name (case insensitive) is reserved.")
    if _ALIAS_VERSION.fullmatch(alias):
        raise MlflowError(f"Version alias name '{alias}' is reserved.")


def check_run_id(run: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9][\w\-.]{0,255}", run):
        raise invalid_value("run_id", run)
    return run


def check_version(version: Any) -> int:
    try:
        return int(version)
    except (TypeError, ValueError):
        raise MlflowError(f"Parameter 'version' must be an integer, got '{version}'.") from None


def random_name() -> str:
    """Return a name for a run that its client did not name."""
    return f"{secrets.choice(_FIRST.split())}-{secrets.choice(_SECOND.split())}-{secrets.randbelow(1000)}"
