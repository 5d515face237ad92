"""Sweeps in plain words: `loguniform:1e-5..1e-1` on a command line, and the same in a YAML file.

Bounds of the `log` kinds are the values themselves here, and not exponents as in Azure's functions.

    2,4,8                      a choice
    uniform:0.1..0.9           evenly between the bounds; also loguniform
    quniform:16..256:16        in steps; also qloguniform
    normal:0..1                mean and standard deviation; also lognormal
    randint:10                 0 to 9
"""

from __future__ import annotations

import json
import math
from typing import Any, Dict, List, Mapping, Sequence, Tuple, cast

from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE, Policy
from footplate.domain.tuning.search_space import KINDS, grid_size
from footplate.domain.tuning.sweeps import MAX_TRIALS, Constraint, Objective, SweepSpec, check_sweep, idle_policy
from footplate.errors import InvalidInput

_TRIALS = 20
_LOG_BOUNDS = ("loguniform", "qloguniform")
_FIELDS = (
    "script", "arguments", "metric", "goal", "trials", "concurrent", "minutes", "sampler", "options", "seed", "policy",
    "parameters", "experiment", "target", "requirements", "objectives", "constraints", "resume_from",
)  # fmt: skip


def parse_expression(name: str, text: str) -> List[Any]:
    """Return the expression that a text on the command line describes."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS or not rest:
        return ["choice", [parse_value(part) for part in text.split(",")]]
    bounds, _, step = rest.partition(":")
    try:
        numbers = [_number(part) for part in (*bounds.split(".."), *([step] if step else []))]
    except ValueError:
        raise InvalidInput(
            f"parameter {name!r}: {text!r} is not a range", "write for example uniform:0.1..0.9, or 2,4,8"
        ) from None
    return plain_bounds(name, kind, numbers)


def plain_bounds(name: str, kind: str, arguments: List[Any]) -> List[Any]:
    """Return an expression whose bounds are given as values: those of the `log` kinds become exponents."""
    if kind in _LOG_BOUNDS:
        if any(not isinstance(bound, (int, float)) or bound <= 0 for bound in arguments[:2]):
            raise InvalidInput(f"parameter {name!r}: {kind} got {arguments!r}", "give positive bounds, as 1e-5..1e-1")
        arguments = [*(math.log(bound) for bound in arguments[:2]), *arguments[2:]]
    return [kind, arguments]


def parse_value(text: str) -> Any:
    """Return a number, true, false or null as such, and anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _number(text: str) -> Any:
    value = float(text)
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value


def space_of(parameters: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the search space of a YAML file: lists are choices, {kind: [bounds]} is a range, text as above."""
    return {name: _expression(name, given) for name, given in parameters.items()}


def _expression(name: str, given: Any) -> List[Any]:
    if isinstance(given, str):
        return parse_expression(name, given)
    if not isinstance(given, dict):
        return ["choice", _items(given)]
    fields = dict(cast("Mapping[str, Any]", given))
    condition: Mapping[str, Any] = fields.pop("when", None) or {}
    if len(fields) != 1:
        raise InvalidInput(f"parameter {name!r} is {given!r}", "give one range, for example {uniform: [0, 1]}")
    ((kind, bounds),) = fields.items()
    inner = plain_bounds(name, kind, _items(bounds))
    for other, values in condition.items():
        inner = ["when", [other, _items(values), inner]]
    return inner


def _items(value: Any) -> List[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def sweep_from_mapping(given: Mapping[str, Any]) -> SweepSpec:
    """Return the sweep that a YAML file describes; an unknown field is refused by name."""
    for name in given:
        if name not in _FIELDS:
            raise InvalidInput(f"the sweep has an unknown field {name!r}", f"the fields are {', '.join(_FIELDS)}")
    policy: Mapping[str, Any] = given.get("policy") or {}
    made = SweepSpec(
        space=space_of(given.get("parameters") or {}),
        objectives=_objectives(given),
        max_trials=_trials(given),
        max_concurrent=None if given.get("concurrent") is None else int(given["concurrent"]),
        max_seconds=float(given.get("minutes") or 10080) * 60.0,
        sampler=str(given.get("sampler") or "random"),
        sampler_options=dict(given.get("options") or {}),
        seed=int(given.get("seed") or 0),
        policy=_policy({"kind": policy} if isinstance(policy, str) else policy),
        constraints=_constraints(given.get("constraints") or ()),
        resume_from=tuple(map(str, _items(given.get("resume_from") or []))),
    )
    check_sweep(made)
    idle = idle_policy(made)
    if idle is not None:
        raise InvalidInput(idle, "leave the policy out, or give it more trials to compare")
    return made


def _trials(given: Mapping[str, Any]) -> int:
    """Return the number of trials: by default the size of a grid. A grid that would be cut short is refused."""
    if given.get("sampler") != "grid" or not given.get("parameters"):
        return int(given.get("trials") or _TRIALS)
    size = grid_size(space_of(given["parameters"]))
    limit = int(given.get("trials") or MAX_TRIALS)
    if size > limit:
        raise InvalidInput(
            f"the grid has {size:,} combinations, and the limit is {limit:,} trials",
            "allow more trials, give fewer values, or use the sampler random",
        )
    return size


def _objectives(given: Mapping[str, Any]) -> Tuple[Objective, ...]:
    metric: Any = given.get("metric")
    named = cast("Mapping[str, Any]", metric) if isinstance(metric, dict) else None
    goals: Mapping[str, Any] = named or {str(given.get("metric") or ""): given.get("goal")}
    more = [str(text).rpartition(":") for text in given.get("objectives") or ()]
    return tuple(Objective(name, _goal(name, goal)) for name, goal in (*goals.items(), *((n, g) for n, _, g in more)))


def _constraints(given: Any) -> Tuple[Constraint, ...]:
    """Return the constraints of a list of texts like `memory<=100`, or of a mapping {memory: {at_most: 100}}."""
    if isinstance(given, dict):
        named = cast("Mapping[str, Mapping[str, Any]]", given)
        return tuple(Constraint(name, bounds.get("at_most"), bounds.get("at_least")) for name, bounds in named.items())
    return tuple(_constraint(str(text)) for text in given)


def _constraint(text: str) -> Constraint:
    for sign, field in (("<=", "at_most"), (">=", "at_least")):
        metric, found, bound = text.partition(sign)
        if found:
            try:
                return Constraint(metric.strip(), **{field: float(bound)})
            except ValueError:
                break
    raise InvalidInput(f"{text!r} is not a constraint", "write for example 'memory<=100' or 'f1>=0.8'")


def _goal(metric: str, goal: Any) -> str:
    if goal not in (MAXIMIZE, MINIMIZE):
        raise InvalidInput(
            f"the goal of {metric!r} is {goal!r}", f"say {MINIMIZE} or {MAXIMIZE}: --minimize or --maximize"
        )
    return str(goal)


def _policy(given: Mapping[str, Any]) -> Policy:
    try:
        return Policy(**given)
    except TypeError as error:
        raise InvalidInput(f"policy {dict(given)!r}: {error}", "name its kind and its own fields") from None
