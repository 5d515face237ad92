"""A sweep as a client describes it, and its trials as people see them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from footplate.domain.codec import from_json, to_json
from footplate.domain.runs.controllers import ChildMetric
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.domain.tuning import search_space
from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE, NO_POLICY, Policy, check_policy
from footplate.errors import InvalidInput

MAX_TRIALS = 10_000
KIND = "sweep"
"""The kind of controller."""

TEMPLATE = "trial"
"""The key under which a sweep's controller keeps the specification of its trials."""

HYPERPARAMETERS = "footplate.hyperparameters"
"""The property in which a trial keeps its values, as JSON."""

WEEK_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Objective:
    """A metric that trials log, and the direction in which it is better."""

    metric: str
    goal: str = MAXIMIZE


@dataclass(frozen=True)
class Constraint:
    """A metric whose last value must stay within a bound; a trial that breaks it is never the best."""

    metric: str
    at_most: Optional[float] = None
    at_least: Optional[float] = None

    def violation(self, value: float) -> float:
        """Return by how much a value is out of bounds; 0 or less if it is not."""
        if self.at_most is not None:
            return value - self.at_most
        return (self.at_least or 0.0) - value


@dataclass(frozen=True)
class PastTrial:
    """A trial of an earlier sweep that teaches the sampler: its parameters, and its best values."""

    parameters: Dict[str, Any]
    values: Tuple[float, ...]


@dataclass(frozen=True)
class SweepSpec:
    """Everything that decides which trials a sweep has; how each of them runs is the template beside it."""

    space: Dict[str, Any]
    objectives: Tuple[Objective, ...]
    max_trials: int
    max_concurrent: Optional[int] = None  # None: all at once
    max_seconds: float = WEEK_SECONDS
    sampler: str = "random"
    sampler_options: Dict[str, Any] = field(default_factory=lambda: {})
    seed: int = 0
    policy: Policy = NO_POLICY
    constraints: Tuple[Constraint, ...] = ()
    resume_from: Tuple[str, ...] = ()  # earlier sweeps whose trials teach the sampler
    resume_trials: Tuple[str, ...] = ()  # single trials that do
    past: Tuple[PastTrial, ...] = ()  # the trials of both, which the client has read

    @property
    def primary(self) -> Objective:
        return self.objectives[0]


@dataclass(frozen=True)
class TrialView:
    """One trial: its run, its values, the best of its primary metric, and why it was stopped early."""

    number: int
    run: str
    parameters: Dict[str, Any]
    status: str
    best: Optional[float] = None
    values: Tuple[float, ...] = ()  # the best of each objective
    intervals: int = 0
    stopped: Optional[str] = None
    violations: Tuple[float, ...] = ()  # by how much each constraint is broken; 0 or less: it is not
    is_feasible: bool = True  # no constraint is broken
    is_best: bool = False  # of all feasible trials, or on the Pareto front of several objectives
    paused: int = 0  # the interval at which the policy has paused it
    source: Optional[int] = None  # the trial whose outputs it began with
    started: Optional[float] = None
    ended: Optional[float] = None


@dataclass(frozen=True)
class Axis:
    """One axis of a parallel-coordinates plot: a parameter or an objective, and its value in each trial."""

    name: str
    values: Tuple[Any, ...]  # in the order of `SweepAnalysis.trials`; None where it does not apply
    low: Optional[float] = None
    high: Optional[float] = None
    is_log: bool = False
    options: Tuple[Any, ...] = ()  # of a choice


@dataclass(frozen=True)
class SweepAnalysis:
    """The results of a sweep: the best trials, the parameters that matter, and all values side by side."""

    trials: Tuple[int, ...]  # numbers of those that have logged every objective
    best: Tuple[int, ...]  # the best, or the Pareto front
    axes: Tuple[Axis, ...]
    importance: Dict[str, float] = field(default_factory=lambda: {})  # shares of the primary metric's variation
    note: Optional[str] = None  # why there is no importance


def best_of(summary: Optional[ChildMetric], goal: str) -> Optional[float]:
    """Return the best value over a whole series, as Azure does, and not the last; None without a number."""
    if summary is None:
        return None
    value = summary.max if goal == MAXIMIZE else summary.min
    return None if value is None or not math.isfinite(value) else value


def best_values(
    spec: SweepSpec, metrics: Mapping[str, ChildMetric]
) -> Tuple[Optional[List[float]], Optional[List[float]]]:
    """Return the best value of each objective, and by how much each constraint is broken; None if one is missing."""
    values = [best_of(metrics.get(objective.metric), objective.goal) for objective in spec.objectives]
    last = [metrics[each.metric].last if each.metric in metrics else None for each in spec.constraints]
    violations = [each.violation(value) for each, value in zip(spec.constraints, last) if value is not None]
    present = [value for value in values if value is not None]
    is_complete = len(violations) == len(spec.constraints) and all(map(math.isfinite, violations))
    return (present if len(present) == len(values) else None), (violations if is_complete else None)


def mark_best(trials: List[TrialView], spec: SweepSpec) -> List[TrialView]:
    """Return the trials with `is_best` set: on the best feasible one, or on those of the Pareto front."""
    signs = [1.0 if objective.goal == MAXIMIZE else -1.0 for objective in spec.objectives]
    points = {
        trial.number: tuple(sign * value for sign, value in zip(signs, trial.values))
        for trial in trials
        if trial.values and trial.is_feasible
    }
    front = set(_front(points))
    return [replace(trial, is_best=True) if trial.number in front else trial for trial in trials]


def _front(points: Mapping[int, Tuple[float, ...]]) -> List[int]:
    """Return the points that no other one dominates; of equal ones the first. All values are to be maximized."""
    front: List[int] = []
    for number in sorted(points, key=lambda number: (tuple(-value for value in points[number]), number)):
        point = points[number]
        if not any(all(a >= b for a, b in zip(points[other], point)) for other in front):
            front.append(number)
    return front


def sweep_of(spec: ControllerSpec) -> SweepSpec:
    """Return the sweep that a group's controller carries out."""
    return from_json(SweepSpec, spec.options)


def controller_of(sweep: SweepSpec, trial: RunSpec) -> ControllerSpec:
    """Return the controller that carries out a sweep of trials like this one."""
    return ControllerSpec(
        KIND,
        options=to_json(sweep),
        children={TEMPLATE: trial},
        metrics=tuple(dict.fromkeys(each.metric for each in (*sweep.objectives, *sweep.constraints))),
        interval=0 if sweep.policy.kind == "none" else 1,
    )


def check_sweep(spec: SweepSpec) -> None:
    """Raise InvalidInput, naming the field, for a sweep that cannot work."""
    search_space.check_space(spec.space)
    if not spec.objectives or not all(objective.metric for objective in spec.objectives):
        raise InvalidInput("the sweep has no metric to optimize", "name the metric that the script logs")
    for objective in spec.objectives:
        if objective.goal not in (MAXIMIZE, MINIMIZE):
            raise InvalidInput(
                f"the goal of {objective.metric!r} is {objective.goal!r}", f"use {MAXIMIZE} or {MINIMIZE}"
            )
    for words, value in (("trials", spec.max_trials), ("trials at once", spec.max_concurrent)):
        if value is not None and (isinstance(value, bool) or not 1 <= value <= MAX_TRIALS):
            raise InvalidInput(f"the sweep has {value!r} {words}", f"give 1 to {MAX_TRIALS:,}")
    if not 0 < spec.max_seconds < float("inf"):
        raise InvalidInput(f"the time limit of the sweep is {spec.max_seconds:g} s", "give a positive time")
    if spec.sampler == "grid" and search_space.grid_size(spec.space, MAX_TRIALS) > MAX_TRIALS:
        raise InvalidInput(f"the grid has more than {MAX_TRIALS:,} combinations", "give fewer values")
    for constraint in spec.constraints:
        _check_constraint(constraint)
    check_policy(spec.policy)
    _check_policy_applies(spec)


def population_of(spec: SweepSpec) -> int:
    """Return how many trials of population-based training the sampler draws; copies come on top."""
    return min(spec.max_trials, spec.policy.population or spec.max_concurrent or spec.max_trials)


def idle_policy(spec: SweepSpec) -> Optional[str]:
    """Say why the policy of a sweep can never stop a trial; None if it can, or if there is no policy."""
    kind = spec.policy.kind
    trials = spec.max_trials
    share = spec.policy.truncation_percentage or 0
    if kind != "none" and trials == 1:
        return f"policy {kind} compares trials, and there is one: it will stop nothing"
    if kind == "truncation" and trials * share < 100:
        return f"{share} % of {trials} trials is less than one: the policy will stop nothing"
    return None


def _check_constraint(constraint: Constraint) -> None:
    bounds = [bound for bound in (constraint.at_most, constraint.at_least) if bound is not None]
    if not constraint.metric or len(bounds) != 1 or not math.isfinite(bounds[0]):
        raise InvalidInput(
            f"the constraint on {constraint.metric!r} has the bounds {bounds!r}",
            "name a metric, and give exactly one of at_most and at_least",
        )


def _check_policy_applies(spec: SweepSpec) -> None:
    kind = spec.policy.kind
    if kind != "none" and len(spec.objectives) > 1:
        raise InvalidInput(
            f"policy {kind} needs one objective, and there are {len(spec.objectives)}",
            "leave the policy out, or optimize one metric",
        )
    if kind == "asha" and spec.policy.promote and spec.max_trials < spec.policy.reduction_factor:
        raise InvalidInput(
            f"one trial in {spec.policy.reduction_factor} is promoted, and there are {spec.max_trials}: none would end",
            "give more trials, a smaller reduction_factor, or no promote",
        )
    if kind == "pbt" and population_of(spec) >= spec.max_trials:
        raise InvalidInput(
            f"the population takes all {spec.max_trials} trials, and a copy counts as one: none would be replaced",
            "give more trials than the population has",
        )
