"""Submission of sweeps: one run that decides about trials, which are ordinary runs.

Trials of earlier sweeps can teach the sampler of a new one (warm start).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from footplate.api import ApiClient
from footplate.domain.records import RunView
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.specs import RunSpec
from footplate.domain.tuning.search_space import to_arguments
from footplate.domain.tuning.sweeps import PastTrial, SweepSpec, TrialView, controller_of, sweep_of
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.estimators.estimator import script_run_config
from footplate.sdk.exceptions import ExperimentExecutionException, Kinds, UserErrorException
from footplate.sdk.handles import HYPERDRIVE
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.runs import snapshots
from footplate.sdk.session import user_name
from footplate.sdk.submission import new_run_id, prepare_script
from footplate.sdk.tuning.config import HyperDriveConfig
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.values.labels import texts

_KINDS: Kinds = {"not_found": ExperimentExecutionException}


def submit_sweep(
    experiment: Experiment, config: HyperDriveConfig, tags: Mapping[str, Any], parent: Optional[str], **unknown: Any
) -> RunView:
    """Submit a sweep: one run that decides about trials, which are ordinary runs."""
    if unknown:
        raise UserErrorException(
            f"submit does not accept {', '.join(sorted(unknown))}", hint="a HyperDriveConfig takes tags="
        )
    script = _trial_config(experiment, config)
    return submit_trials(experiment, script, config.to_sweep(), tags, parent, config.custom_run_id)


def submit_trials(
    experiment: Experiment,
    script: ScriptRunConfig,
    sweep: SweepSpec,
    tags: Optional[Mapping[str, Any]] = None,
    parent: Optional[str] = None,
    run_id: Optional[str] = None,
) -> RunView:
    """Submit a sweep over a script."""
    session = experiment.workspace.session
    sweep = with_past(session.api_for(_KINDS), sweep)
    prepared = prepare_script(experiment, script)
    spec = RunSpec(
        experiment.name,
        kind="group",
        type=HYPERDRIVE,
        target=prepared.spec.target,
        controller=controller_of(sweep, prepared.spec),
        parent=parent,
        tags=texts(tags or {}),
        properties=dict(prepared.spec.properties),
    )
    chosen = run_id or f"HD_{new_run_id(experiment.name)}"
    view = session.api_for(_KINDS).runs.submit(experiment.workspace.id, chosen, spec, user_name())
    prepared.data.record_submission(chosen)
    snapshots.keep_diff(session, chosen, prepared.diff)
    return view


def _trial_config(experiment: Experiment, config: HyperDriveConfig) -> ScriptRunConfig:
    """Return the script of the trials. Parameters that the sweep draws are taken out of an estimator's, as on Azure."""
    if config.run_config is not None:
        return config.run_config
    assert config.estimator is not None
    tuned = set(to_arguments(config.hyperparameter_sampling.parameter_space)[::2])
    script = script_run_config(experiment.workspace, config.estimator)
    script.arguments = _without(tuned, script.arguments)
    return script


def _without(names: Set[str], arguments: Sequence[Any]) -> List[Any]:
    """Return the arguments without these options and the values behind them."""
    others: List[Any] = []
    is_kept = True
    for argument in arguments:
        if isinstance(argument, str) and argument.startswith("-") and not _is_number(argument):
            is_kept = argument not in names
        if is_kept:
            others.append(argument)
    return others


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
