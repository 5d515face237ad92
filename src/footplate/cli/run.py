"""`footplate run`."""

from __future__ import annotations

import difflib
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
    stream_option,
    tags_option,
    wait_option,
    with_metrics,
    workspace_option,
)
from footplate.cli.follow import CANCELED, exit_code, follow
from footplate.cli.main import Command, Unusable
from footplate.cli.run_config import config_options, make_config
from footplate.sdk.display.status_line import working
from footplate.sdk.experiment import experiment_for_first_run
from footplate.sdk.session import Session

_EPILOG = """\b
Exit code: 0 when the run was submitted. With --wait, the outcome of the run:
  0      Completed
  1-127  Failed: the script's own exit code, 1 when it had none
  128+N  Failed: the script was ended by signal N
  130    Canceled, or Ctrl-C here (the run continues)
"""

_IS_COMMAND = "footplate.is_command"
_OURS = ("--wait", "--no-wait", "--stream", "--no-stream", "--json")


class RunCommand(Command):
    """A command whose options end at the script. It notes whether `--` stands in front of the words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        whole = list(args)
        words = super().parse_args(ctx, args)
        before = len(whole) - len(ctx.params.get("words") or ()) - 1
        ctx.meta[_IS_COMMAND] = before >= 0 and whole[before] == "--"
        return words


@click.command(cls=RunCommand, epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, metavar="SCRIPT [ARGUMENTS]...", type=click.UNPROCESSED)
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module, as in `python -m`.")
@click.option(
    "-e",
    "--experiment",
    metavar="NAME",
    shell_complete=names_of("experiments"),
    help="The experiment.  [default: the script's name]",
)
@click.option("--name", metavar="TEXT", help="A display name for the run.")
@tags_option
@wait_option
@stream_option
@config_options
@workspace_option
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    words: tuple[str, ...],
    is_module: bool,
    experiment: str | None,
    tags: tuple[str, ...],
    name: str | None,
    wait: bool,
    stream: bool,
    workspace_name: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Run a script, here or on a compute target.

    \b
      footplate run --wait train.py --lr 0.1      a script with its arguments
      footplate run -m package.train --lr 0.1     a module
      footplate run -- bash train.sh              any command

    Options of Footplate come first: everything after SCRIPT belongs to the script. The run gets a copy of the source
    folder (without files that .amlignore or .gitignore exclude) and outlives this command. Its id goes to stdout, or
    with --wait its log.
    """
    is_command = ctx.meta[_IS_COMMAND]
    words = _check_script(words, is_command, is_module)
    workspace = open_workspace(workspace_name)
    config = make_config(workspace, words, given, is_command, is_module)
    files = [word for word in words if os.path.isfile(word)] if is_command else []  # what a command is about
    subject = next(iter(files), words[0])
    named = experiment or experiment_name(subject, is_module)
    chosen = experiment_for_first_run(workspace, named)
    with working(f"uploading {config.source_directory}"):
        submitted = chosen.submit(config, tags=parse_pairs(tags, "--tag"))
    if name:
        submitted.display_name = name
    if wait:
        return wait_for(workspace.session, submitted.id, stream, as_json)
    if as_json:
        emit(workspace.session.api.runs.get(submitted.id))
        return 0
    click.echo(submitted.id)
    say(f"watch it with: footplate runs logs -f {submitted.id}")
    return 0


def _check_script(words: tuple[str, ...], is_command: bool, is_module: bool) -> tuple[str, ...]:
    """Return the script and its arguments; refuse a script that does not exist."""
    if not words:
        raise Unusable("no script was given", "name one: footplate run train.py; see: footplate run --help")
    if is_command or is_module:
        return words
    script = words[0]
    arguments = words[2:] if words[1:2] == ("--",) else words[1:]
    if not os.path.isfile(script):
        folder = os.path.dirname(script) or "."
        beside = os.listdir(folder) if os.path.isdir(folder) else []
        near = difflib.get_close_matches(os.path.basename(script), beside, 1)
        guess = f"did you mean {os.path.join(os.path.dirname(script), near[0])}? " if near else ""
        raise Unusable(f"the script {script!r} does not exist", f"{guess}for a command: footplate run -- {script} …")
    for word in arguments:
        if word in _OURS:
            say(f"note: {word} goes to the script; an option of footplate comes first: footplate run {word} {script}")
    return (script, *arguments)


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
        emit(with_metrics(session, ended))
    return exit_code(ended)


def experiment_name(script: str, is_module: bool = False) -> str:
    """Return the nearest valid experiment name to the script's or the module's name."""
    name = script.rpartition(".")[2] if is_module else Path(script).stem
    cleaned = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-_")
    return cleaned[:255] or "scripts"
