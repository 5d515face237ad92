"""`footplate compute add` and `footplate compute engines`: targets on any engine of the server."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, cast

import click

from footplate.cli.compute.group import compute
from footplate.cli.console import emit, say
from footplate.cli.context import (
    in_workspace_with_json,
    json_or_text,
    parse_engine_options,
    parse_pairs,
)
from footplate.cli.main import Unusable
from footplate.cli.tables import print_table
from footplate.domain.records import EngineView
from footplate.sdk.compute.targets import MANY_NODES, ComputeTarget
from footplate.sdk.workspace import Workspace

_ANY_OPTION = {"ignore_unknown_options": True, "allow_extra_args": True}


@compute.command(context_settings=_ANY_OPTION)
@click.argument("words", nargs=-1, metavar="ENGINE NAME [--OPTION VALUE]...", type=click.UNPROCESSED)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the engine; repeatable.")
@click.option(
    "--max-nodes", type=click.IntRange(1), default=MANY_NODES, show_default=True, help="Nodes that may run at once."
)
@click.option("--cpus", type=click.IntRange(1), metavar="N", help="CPUs that each node needs.")
@click.option("--memory", type=float, metavar="GIB", help="Memory that each node needs.")
@click.option("--gpus", type=click.IntRange(0), metavar="N", help="GPUs that each node needs.")
@click.option(
    "--resource", "resources", multiple=True, metavar="NAME=N", help="A custom resource of each node; repeatable."
)
@click.option("--no-check", is_flag=True, help="Add it even if the cluster does not answer now.")
@in_workspace_with_json
def add(
    words: tuple[str, ...],
    options: tuple[str, ...],
    max_nodes: int,
    cpus: int | None,
    memory: float | None,
    gpus: int | None,
    resources: tuple[str, ...],
    no_check: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Add a cluster that exists already as a compute target.

    Each engine has options of its own, such as --address of Ray and --partition of Slurm; `footplate compute engines`
    lists them. An option that is given several times is a list. A value that is valid JSON (a number, a list) is passed
    as such. Adding a target again with the same settings changes nothing.
    """
    (kind, name), flags = split_words(words)
    engine = _find_engine(workspace, kind)
    settings: dict[str, Any] = {**parse_engine_options(options, "--option"), **_check_flags(flags, engine)}
    node = {"cpus": cpus, "memory": memory, "gpus": gpus, "resources": _amounts(resources) or None}
    settings.update({key: value for key, value in node.items() if value is not None})
    config = ComputeTarget.engine_configuration(kind, max_nodes=max_nodes, check=not no_check, **settings)
    target = ComputeTarget.attach(workspace, name, config)
    if as_json:
        emit(workspace.session.api.computes.get(workspace.id, target.name))
        return
    say(f"{target.name} is ready: runs there start through the engine {kind!r}")
    say(f"test its nodes with: footplate compute check {target.name}")


@compute.command()
@click.argument("name", required=False)
@in_workspace_with_json
def engines(name: str | None, workspace: Workspace, as_json: bool) -> None:
    """List the engines of the server and the options of their targets."""
    listed = [_find_engine(workspace, name)] if name else list(workspace.session.api.computes.engines())
    if as_json:
        emit(listed)
        return
    rows = [[engine.name, *row] for engine in listed for row in _option_rows(engine)]
    print_table(["engine", "option", "meaning", "per run"], rows, wrap=["meaning"])


def _option_rows(engine: EngineView) -> list[list[str]]:
    if engine.problem:
        return [["", engine.problem, ""]]
    return [
        [option, meaning, "yes" if option in engine.run_options else ""] for option, meaning in engine.options.items()
    ]


def split_words(words: Sequence[str]) -> tuple[tuple[str, str], dict[str, Any]]:
    """Return the engine and the name, and the values of the other options: `--x value` or `--x=value`."""
    names: list[str] = []
    flags: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            names.append(word)
            continue
        flag, equals, text = word.partition("=")
        value = text if equals else next(rest, None)
        if value is None or (not equals and value.startswith("--")):
            raise Unusable(f"{flag} has no value", f"write it as {flag} VALUE, or {flag}=true for a switch")
        key = flag[2:].replace("-", "_")
        flags[key] = [*_as_list(flags[key]), json_or_text(value)] if key in flags else json_or_text(value)
    if len(names) != 2:
        given_words = f"{len(names)} words: {' '.join(names)}" if names else "nothing"
        raise Unusable(
            f"ENGINE and NAME are required, not {given_words}", "for example: footplate compute add slurm gpu"
        )
    return (names[0], names[1]), flags


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _find_engine(workspace: Workspace, name: str) -> EngineView:
    engines_by_name = {engine.name: engine for engine in workspace.session.api.computes.engines()}
    if name not in engines_by_name:
        near = difflib.get_close_matches(name, engines_by_name, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise Unusable(f"there is no engine {name!r}", f"{guess}the engines are {', '.join(engines_by_name)}")
    return engines_by_name[name]


def _check_flags(flags: dict[str, Any], engine: EngineView) -> dict[str, Any]:
    """Return the options; raise Unusable for one that neither the engine nor the command has."""
    for key in flags:
        if key not in engine.options and not engine.problem:
            ours = [param.name or "" for param in add.params if isinstance(param, click.Option)]
            near = difflib.get_close_matches(key, [*engine.options, *ours], 1)
            guess = f"did you mean --{near[0].replace('_', '-')}? " if near else ""
            see = f"see: footplate compute engines {engine.name}"
            raise Unusable(f"the engine {engine.name!r} has no option --{key.replace('_', '-')}", guess + see)
    return flags


def _amounts(texts: Iterable[str]) -> dict[str, Any]:
    amounts = {key: json_or_text(value) for key, value in parse_pairs(texts, "--resource").items()}
    for key, value in amounts.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
            raise Unusable(f"--resource {key}={value} is not an amount", "give a number above 0: --resource license=1")
    return amounts
