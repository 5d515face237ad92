"""`footplate sweep`: search for hyperparameters, and look at the trials."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from footplate.cli.console import ago, counted, duration, emit, is_terminal, number, say, sparkline
from footplate.cli.context import find_run, json_option, open_workspace, workspace_option
from footplate.cli.follow import CANCELED
from footplate.cli.main import Noun, Unusable
from footplate.cli.run import experiment_name
from footplate.cli.tables import table
from footplate.domain.codec import to_json
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.targets import LOCAL
from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE
from footplate.domain.tuning.sweeps import SweepSpec, TrialView
from footplate.sdk.config import yaml_format
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.environments.environment import Environment
from footplate.sdk.runs.experiment import Experiment
from footplate.sdk.runs.run import HYPERDRIVE
from footplate.sdk.tuning.run import HyperDriveRun, submit_trials
from footplate.sdk.tuning.sweep_file import parse_expression, sweep_from_mapping

_WIDTH = 16


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


@sweep.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.option("--metric", metavar="NAME", help="The metric that the script logs.")
@click.option("--minimize", "goal", flag_value=MINIMIZE, help="A smaller metric is better.")
@click.option("--maximize", "goal", flag_value=MAXIMIZE, help="A larger metric is better.")
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Trials in all.  [default: 20]")
@click.option("--concurrent", type=click.IntRange(1), metavar="N", help="Trials at the same time.  [default: 2]")
@click.option("--sampler", metavar="NAME", help="random, grid, tpe, cmaes, gp, qmc, or module:Class.")
@click.option("--policy", metavar="KIND", help="Early termination: median, asha, …; its fields need a YAML file.")
@click.option("--seed", type=int, metavar="N", help="Makes the sweep repeatable.")
@click.option("-e", "--experiment", metavar="NAME", help="The experiment.  [default: the script's name]")
@click.option("-t", "--target", metavar="NAME", help="The compute target.  [default: local]")
@click.option("-r", "--requirements", type=click.Path(exists=True, dir_okay=False), help="Packages to run with.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Show the trials until the sweep ends.")
@workspace_option
@json_option
@click.pass_context
def run(ctx: click.Context, script: str, wait: bool, workspace_name: str | None, as_json: bool, **given: Any) -> int:
    """Sweep over the parameters of a script, given as `--name 2,4,8` or `--name uniform:0..1`, or over a YAML file."""
    settings = _settings(script, ctx.args, {name: value for name, value in given.items() if value is not None})
    workspace = open_workspace(workspace_name)
    spec = sweep_from_mapping({"concurrent": 2, **settings})
    experiment = Experiment(workspace, settings.get("experiment") or experiment_name(settings["script"]))
    submitted = submit_trials(experiment, _script(settings), spec)
    if not wait:
        emit({"id": submitted.id}) if as_json else click.echo(submitted.id)
        say(f"watch it with: footplate sweep show {submitted.id}")
        return 0
    say(f"submitted {submitted.id}")
    return _watch(submitted, spec, as_json)


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
    _print_trials(found, trials, spec)
    say(_summary(trials, spec), found.get_status())


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
@json_option
def best(run_id: str, workspace_name: str | None, as_json: bool) -> int:
    """Print the best trial: its run, its value and its parameters."""
    found = _find(run_id, workspace_name)
    ranked = found.get_children_sorted_by_primary_metric(top=1, discard_no_metric=True)
    if not ranked:
        say(f"no trial of {found.id} has logged {found.sweep.primary.metric}")
        return 1
    trial = next(trial for trial in found.get_trials() if trial.run == ranked[0]["run_id"])
    if as_json:
        emit(to_json(trial))
    else:
        click.echo(f"{trial.run}  {found.sweep.primary.metric} {number(trial.best)}  {_parameters(trial)}")
    return 0


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
def stop(run_id: str, workspace_name: str | None) -> None:
    """Cancel a sweep and the trials that still run."""
    found = _find(run_id, workspace_name)
    found.cancel()
    say(f"{found.id} ends; continue it later with: footplate sweep resume {found.id}")


@sweep.command()
@click.argument("run_id", metavar="RUN", default="latest")
@workspace_option
def resume(run_id: str, workspace_name: str | None) -> None:
    """Continue a sweep that was stopped or failed, with the trials that are left."""
    found = _find(run_id, workspace_name)
    found.restart()
    say(f"{found.id} goes on; watch it with: footplate sweep show {found.id}")


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _settings(script: str, arguments: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a YAML file, or of a script and its parameters; options win over the file."""
    if not script.endswith((".yaml", ".yml")):
        return {"script": script, "parameters": _parameters_of(arguments), **given}
    if arguments:
        raise Unusable(f"{arguments[0]!r} is not an option of a sweep from a file", f"add it to {script}")
    settings: Any = yaml_format.load(Path(script).read_text(encoding="utf-8"))
    if not isinstance(settings, dict) or "script" not in settings:
        raise click.UsageError(f"{script} does not name a script")
    folder = os.path.dirname(script)
    return {**settings, "script": os.path.join(folder, str(settings["script"])), **given}  # pyright: ignore


def _parameters_of(arguments: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        name = rest.pop(0)
        if not name.startswith("--") or not rest:
            raise Unusable(f"{name!r} is not a parameter", "give parameters as --name 2,4,8 or --name uniform:0..1")
        parse_expression(name[2:], rest[0])  # refuse it before anything is read or sent
        found[name[2:]] = rest.pop(0)
    return found


def _script(settings: dict[str, Any]) -> ScriptRunConfig:
    path = settings["script"]
    requirements = settings.get("requirements")
    return ScriptRunConfig(
        os.path.dirname(path) or ".",
        script=os.path.basename(path),
        arguments=settings.get("arguments"),
        compute_target=settings.get("target") or LOCAL,
        environment=Environment.from_pip_requirements("sweep", requirements) if requirements else None,
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


# ── Trials on the terminal ────────────────────────────────────────────────────────────────────────────────────────────


def _watch(found: HyperDriveRun, spec: SweepSpec, as_json: bool) -> int:
    """Show each trial as it ends, and the table at the end; on a terminal a line says what runs now."""
    shown: set[int] = set()
    try:
        while True:
            status = found.get_status()
            trials = found.get_trials()
            for trial in trials:
                if trial.status in TERMINAL and trial.number not in shown:
                    shown.add(trial.number)
                    say(_line(trial, spec), trial.status)
            if status in TERMINAL:
                break
            found.wait_for_change()
    except KeyboardInterrupt:
        say(f"\nthe sweep goes on; end it with: footplate sweep stop {found.id}")
        return CANCELED
    if as_json:
        emit([to_json(trial) for trial in trials])
    else:
        _print_trials(found, trials, spec)
    error = found.get_details().get("error")
    if error:
        say(str(error.get("error", {}).get("message", error)))
    say(_summary(trials, spec), status)
    return 0 if status == "Completed" else 1


def _line(trial: TrialView, spec: SweepSpec) -> str:
    value = "no metric" if trial.best is None else f"{spec.primary.metric} {number(trial.best)}"
    why = f"  ({trial.stopped})" if trial.stopped else ""
    return f"trial {trial.number}: {trial.status}  {value}  {_parameters(trial)}{why}"


def _parameters(trial: TrialView) -> str:
    return " ".join(f"{name.lstrip('-')}={number(value)}" for name, value in trial.parameters.items())


def _print_trials(found: HyperDriveRun, trials: list[TrialView], spec: SweepSpec) -> None:
    metric = spec.primary.metric
    curves = _curves(found, metric) if is_terminal(sys.stdout) else {}
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    rows = [
        [
            trial.number, trial.status, number(trial.best) if trial.best is not None else "",
            curves.get(trial.run, ""), *(number(trial.parameters.get(name, "")) for name in names),
            duration(trial.ended - trial.started) if trial.ended and trial.started else "", trial.stopped or "",
        ]
        for trial in trials
    ]  # fmt: skip
    columns = ["trial", "status", metric, "course", *(name.lstrip("-") for name in names), "time", "stopped because"]
    table(columns, rows, right=["trial", metric], shrink=["stopped because"], drop=["stopped because", "course"])


def _curves(found: HyperDriveRun, metric: str) -> dict[str, str]:
    logged = found.get_metrics(metric)
    return {run: sparkline(_listed(values.get(metric)), _WIDTH) for run, values in logged.items()}


def _listed(value: Any) -> list[float]:
    return [float(v) for v in (value if isinstance(value, list) else [] if value is None else [value])]  # pyright: ignore


def _summary(trials: list[TrialView], spec: SweepSpec) -> str:
    """Return the best so far, and what early termination saved, compared with trials that ran to their end."""
    sign = 1.0 if spec.primary.goal == MAXIMIZE else -1.0
    known = [trial for trial in trials if trial.best is not None]
    best = max(known, key=lambda trial: sign * (trial.best or 0.0), default=None)
    parts = [counted(len(trials), "trial")]
    if best is not None:
        parts.append(f"best {spec.primary.metric} {number(best.best)} in trial {best.number} ({_parameters(best)})")
    stopped = [trial for trial in trials if trial.stopped]
    if stopped:
        parts.append(f"{len(stopped)} stopped early{_saved(trials, stopped)}")
    return "; ".join(parts)


def _saved(trials: list[TrialView], stopped: list[TrialView]) -> str:
    def seconds(chosen: list[TrialView]) -> list[float]:
        return [trial.ended - trial.started for trial in chosen if trial.ended and trial.started]

    whole, short = seconds([trial for trial in trials if trial.status == "Completed"]), seconds(stopped)
    if not whole or not short:
        return ""
    return f", about {duration(max(0.0, len(short) * sum(whole) / len(whole) - sum(short)))} saved"
