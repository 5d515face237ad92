"""`footplate sweep`: search for hyperparameters, and look at the trials."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import Any, cast

import click

from footplate.cli.console import ago, counted, emit, number, say
from footplate.cli.context import find_run, json_option, open_workspace, workspace_option
from footplate.cli.main import Command, Noun, Unusable
from footplate.cli.run import experiment_name
from footplate.cli.run_config import ENVIRONMENTS, SHARED_OPTIONS, config_options, make_run_config
from footplate.cli.sweep_view import parameters, print_trials, say_end, watch
from footplate.cli.tables import table
from footplate.domain.codec import to_json
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
    script_config = _script(workspace, settings)
    experiment = experiment_for_first_run(workspace, named)
    submitted = HyperDriveRun.from_view(experiment, submit_trials(experiment, script_config, spec))
    if not wait:
        emit({"id": submitted.id}) if as_json else click.echo(submitted.id)
        say(f"watch it with: footplate sweep show {submitted.id}")
        return 0
    say(f"submitted {submitted.id}")
    return watch(submitted, spec, as_json)


@sweep.command("list")
@workspace_option
@json_option
def list_sweeps(workspace_name: str | None, as_json: bool) -> None:
    """List sweeps, the newest first."""
    workspace = open_workspace(workspace_name)
    found = list(workspace.session.api.runs.list(workspace.id, type=HYPERDRIVE))
    if as_json:
        emit([to_json(view) for view in found])
    elif not found:
        say("no sweeps")
    else:
        rows = [[view.id, view.status, view.experiment, ago(view.created)] for view in found]
        table(["sweep", "status", "experiment", "created"], rows)


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
@json_option
def show(run_id: str, workspace_name: str | None, as_json: bool) -> None:
    """Show the trials of a sweep: parameters, the best value of each, and why some were stopped."""
    found = _find(run_id, workspace_name)
    trials, spec = found.get_trials(), found.sweep
    if as_json:
        emit([to_json(trial) for trial in trials])
        return
    print_trials(found, trials, spec)
    say_end(found, trials, spec)


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
@json_option
def best(run_id: str, workspace_name: str | None, as_json: bool) -> int:
    """Print the best trial: its run, its value and its parameters; with several objectives, the Pareto front."""
    found = _find(run_id, workspace_name)
    spec, trials = found.sweep, found.get_pareto_front()
    if not trials:
        say(f"no trial of {found.id} has logged {spec.primary.metric} within all constraints")
        return 1
    if as_json:
        emit(to_json(trials if len(spec.objectives) > 1 else trials[0]))
        return 0
    for trial in trials:
        values = "  ".join(f"{o.metric} {number(v)}" for o, v in zip(spec.objectives, trial.values, strict=True))
        click.echo(f"{trial.run}  {values}  {parameters(trial)}")
    return 0


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
@json_option
def analyze(run_id: str, workspace_name: str | None, as_json: bool) -> None:
    """Show which parameters matter; `--json` adds every trial as parallel coordinates."""
    found = _find(run_id, workspace_name).get_analysis()
    if as_json:
        emit(to_json(found))
    elif found.note is not None:
        say(f"no importance: {found.note}")
    else:
        rows = [[name.lstrip("-"), f"{share:.0%}", "█" * round(share * 40)] for name, share in found.importance.items()]
        table(["parameter", "importance", ""], rows, right=["importance"])


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@click.option("--optuna", "storage", required=True, metavar="URL", help="The storage, for example sqlite:///study.db.")
@click.option("--name", metavar="NAME", help="The name of the study.  [default: the sweep's id]")
@workspace_option
@json_option
def export(run_id: str, storage: str, name: str | None, workspace_name: str | None, as_json: bool) -> None:
    """Write a sweep to a new Optuna study, for optuna.load_study and Optuna Dashboard."""
    study = _find(run_id, workspace_name).to_optuna(storage, name)
    count = len(study.trials)
    if as_json:
        emit({"study": study.study_name, "storage": storage, "trials": count})
    else:
        say(f"wrote {counted(count, 'trial')} to the study {study.study_name!r} in {storage}")


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
def stop(run_id: str, workspace_name: str | None) -> None:
    """Cancel a sweep and the trials that still run."""
    found = _find(run_id, workspace_name)
    status = found.get_status()
    if status in TERMINAL:
        raise Unusable(f"sweep {found.id} has ended as {status}", f"see: footplate sweep show {found.id}")
    found.cancel()
    say(f"{found.id} ends; continue it later with: footplate sweep resume {found.id}")


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
def resume(run_id: str, workspace_name: str | None) -> None:
    """Continue a sweep that was stopped or failed: unfinished trials run again, and the others follow."""
    found = _find(run_id, workspace_name)
    found.restart()
    say(f"{found.id} goes on; watch it with: footplate sweep show {found.id}")


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _settings(script: str, arguments: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a YAML file, or of a script and its parameters; options win over the file."""
    given = {{"variables": "env"}.get(name, name): value for name, value in given.items()}
    if not script.endswith((".yaml", ".yml")):
        return {"script": script, "parameters": _parameters_of(arguments), **given}
    if arguments:
        raise Unusable(f"{arguments[0]!r} is not an option of a sweep from a file", f"add it to {script}")
    settings: Any = yaml.load_file(script)
    if not isinstance(settings, dict) or not settings.get("script"):  # pyright: ignore[reportUnknownMemberType]
        raise Unusable(f"{script} does not name a script", "add a line such as script: train.py")
    return {**_of_file(dict(settings), script, given), **given}  # pyright: ignore


def _of_file(settings: dict[str, Any], path: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a file for these options: paths start at its folder, an environment is replaced whole."""
    folder = os.path.dirname(path)
    made = {**settings, "script": os.path.join(folder, str(settings["script"]))}
    for name in (name for name in _FILES if made.get(name)):
        beside = os.path.join(folder, str(made[name]))
        if os.path.exists(beside):
            made[name] = beside
        elif not os.path.exists(str(made[name])):
            raise Unusable(f"{name} of {path} is {made[name]!r}, which does not exist", f"there is no {beside}")
    if any(name in given for name in ENVIRONMENTS):
        made = {name: value for name, value in made.items() if name not in ENVIRONMENTS}
    for name in ("env", "inputs"):  # both: parts of one name, of which the last one counts
        if name in given:
            given[name] = [*_texts(made, name), *given[name]]
    return made


def _texts(settings: Mapping[str, Any], name: str) -> list[str]:
    """Return NAME=VALUE texts of a field that holds them, or a mapping."""
    given: Any = settings.get(name) or ()
    if isinstance(given, dict):
        pairs = cast("dict[str, Any]", given)
        if not any(isinstance(value, (dict, list)) for value in pairs.values()):
            return [f"{key}={_text(value)}" for key, value in pairs.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(each, str) for each in cast("list[Any]", given)):
        return list(cast("list[str]", given))
    raise Unusable(f"{name} of the sweep is {given!r}", f"write it as {name}: {{NAME: VALUE}}")


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _parameters_of(arguments: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        name = rest.pop(0)
        if not name.startswith("--") or not rest:
            raise Unusable(f"{name!r} is not a parameter", "give parameters as --name 2,4,8 or --name uniform:0..1")
        if name[2:] in found:
            raise Unusable(f"parameter {name!r} is given twice", f"give all its values at once: {name} 2,4,8")
        parse_expression(name[2:], rest[0])  # refuse it before anything is read or sent
        found[name[2:]] = rest.pop(0)
    return found


def _script(workspace: Workspace, settings: dict[str, Any]) -> ScriptRunConfig:
    path = settings["script"]
    options = {**settings, "variables": _texts(settings, "env"), "inputs": _texts(settings, "inputs")}
    return ScriptRunConfig(
        os.path.dirname(path) or ".",
        script=os.path.basename(path),
        arguments=settings.get("arguments"),
        run_config=make_run_config(workspace, options),
    )


def _find(run_id: str, workspace_name: str | None) -> HyperDriveRun:
    if run_id == "latest":
        workspace = open_workspace(workspace_name)
        newest = next(workspace.session.api.runs.list(workspace.id, type=HYPERDRIVE, limit=1), None)
        if newest is None:
            raise Unusable(f"workspace {workspace.name} has no sweeps", "submit one: see footplate sweep --help")
        run_id = newest.id
    found, _ = find_run(run_id, workspace_name)
    if not isinstance(found, HyperDriveRun):
        raise Unusable(f"run {found.id} is not a sweep", "see: footplate sweep list")
    return found
