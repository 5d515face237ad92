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
        finding for file in find_files(list(paths)) for program in read_programs(file) for finding in check(program)
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
    name = [] if one.name == one.place.file else [one.name]
    click.echo(f"{one.place}: {state} {': '.join([*name, *([one.message] if one.message else [])])}")
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


def _print_names(state: str, symbols: list[tuple[usage.Symbol, str]]) -> None:
    """Print each reason once, with the names that it concerns and the number of files that use each."""
    reasons: dict[str, list[str]] = {}
    for each, why in symbols:
        reasons.setdefault(why, []).append(f"{each.name} ({each.files})")
    for why, named in reasons.items():
        text, _, hint = why.partition("\nhint: ")
        click.echo(hanging(f"{paint(state, fg=_COLORS[state])} ", len(state) + 1, text))
        click.echo(hanging("  ", 2, ", ".join(named)))
        if hint:
            click.echo(hanging(f"  {paint('hint:', sys.stdout, fg='cyan')} ", 8, hint))


@azureml.command()
@json_option
def coverage(as_json: bool) -> None:
    """Print the share of Azure's API, weighted by its use in public code, that works here.

    The counts come from 480 example notebooks and 554 files of 30 other public repositories, and include pipelines and
    automated machine learning. Explanations, fairness, data drift and FPGAs, which are missing, were not counted.
    """
    judged = [(each, *usage.judge(each)) for each in usage.symbols()]
    shares = usage.shares([(each, state) for each, state, _ in judged])
    listed = {chosen: [(each, why) for each, state, why in judged if state == chosen] for chosen in (DIFFERS, MISSING)}
    if as_json:
        named = {
            state: [{"name": each.name, "files": each.files, "reason": why} for each, why in symbols]
            for state, symbols in listed.items()
        }
        emit({"share": shares[WORKS], "shares": shares, "names": len(judged), **named})
        return
    for state, symbols in listed.items():
        _print_names(state, symbols)
    uses = f"{sum(each.files for each, _, _ in judged)} uses of {len(judged)} names"
    works, differs, missing = (f"{shares[state]:.1%}" for state in (WORKS, DIFFERS, MISSING))
    click.echo(f"Of {uses}, {works} work as on Azure, {differs} differ, {missing} are missing.")
