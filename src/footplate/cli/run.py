"""`footplate run`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from footplate.cli.console import emit, say
from footplate.cli.context import (
    json_option,
    names_of,
    open_workspace,
    parse_pairs,
    read_run,
    stream_option,
    tags_option,
    wait_option,
    workspace_option,
)
from footplate.cli.follow import CANCELED, exit_code, follow
from footplate.cli.status_line import working
from footplate.domain.codec import to_json
from footplate.domain.targets import LOCAL
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.environments.environment import Environment
from footplate.sdk.runs.experiment import Experiment
from footplate.sdk.session import Session

_EPILOG = """\b
Exit code: 0 when the run was submitted. With --wait, the outcome of the run:
  0      Completed
  1-127  Failed: the script's own exit code, 1 when it had none
  128+N  Failed: the script was ended by signal N
  130    Canceled, or Ctrl-C here (the run continues)
"""


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": False})
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS...]")
@click.option(
    "-e",
    "--experiment",
    metavar="NAME",
    shell_complete=names_of("experiments"),
    help="The experiment.  [default: the script's name]",
)
@click.option(
    "-t",
    "--target",
    default=LOCAL,
    show_default=True,
    metavar="NAME",
    shell_complete=names_of("computes"),
    help="The compute target.",
)
@click.option(
    "--source-dir",
    type=click.Path(exists=True, file_okay=False),
    help="The folder to copy to the run.  [default: this folder, or the script's if it is elsewhere]",
)
@click.option(
    "-r",
    "--requirements",
    type=click.Path(exists=True, dir_okay=False),
    help="A requirements file with the packages to install.",
)
@click.option("--python", metavar="PATH", help="The interpreter to use as it is.  [default: the current one]")
@click.option("--env", "variables", multiple=True, metavar="KEY=VALUE", help="An environment variable; repeatable.")
@click.option(
    "--env-file",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of environment variables, one KEY=VALUE per line.",
)
@click.option("--name", metavar="TEXT", help="A display name for the run.")
@tags_option
@click.option("--timeout", type=float, metavar="SECONDS", help="Stop the run as failed after this time.")
@click.option(
    "--gpus", type=click.IntRange(0), metavar="N", help="GPUs for exclusive use.  [default: one, if it is free]"
)
@click.option(
    "--attempts", type=click.IntRange(1), default=1, metavar="N", help="Attempts in total, if nodes are lost."
)
@wait_option
@stream_option
@workspace_option
@json_option
def run(
    script: str,
    arguments: tuple[str, ...],
    experiment: str | None,
    tags: tuple[str, ...],
    name: str | None,
    wait: bool,
    stream: bool,
    workspace_name: str | None,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run a script, here or on a compute target.

    The run gets a copy of the source folder (without files that .amlignore or .gitignore exclude) and outlives this
    command. Its id goes to stdout, or with --wait its log. Arguments after `--` go to the script.
    """
    workspace = open_workspace(workspace_name)
    config = _config(script, arguments, settings)
    chosen = Experiment(workspace, experiment or experiment_name(script))
    with working(f"uploading {config.source_directory}"):
        submitted = chosen.submit(config, tags=parse_pairs(tags, "--tag"))
    if name:
        submitted.display_name = name
    if wait:
        return wait_for(workspace.session, submitted.id, stream, as_json)
    if as_json:
        emit(to_json(read_run(workspace.session, submitted.id)))
        return 0
    click.echo(submitted.id)
    say(f"watch it with: footplate runs logs -f {submitted.id}")
    return 0


def wait_for(session: Session, run_id: str, stream: bool, as_json: bool) -> int:
    """Follow a run until it ends; return its exit code."""
    say(f"submitted {run_id}")
    try:
        ended = follow(session, run_id, show=stream, to_stderr=as_json)
    except KeyboardInterrupt:
        say(f"\nthe run continues; cancel it with: footplate runs cancel {run_id}")
        say(f"watch it with: footplate runs logs -f {run_id}")
        return CANCELED
    if as_json:
        emit(to_json(ended))
    return exit_code(ended)


def _config(script: str, arguments: tuple[str, ...], settings: dict[str, Any]) -> ScriptRunConfig:
    folder = settings["source_dir"] or _source_folder(script)
    config = ScriptRunConfig(
        source_directory=folder,
        script=os.path.relpath(script, folder),
        arguments=list(arguments),
        compute_target=settings["target"],
        environment=_environment(settings["requirements"], settings["python"]),
        max_run_duration_seconds=settings["timeout"],
    )
    config.run_config.gpus = settings["gpus"]
    config.run_config.max_attempts = settings["attempts"]
    from_file = _read_variables(settings["env_file"]) if settings["env_file"] else {}
    config.run_config.environment_variables = {**from_file, **parse_pairs(settings["variables"], "--env")}
    return config


def _source_folder(script: str) -> str:
    """Return this folder if the script is below it: `footplate run src/train.py` copies everything. Else its own."""
    here, path = Path.cwd(), Path(script).resolve()
    return "." if here in path.parents else str(path.parent)


def _environment(requirements: str | None, python: str | None) -> Environment | None:
    if requirements and python:
        raise click.UsageError(
            "--requirements builds an environment and --python uses an existing one: choose one of them"
        )
    if requirements:
        return Environment.from_pip_requirements(Path(requirements).stem, requirements)
    if python:
        made = Environment("interpreter")
        made.python.user_managed_dependencies = True
        made.python.interpreter_path = python
        return made
    return None


def _read_variables(path: str) -> dict[str, str]:
    """Read KEY=VALUE lines. Empty lines and lines starting with # are skipped; quotes are not special."""
    lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return parse_pairs([line for line in lines if line and not line.startswith("#")], "--env-file")


def experiment_name(script: str) -> str:
    """Return the nearest valid experiment name to the script's name."""
    cleaned = re.sub(r"[^\w-]+", "-", Path(script).stem, flags=re.ASCII).strip("-_")
    return cleaned[:255] or "scripts"
