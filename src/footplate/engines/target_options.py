"""Options of compute targets: those of every engine, those of one engine, and those that a run may override."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from footplate.engines.base import ClusterEngine, Engine
from footplate.errors import InvalidInput

NODE_OPTIONS = {
    "cpus": "CPUs that each node needs",
    "memory": "GiB of memory that each node needs",
    "gpus": "GPUs that each node needs",
    "resources": "custom resources of a node: name → amount",
    "vm_size": "machine size of a node, such as STANDARD_NC6",
}
"""Options that describe a node."""

EVERY_ENGINE = {
    **NODE_OPTIONS,
    "vm_priority": "dedicated or lowpriority",
    "description": "text for users",
    "instance": "true for one machine that scripts call a ComputeInstance",
    "tags": "name → value",
}
"""Options of a compute target that every engine accepts."""


def check_options(engine: Engine, options: Mapping[str, Any]) -> None:
    """Raise InvalidInput for an unknown option, or for a bad value of an option that every engine accepts.

    Values of the engine's own options are checked by its `prepare`.
    """
    options_of_engine = {**engine.options, **EVERY_ENGINE}
    for name in options:
        if name not in options_of_engine:
            raise InvalidInput(f"the engine {engine.name!r} has no option {name!r}", _hint(name, options_of_engine))
    for name, (is_valid, hint) in _CHECKS.items():
        if options.get(name) is not None and not is_valid(options[name]):
            raise InvalidInput(f"the option {name!r} is {options[name]!r}", hint)


def run_options(engine: Engine) -> tuple[str, ...]:
    """Return the options that a run may override."""
    return tuple(engine.run_options) if isinstance(engine, ClusterEngine) else ()


def check_run_options(engine: Engine, target: str, options: Mapping[str, Any]) -> None:
    """Raise InvalidInput if a run may not override one of these options of its target."""
    allowed = {name: engine.options[name] for name in run_options(engine)}
    for name in options:
        if name in allowed:
            continue
        if name in engine.options:
            reason = f"the option {name!r} of {target!r} is fixed: a run cannot override it"
        else:
            reason = f"the engine {engine.name!r} of {target!r} has no option {name!r}"
        hint = "leave it out: this engine lets runs override nothing"
        raise InvalidInput(reason, _hint(name, allowed, "a run can override ") if allowed else hint)
    check_options(engine, options)


def _hint(name: str, meanings: Mapping[str, str], opening: str = "its options are ") -> str:
    near = difflib.get_close_matches(name, meanings, 1, 0.7)
    guess = f"did you mean {near[0]}? " if near else ""
    return guess + opening + ", ".join(f"{each} ({meaning})" for each, meaning in meanings.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _are_amounts(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(_is_number(amount) and amount > 0 for amount in cast("Mapping[Any, Any]", value).values())


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cpus": (lambda value: _is_count(value, 1), "give a whole number of at least 1"),
    "memory": (lambda value: _is_number(value) and value > 0, "give a number of GiB, such as 64"),
    "gpus": (lambda value: _is_count(value, 0), "give a whole number of at least 0"),
    "resources": (_are_amounts, "give a mapping from names to amounts above 0, such as {'license': 1}"),
}
