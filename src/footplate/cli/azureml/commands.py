"""`footplate azureml check` and `footplate azureml coverage`."""

from __future__ import annotations

import sys
from collections import Counter

import click

from footplate.cli.azureml import usage
from footplate.cli.azureml.checker import DIFFERS, MISSING, UNREADABLE, WORKS, Finding, check
from footplate.cli.azureml.code_files import find_files, read_programs
from footplate.cli.console import counted, emit, paint, say
from footplate.cli.context import json_option
from footplate.cli.main import Noun
from footplate.cli.tables import hanging

_COLORS = {WORKS: "green", DIFFERS: "yellow", MISSING: "red", UNREADABLE: "red"}


@click.group(cls=Noun)
def azureml() -> None:
    """Check code that was written for Azure ML SDK v1."""


@azureml.command("check")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=click.Path())
@click.option("--all", "show_all", is_flag=True, help="Also print the lines that work as on Azure.")
@json_option
def check_paths(paths: tuple[str, ...], show_all: bool, as_json: bool) -> int:
    """Report what works, what differs and what is missing, line by line.

    Reads scripts, notebooks, or folders of them, without running them. The names of Azure's SDK are looked up in
    Footplate itself, and keyword arguments are compared with its signatures. The exit code is 1 if anything is missing.
    """
    findings = [
        found for file in find_files(list(paths)) for program in read_programs(file) for found in check(program)
    ]
    if as_json:
        emit([_as_json(one) for one in findings])
    else:
        for one in findings:
            if show_all or one.state != WORKS:
                _print(one)
        _print_summary(findings)
    return int(any(one.state in (MISSING, UNREADABLE) for one in findings))


def _as_json(one: Finding) -> dict[str, object]:
    place = {"file": one.place.file, "cell": one.place.cell, "line": one.place.line}
    return {**place, "state": one.state, "name": one.name, "message": one.message, "hint": one.hint}


def _print(one: Finding) -> None:
    state = paint(one.state.ljust(len(UNREADABLE)), fg=_COLORS[one.state])
    click.echo(f"{one.place}: {state} {one.name}" + (f": {one.message}" if one.message else ""))
    if one.hint:
        click.echo(f"  {paint('hint:', sys.stdout, fg='cyan')} {one.hint}")


def _print_summary(findings: list[Finding]) -> None:
    counts = Counter(one.state for one in findings)
    files = len({one.place.file for one in findings})
    if not findings:
        say("no names of Azure ML SDK v1 were found")
        return
    text = ", ".join(f"{counts[state]} {state}" for state in _COLORS if counts[state])
    say(f"{counted(len(findings), 'use')} of Azure ML in {counted(files, 'file')}: {text}")


@azureml.command()
@json_option
def coverage(as_json: bool) -> None:
    """Print the share of Azure's API, weighted by its use in public code, that works here.

    The counts come from 480 example notebooks and 554 files of 30 other public repositories.
    """
    resolved = [(each, usage.why_missing(each)) for each in usage.symbols()]
    share = usage.share(resolved)
    missing = [(each, why) for each, why in resolved if why is not None]
    if as_json:
        names = [{"name": each.name, "files": each.files, "reason": why} for each, why in missing]
        emit({"share": share, "names": len(resolved), "missing": names})
        return
    for each, why in missing:
        head = f"{paint('missing', fg='red')} "
        click.echo(hanging(head, len("missing "), f"{each.name} ({counted(each.files, 'file')}): {why}"))
    click.echo(f"{share:.1%} of {sum(each.files for each, _ in resolved)} uses of {len(resolved)} names work")
