"""Warm starts: trials of earlier sweeps that teach the sampler of a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List

from footplate.api import ApiClient
from footplate.domain.records import RunView
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.tuning.sweeps import PastTrial, SweepSpec, TrialView, sweep_of
from footplate.sdk.tuning.exceptions import HyperDriveConfigException


def with_past(api: ApiClient, sweep: SweepSpec) -> SweepSpec:
    """Return the sweep with the trials that `resume_from` and `resume_trials` name."""
    trials: Dict[str, TrialView] = {}
    for parent in sweep.resume_from:
        view = api.runs.get(parent)
        _check(view, sweep, "resume_from")
        trials.update((trial.run, trial) for trial in api.runs.trials(parent))
    for run in sweep.resume_trials:
        trials[run] = _trial(api, run, sweep)
    past = tuple(PastTrial(trial.parameters, trial.values) for trial in trials.values() if trial.values)
    return replace(sweep, past=past) if past else sweep


def earlier_trials(api: ApiClient, sweep: SweepSpec) -> List[TrialView]:
    """Return the trials of earlier sweeps that count for the best run."""
    trials = [trial for parent in sweep.resume_from for trial in api.runs.trials(parent)]
    return trials + [_trial(api, run, sweep) for run in sweep.resume_trials]


def _trial(api: ApiClient, run: str, sweep: SweepSpec) -> TrialView:
    parent = api.runs.get(run).parent
    if parent is None:
        raise HyperDriveConfigException(f"resume_child_runs: run {run} is not a trial", hint="give children of a sweep")
    _check(api.runs.get(parent), sweep, "resume_child_runs")
    return next(trial for trial in api.runs.trials(parent) if trial.run == run)


def _check(view: RunView, sweep: SweepSpec, where: str) -> None:
    """Raise for a sweep that is not comparable with this one, or that has not ended."""
    controller = view.spec.controller if view.spec is not None else None
    if controller is None or controller.kind != "sweep":
        raise HyperDriveConfigException(f"{where}: run {view.id} is not a sweep", hint="give a HyperDriveRun")
    theirs = sweep_of(controller).objectives
    if theirs != sweep.objectives:
        goals = ", ".join(f"{objective.goal} {objective.metric}" for objective in theirs)
        raise HyperDriveConfigException(
            f"{where}: sweep {view.id} has other objectives: {goals}", hint="resume sweeps of the same metric and goal"
        )
    if view.status not in TERMINAL:
        raise HyperDriveConfigException(
            f"{where}: sweep {view.id} is {view.status}", hint="wait until it has ended, or cancel it"
        )
