"""A sweep as a client describes it, and its trials as people see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.codec import from_json, to_json
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
    resume_from: Tuple[str, ...] = ()  # earlier sweeps whose trials teach the sampler
    resume_trials: Tuple[str, ...] = ()  # single trials that do

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
    started: Optional[float] = None
    ended: Optional[float] = None


def sweep_of(spec: ControllerSpec) -> SweepSpec:
    """Return the sweep that a group's controller carries out."""
    return from_json(SweepSpec, spec.options)


def controller_of(sweep: SweepSpec, trial: RunSpec) -> ControllerSpec:
    """Return the controller that carries out a sweep of trials like this one."""
    return ControllerSpec(
        KIND,
        options=to_json(sweep),
        children={TEMPLATE: trial},
        metrics=tuple(objective.metric for objective in sweep.objectives),
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
    for name, value in (("max_trials", spec.max_trials), ("max_concurrent", spec.max_concurrent)):
        if value is not None and (isinstance(value, bool) or not 1 <= value <= MAX_TRIALS):
            raise InvalidInput(f"{name} is {value!r}", f"give 1 to {MAX_TRIALS:,}")
    if not spec.max_seconds > 0:
        raise InvalidInput(f"max_seconds is {spec.max_seconds:g}", "give a positive number of seconds")
    check_policy(spec.policy)
    _check_policy_applies(spec)


def _check_policy_applies(spec: SweepSpec) -> None:
    kind, trials = spec.policy.kind, spec.max_trials
    if kind == "none":
        return
    if trials == 1:
        raise InvalidInput(f"policy {kind} compares trials, and max_trials is 1", "leave the policy out")
    if kind == "truncation" and trials * (spec.policy.truncation_percentage or 0) < 100:
        raise InvalidInput(
            f"{spec.policy.truncation_percentage} % of {trials} trials is less than one: nothing would ever be stopped",
            "give a higher truncation_percentage or more trials",
        )
    if len(spec.objectives) > 1:
        raise InvalidInput(
            f"policy {kind} needs one objective, and there are {len(spec.objectives)}",
            "leave the policy out, or optimize one metric",
        )
