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
from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from footplate.domain.codec import from_json
from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE, Policy
from footplate.domain.tuning.search_space import KINDS, grid_size
from footplate.domain.tuning.sweeps import (
    MAX_TRIALS,
    WEEK_SECONDS,
    Constraint,
    Objective,
    SweepSpec,
    check_sweep,
    idle_policy,
)
from footplate.errors import InvalidInput
from footplate.sdk.tuning.sampling import new_seed

_TRIALS = 20
_LOG_BOUNDS = ("loguniform", "qloguniform")


@dataclass(frozen=True)
class SweepFile:
    """The fields of a sweep in YAML. Those of the type Any take several forms."""

    script: str = ""
    arguments: Any = None
    metric: Any = ""  # a name, or {name: goal}
    goal: Optional[str] = None
    trials: Optional[int] = None
    concurrent: Optional[int] = None
    minutes: float = WEEK_SECONDS / 60
    sampler: str = "random"
    options: Dict[str, Any] = field(default_factory=lambda: {})
    seed: Optional[int] = None
    policy: Any = "none"  # a kind, or {kind: …, slack_factor: …}
    parameters: Dict[str, Any] = field(default_factory=lambda: {})
    experiment: Optional[str] = None
    target: Optional[str] = None
    gpus: Optional[int] = None
    timeout: Optional[float] = None  # of one trial, in seconds
    requirements: Optional[str] = None
    conda: Optional[str] = None
    environment: Optional[str] = None
    image: Optional[str] = None
    python: Optional[str] = None
    env: Any = ()  # {name: value}, or texts NAME=VALUE
    env_file: Optional[str] = None
    inputs: Any = ()  # {name: data}, or texts NAME=DATA
    run_config: Optional[str] = None
    objectives: Tuple[str, ...] = ()
    constraints: Any = ()  # texts, or {metric: {at_most: …}}
    resume_from: Any = ()  # a run, or several


_RANGES = tuple(kind for kind in KINDS if kind not in ("choice", "when"))
_FIELDS = tuple(each.name for each in fields(SweepFile))


def parse_expression(name: str, text: str) -> List[Any]:
    """Return the expression that a text on the command line describes."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS and kind.isalpha() and ".." in rest and "/" not in rest:
        raise InvalidInput(
            f"parameter {name!r}: {kind!r} in {text!r} is not a kind of range", f"use one of {', '.join(_RANGES)}"
        )
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
    return {name: _expression(name, described) for name, described in parameters.items()}


def _expression(name: str, described: Any) -> List[Any]:
    if isinstance(described, str):
        return parse_expression(name, described)
    if not isinstance(described, dict):
        return ["choice", [] if described is None else _items(described)]
    ranges = dict(cast("Mapping[str, Any]", described))
    condition: Any = ranges.pop("when", None) or {}
    if len(ranges) != 1:
        raise InvalidInput(f"parameter {name!r} is {described!r}", "give one range, for example {uniform: [0, 1]}")
    if not isinstance(condition, dict):
        raise InvalidInput(f"parameter {name!r}: when is {condition!r}", "write for example when: {kernel: [rbf]}")
    ((kind, bounds),) = ranges.items()
    inner = plain_bounds(name, kind, _items(bounds))
    for other, values in cast("Mapping[str, Any]", condition).items():
        inner = ["when", [other, _items(values), inner]]
    return inner


def _items(value: Any) -> List[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def sweep_from_mapping(mapping: Mapping[str, Any]) -> SweepSpec:
    """Return the sweep that a YAML file describes; an unknown field, or one of the wrong type, is refused by name."""
    for name in mapping:
        if name not in _FIELDS:
            raise InvalidInput(f"the sweep has an unknown field {name!r}", f"the fields are {', '.join(_FIELDS)}")
    file = from_json(SweepFile, {name: value for name, value in mapping.items() if value is not None}, where="sweep")
    space = space_of(file.parameters)
    sweep = SweepSpec(
        space=space,
        objectives=_objectives(file),
        max_trials=_trials(file, space),
        max_concurrent=file.concurrent,
        max_seconds=file.minutes * 60.0,
        sampler=file.sampler,
        sampler_options=file.options,
        seed=new_seed() if file.seed is None else file.seed,
        policy=_policy(file.policy),
        constraints=_constraints(file.constraints),
        resume_from=tuple(map(str, _items(file.resume_from))),
    )
    check_sweep(sweep)
    idle = idle_policy(sweep)
    if idle is not None:
        raise InvalidInput(idle, "leave the policy out, or give it more trials to compare")
    return sweep


def _trials(file: SweepFile, space: Mapping[str, Any]) -> int:
    """Return the number of trials: by default the size of a grid. A grid that would be cut short is refused."""
    if file.sampler != "grid":
        return _TRIALS if file.trials is None else file.trials
    size = grid_size(space, MAX_TRIALS)
    limit = MAX_TRIALS if file.trials is None else file.trials
    if size > limit:
        count = f"{size:,}" if size <= MAX_TRIALS else f"more than {MAX_TRIALS:,}"
        raise InvalidInput(
            f"the grid has {count} combinations, and the limit is {limit:,} trials",
            "allow more trials, give fewer values, or use the sampler random",
        )
    return size


def _objectives(file: SweepFile) -> Tuple[Objective, ...]:
    metric: Any = file.metric
    named = cast("Mapping[str, Any]", metric) if isinstance(metric, dict) else {str(metric): file.goal}
    if not any(named):
        raise InvalidInput("the sweep has no metric to optimize", "name the metric that the script logs")
    goals: List[Tuple[str, Any]] = list(named.items())
    for text in file.objectives:
        name, separator, goal = text.rpartition(":")
        if not separator:
            raise InvalidInput(f"{text!r} is not an objective", "write for example latency:minimize")
        goals.append((name, goal))
    return tuple(Objective(name, _goal(name, goal)) for name, goal in goals)


def _constraints(constraints: Any) -> Tuple[Constraint, ...]:
    """Return the constraints of a list of texts like `memory<=100`, or of a mapping {memory: {at_most: 100}}."""
    if not isinstance(constraints, dict):
        return tuple(_constraint(str(text)) for text in _items(constraints))
    bounded: List[Constraint] = []
    for name, bounds in cast("Mapping[str, Any]", constraints).items():
        if not isinstance(bounds, dict):
            raise InvalidInput(f"the constraint on {name!r} is {bounds!r}", "write for example {at_most: 100}")
        read = {"metric": name, **cast("Mapping[str, Any]", bounds)}
        bounded.append(from_json(Constraint, read, strict=True, where=f"constraints.{name}"))
    return tuple(bounded)


def _constraint(text: str) -> Constraint:
    for sign, side in (("<=", "at_most"), (">=", "at_least")):
        metric, separator, bound = text.partition(sign)
        if separator:
            try:
                return Constraint(metric.strip(), **{side: float(bound)})
            except ValueError:
                break
    raise InvalidInput(f"{text!r} is not a constraint", "write for example 'memory<=100' or 'f1>=0.8'")


def _goal(metric: str, goal: Any) -> str:
    if goal not in (MAXIMIZE, MINIMIZE):
        raise InvalidInput(
            f"the goal of {metric!r} is {goal!r}", f"say {MINIMIZE} or {MAXIMIZE}: --minimize or --maximize"
        )
    return str(goal)


def _policy(policy: Any) -> Policy:
    read: Any = {"kind": policy} if isinstance(policy, str) else policy
    if not isinstance(read, dict) or "kind" not in read:
        raise InvalidInput(f"policy is {policy!r}", "write for example {kind: bandit, slack_factor: 0.1}")
    return from_json(Policy, read, strict=True, where="policy")
