"""`footplate sweep`: search for hyperparameters, and look at the trials."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import Any, cast

import click

from footplate.cli.console import ago, counted, emit, emit_or_echo, emit_or_say, number, say
from footplate.cli.context import (
    find_run,
    in_workspace,
    in_workspace_with_json,
    json_option,
    open_workspace,
    workspace_option,
)
from footplate.cli.main import Command, Noun, Unusable
from footplate.cli.run import experiment_name
from footplate.cli.run_config import ENVIRONMENTS, SHARED_OPTIONS, config_options, make_run_config
from footplate.cli.sweep_view import parameters, print_trials, say_end, watch
from footplate.cli.tables import print_list, print_table
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.experiment import experiment_for_first_run
from footplate.sdk.handles import HYPERDRIVE
from footplate.sdk.sweep_run import HyperDriveRun
from footplate.sdk.tuning.submission import submit_trials
from footplate.sdk.tuning.sweep_file import parse_expression, sweep_from_mapping
from footplate.sdk.values import yaml
from footplate.sdk.workspace import Workspace

_EPILOG = """\b
Values of a parameter:
  2,4,8                   one of these
  uniform:0.1..0.9        evenly between the bounds
  loguniform:1e-5..1e-1   evenly in the logarithm; the bounds are values
  quniform:16..256:16     evenly, in steps of 16; also qloguniform
  normal:0..1             mean and standard deviation; also lognormal
  qnormal:50..10:5        the same in steps of 5; also qlognormal
  randint:10              a whole number from 0 to 9

A parameter that is named like an option of this command needs a YAML file. Options of `footplate run` that are missing
here are fields of a --run-config file.
"""

_FILES = ("requirements", "conda", "env_file", "run_config")


class SweepCommands(Noun):
    """`footplate sweep train.py …` and `footplate sweep FILE.yaml` are the command `run` without its name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and (os.path.exists(args[0]) or args[0].endswith((".py", ".yaml"))):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=SweepCommands)
def sweep() -> None:
    """Search for hyperparameters.

    \b
      footplate sweep train.py --lr loguniform:1e-5..1e-1 --layers 2,4,8 \\
          --metric val_loss --minimize --trials 50
      footplate sweep FILE.yaml
    """


@sweep.command(cls=Command, epilog=_EPILOG, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.option("--metric", metavar="NAME", help="The metric that the script logs.")
@click.option("--minimize", "goal", flag_value=MINIMIZE, help="A smaller metric is better.")
@click.option("--maximize", "goal", flag_value=MAXIMIZE, help="A larger metric is better.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME:GOAL", help="Another metric: latency:minimize.")
@click.option("--constraint", "constraints", multiple=True, metavar="BOUND", help="A bound: 'memory<=100', 'f1>=0.8'.")
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Trials in all.  [default: 20, or the whole grid]")
@click.option("--concurrent", type=click.IntRange(1), metavar="N", help="Trials at the same time.  [default: 2]")
@click.option("--sampler", metavar="NAME", help="random, grid, tpe, cmaes, gp, qmc, or one of settings.ini.")
@click.option("--policy", metavar="KIND", help="Early termination: median, asha, …; its fields need a YAML file.")
@click.option("--resume-from", multiple=True, metavar="RUN", help="A sweep whose trials teach the sampler.")
@click.option("--seed", type=int, metavar="N", help="Makes the sweep repeatable.")
@click.option("-e", "--experiment", metavar="NAME", help="The experiment.  [default: the script's name]")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="N",
              help="End the sweep and its trials after this time.  [default: one week]")  # fmt: skip
@click.option("--wait/--no-wait", default=True, show_default=True, help="Show the trials until the sweep ends.")
@functools.partial(config_options, options=SHARED_OPTIONS)
@workspace_option
@json_option
@click.pass_context
def run(ctx: click.Context, script: str, wait: bool, workspace_name: str | None, as_json: bool, **given: Any) -> int:
    """Sweep over the parameters of a script, given as `--name 2,4,8` or `--name uniform:0..1`, or over a YAML file."""
    settings = _settings(script, ctx.args, {name: value for name, value in given.items() if value not in (None, ())})
    workspace = open_workspace(workspace_name)
    spec = sweep_from_mapping({"concurrent": 2, **settings})
    named = settings.get("experiment") or experiment_name(settings["script"])
    script_config = _make_script_config(workspace, settings)
    experiment = experiment_for_first_run(workspace, named)
    submitted = HyperDriveRun.from_view(experiment, submit_trials(experiment, script_config, spec))
    if not wait:
        emit_or_echo(as_json, {"id": submitted.id}, submitted.id)
        say(f"watch it with: footplate sweep show {submitted.id}")
        return 0
    say(f"submitted {submitted.id}")
    return watch(submitted, spec, as_json)


@sweep.command("list")
@in_workspace_with_json
def list_sweeps(workspace: Workspace, as_json: bool) -> None:
    """List sweeps, the newest first."""
    views = list(workspace.session.api.runs.list(workspace.id, type=HYPERDRIVE))
    columns = ["sweep", "status", "experiment", "created"]
    print_list(as_json, views, "no sweeps", columns, lambda v: [v.id, v.status, v.experiment, ago(v.created)])


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@in_workspace_with_json
def show(run_id: str, workspace: Workspace, as_json: bool) -> None:
    """Show the trials of a sweep: parameters, the best value of each, and why some were stopped."""
    sweep_run = _find(workspace, run_id)
    trials = sweep_run.get_trials()
    if as_json:
        emit(trials)
        return
    print_trials(sweep_run, trials, sweep_run.sweep)
    say_end(sweep_run, trials, sweep_run.sweep)


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@in_workspace_with_json
def best(run_id: str, workspace: Workspace, as_json: bool) -> int:
    """Print the best trial: its run, its value and its parameters; with several objectives, the Pareto front."""
    sweep_run = _find(workspace, run_id)
    spec = sweep_run.sweep
    trials = sweep_run.get_pareto_front()
    if not trials:
        say(f"no trial of {sweep_run.id} has logged {spec.primary.metric} within all constraints")
        return 1
    if as_json:
        emit(trials if len(spec.objectives) > 1 else trials[0])
        return 0
    for trial in trials:
        values = "  ".join(f"{o.metric} {number(v)}" for o, v in zip(spec.objectives, trial.values, strict=True))
        click.echo(f"{trial.run}  {values}  {parameters(trial)}")
    return 0


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@in_workspace_with_json
def analyze(run_id: str, workspace: Workspace, as_json: bool) -> None:
    """Show which parameters matter; `--json` adds every trial as parallel coordinates."""
    analysis = _find(workspace, run_id).get_analysis()
    if as_json:
        emit(analysis)
    elif analysis.note is not None:
        say(f"no importance: {analysis.note}")
    else:
        rows = [
            [name.lstrip("-"), f"{share:.0%}", "█" * round(share * 40)] for name, share in analysis.importance.items()
        ]
        print_table(["parameter", "importance", ""], rows, right=["importance"])


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@click.option("--optuna", "storage", required=True, metavar="URL", help="The storage, for example sqlite:///study.db.")
@click.option("--name", metavar="NAME", help="The name of the study.  [default: the sweep's id]")
@in_workspace_with_json
def export(run_id: str, storage: str, name: str | None, workspace: Workspace, as_json: bool) -> None:
    """Write a sweep to a new Optuna study, for optuna.load_study and Optuna Dashboard."""
    study = _find(workspace, run_id).to_optuna(storage, name)
    count = len(study.trials)
    facts = {"study": study.study_name, "storage": storage, "trials": count}
    emit_or_say(as_json, facts, f"wrote {counted(count, 'trial')} to the study {study.study_name!r} in {storage}")


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@in_workspace
def stop(run_id: str, workspace: Workspace) -> None:
    """Cancel a sweep and the trials that still run."""
    sweep_run = _find(workspace, run_id)
    status = sweep_run.get_status()
    if status in TERMINAL:
        raise Unusable(f"sweep {sweep_run.id} has ended as {status}", f"see: footplate sweep show {sweep_run.id}")
    sweep_run.cancel()
    say(f"{sweep_run.id} ends; continue it later with: footplate sweep resume {sweep_run.id}")


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@in_workspace
def resume(run_id: str, workspace: Workspace) -> None:
    """Continue a sweep that was stopped or failed: unfinished trials run again, and the others follow."""
    sweep_run = _find(workspace, run_id)
    sweep_run.restart()
    say(f"{sweep_run.id} goes on; watch it with: footplate sweep show {sweep_run.id}")


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _settings(script: str, arguments: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a YAML file, or of a script and its parameters; options win over the file."""
    options = {{"variables": "env"}.get(name, name): value for name, value in options.items()}
    if not script.endswith((".yaml", ".yml")):
        return {"script": script, "parameters": _parameters_of(arguments), **options}
    if arguments:
        raise Unusable(f"{arguments[0]!r} is not an option of a sweep from a file", f"add it to {script}")
    settings: Any = yaml.load_file(script)
    values = cast("dict[str, Any]", settings) if isinstance(settings, dict) else {}
    if not values.get("script"):
        raise Unusable(f"{script} does not name a script", "add a line such as script: train.py")
    return {**_of_file(values, script, options), **options}


def _of_file(settings: dict[str, Any], path: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a file for these options: paths start at its folder, an environment is replaced whole."""
    folder = os.path.dirname(path)
    merged = {**settings, "script": os.path.join(folder, str(settings["script"]))}
    for name in (name for name in _FILES if merged.get(name)):
        beside = os.path.join(folder, str(merged[name]))
        if os.path.exists(beside):
            merged[name] = beside
        elif not os.path.exists(str(merged[name])):
            raise Unusable(f"{name} of {path} is {merged[name]!r}, which does not exist", f"there is no {beside}")
    if any(name in given for name in ENVIRONMENTS):
        merged = {name: value for name, value in merged.items() if name not in ENVIRONMENTS}
    for name in ("env", "inputs"):  # both: parts of one name, of which the last one counts
        if name in given:
            given[name] = [*_texts(merged, name), *given[name]]
    return merged


def _texts(settings: Mapping[str, Any], name: str) -> list[str]:
    """Return NAME=VALUE texts of a field that holds them, or a mapping."""
    values: Any = settings.get(name) or ()
    if isinstance(values, dict):
        pairs = cast("dict[str, Any]", values)
        if not any(isinstance(value, (dict, list)) for value in pairs.values()):
            return [f"{key}={_text(value)}" for key, value in pairs.items()]
    elif isinstance(values, (list, tuple)) and all(isinstance(each, str) for each in cast("list[Any]", values)):
        return list(cast("list[str]", values))
    raise Unusable(f"{name} of the sweep is {values!r}", f"write it as {name}: {{NAME: VALUE}}")


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _parameters_of(arguments: list[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    rest = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        name = rest.pop(0)
        if not name.startswith("--") or not rest:
            raise Unusable(f"{name!r} is not a parameter", "give parameters as --name 2,4,8 or --name uniform:0..1")
        if name[2:] in parameters:
            raise Unusable(f"parameter {name!r} is given twice", f"give all its values at once: {name} 2,4,8")
        parse_expression(name[2:], rest[0])  # refuse it before anything is read or sent
        parameters[name[2:]] = rest.pop(0)
    return parameters


def _make_script_config(workspace: Workspace, settings: dict[str, Any]) -> ScriptRunConfig:
    path = settings["script"]
    options = {**settings, "variables": _texts(settings, "env"), "inputs": _texts(settings, "inputs")}
    return ScriptRunConfig(
        os.path.dirname(path) or ".",
        script=os.path.basename(path),
        arguments=settings.get("arguments"),
        run_config=make_run_config(workspace, options),
    )


def _find(workspace: Workspace, run_id: str) -> HyperDriveRun:
    if run_id == "latest":
        newest = next(workspace.session.api.runs.list(workspace.id, type=HYPERDRIVE, limit=1), None)
        if newest is None:
            raise Unusable(f"workspace {workspace.name} has no sweeps", "submit one: see footplate sweep --help")
        run_id = newest.id
    run, _ = find_run(workspace, run_id)
    if not isinstance(run, HyperDriveRun):
        raise Unusable(f"run {run.id} is not a sweep", "see: footplate sweep list")
    return run
