"""Sweeps as Optuna studies, for `optuna.load_study` and Optuna Dashboard. Needs Optuna where it is called."""

from __future__ import annotations

import importlib
import json
import math
import warnings
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional, Sequence

from footplate.domain.tuning import search_space
from footplate.domain.tuning.sweeps import Constraint, SweepSpec, TrialView
from footplate.sdk.exceptions import UserErrorException

_SIGMAS = 6.0
_PLAIN = (bool, int, float, str, type(None))


def export_study(
    sweep: SweepSpec, trials: Sequence[TrialView], series: Mapping[str, Sequence[float]], storage: Any, name: str
) -> Any:
    """Write the trials to a new study and return it. `series` has the values of the primary metric by run."""
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = [objective.goal for objective in sweep.objectives]
    try:
        study = optuna.create_study(directions=directions, storage=storage, study_name=name)
    except optuna.exceptions.DuplicatedStudyError:
        raise UserErrorException(
            f"study {name!r} exists in {storage}", hint="give another name, or delete it"
        ) from None
    except Exception as error:  # whatever the storage's own library raises for an address that it does not know
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserErrorException(
            f"the storage {storage!r} cannot be opened: {reason}", hint="give for example sqlite:///study.db"
        ) from None
    if len(directions) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna calls it experimental
            study.set_metric_names([objective.metric for objective in sweep.objectives])
    values = _values_by_name(trials)
    study.add_trials([_frozen(optuna, sweep, trial, series.get(trial.run, ()), values) for trial in trials])
    return study


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise UserErrorException("Optuna is not installed here", hint="pip install 'footplate[tuning]'") from None


def _values_by_name(trials: Sequence[TrialView]) -> Dict[str, List[Any]]:
    values: Dict[str, List[Any]] = {}
    for trial in trials:
        for name, value in trial.parameters.items():
            values.setdefault(name, []).append(value)
    return values


def _frozen(
    optuna: Any, sweep: SweepSpec, trial: TrialView, series: Sequence[float], values: Mapping[str, List[Any]]
) -> Any:
    applied = {name: search_space.unconditional(name, sweep.space[name], trial.parameters) for name in trial.parameters}
    frozen = optuna.trial.create_trial(
        state=_state(optuna, trial),
        values=list(trial.values) or None,
        params={name: _value(value) for name, value in trial.parameters.items()},
        distributions={
            name: _distribution(optuna.distributions, kind, arguments, values[name])
            for name, (kind, arguments) in ((n, pair) for n, pair in applied.items() if pair is not None)
        },
        intermediate_values={step: value for step, value in enumerate(series) if len(sweep.objectives) == 1},
        constraints=_violations(sweep, trial),
        user_attrs={"run": trial.run, "status": trial.status, "stopped": trial.stopped},
    )
    frozen.datetime_start = _time(trial.started) or datetime.now()
    frozen.datetime_complete = (_time(trial.ended) or datetime.now()) if frozen.state.is_finished() else None
    return frozen


def _violations(sweep: SweepSpec, trial: TrialView) -> Dict[str, float]:
    """Return by how much a trial breaks each constraint: without bounds if it has not logged all their metrics."""
    names = [f"{c.metric} {'>=' if c.at_most is None else '<='} {_bound(c):g}" for c in sweep.constraints]
    return dict(zip(names, trial.violations or [math.inf] * len(names)))


def _bound(constraint: Constraint) -> float:
    return (constraint.at_least or 0.0) if constraint.at_most is None else constraint.at_most


def _state(optuna: Any, trial: TrialView) -> Any:
    states = optuna.trial.TrialState
    if trial.ended is None:
        return states.RUNNING
    if not trial.values:
        return states.FAIL
    return states.PRUNED if trial.stopped or trial.paused else states.COMPLETE


def _distribution(distributions: Any, kind: str, arguments: List[Any], values: List[Any]) -> Any:
    """Return the range of a parameter. It covers all values: rounding may have left the bounds."""
    if kind == "choice":
        return distributions.CategoricalDistribution([_value(option) for option in arguments])
    if kind == "randint":
        return distributions.IntDistribution(0, arguments[0] - 1)
    first, second = float(arguments[0]), float(arguments[1])
    low, high = (first - _SIGMAS * second, first + _SIGMAS * second) if "normal" in kind else (first, second)
    if "log" in kind:
        low, high = math.exp(low), math.exp(high)
    low, high = min(low, *values, low), max(high, *values, high)
    return distributions.FloatDistribution(low, high, log="log" in kind and low > 0)


def _value(value: Any) -> Any:
    return value if isinstance(value, _PLAIN) else json.dumps(value)


def _time(seconds: Optional[float]) -> Optional[datetime]:
    return None if seconds is None else datetime.fromtimestamp(seconds)
