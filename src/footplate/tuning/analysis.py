"""The results of a sweep: parameters that matter, and all values side by side for a plot."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Sequence
from typing import Any, cast

from footplate.domain.tuning import search_space
from footplate.domain.tuning.sweeps import Axis, PastTrial, SweepAnalysis, SweepSpec, TrialView
from footplate.errors import InvalidInput
from footplate.tuning.samplers import OptunaSampler, SamplerContext

_FEWEST = 4
"""Importance needs some trials; with fewer of them it would be noise."""


def analyze(spec: SweepSpec, trials: Sequence[TrialView]) -> SweepAnalysis:
    complete = [trial for trial in trials if trial.values]
    importance, note = _importance(spec, complete)
    return SweepAnalysis(
        trials=tuple(trial.number for trial in complete),
        best=tuple(trial.number for trial in complete if trial.is_best),
        axes=(*(_parameter(spec, name, complete) for name in spec.space), *_objectives(spec, complete)),
        importance=importance,
        note=note,
    )


def _parameter(spec: SweepSpec, name: str, trials: Sequence[TrialView]) -> Axis:
    kind, arguments = search_space.parse(name, spec.space[name])
    while kind == "when":
        kind, arguments = search_space.parse(name, arguments[2])
    values = tuple(trial.parameters.get(name) for trial in trials)
    if kind == "choice":
        return Axis(name, values, options=tuple(arguments))
    numbers = [float(value) for value in values if value is not None]
    bounds = _bounds(kind, arguments)
    low, high = min([*numbers, *bounds], default=None), max([*numbers, *bounds], default=None)
    return Axis(name, values, low, high, is_log="log" in kind)


def _bounds(kind: str, arguments: list[Any]) -> tuple[float, ...]:
    if kind == "randint":
        return 0.0, float(arguments[0] - 1)
    if "normal" in kind:
        return ()
    return tuple(math.exp(bound) if "log" in kind else float(bound) for bound in arguments[:2])


def _objectives(spec: SweepSpec, trials: Sequence[TrialView]) -> list[Axis]:
    axes: list[Axis] = []
    for index, objective in enumerate(spec.objectives):
        values = tuple(trial.values[index] for trial in trials)
        axes.append(Axis(objective.metric, values, min(values, default=None), max(values, default=None)))
    return axes


def _importance(spec: SweepSpec, trials: Sequence[TrialView]) -> tuple[dict[str, float], str | None]:
    """Return the share of each parameter in the variation of the primary metric (PED-ANOVA), or why there is none."""
    if len(trials) < _FEWEST:
        return {}, f"{len(trials)} trials have logged the metrics, and importance needs {_FEWEST}"
    past = tuple(PastTrial(trial.parameters, trial.values[:1]) for trial in trials)
    try:
        sampler = OptunaSampler(SamplerContext(spec.space, (spec.primary.goal,), 0, past=past), "tpe")
    except InvalidInput as error:
        return {}, f"{error.message}: {error.hint}"
    measures = cast("Any", importlib.import_module("optuna.importance"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "experimental" is not news to the people who read a plot
        shares = measures.get_param_importances(sampler.study, evaluator=measures.PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in shares.items()}, None
