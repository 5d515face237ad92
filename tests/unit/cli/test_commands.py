"""Every command: its help, its line in the table, its documentation, and its answer to bad input."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from footplate.cli.main import COMMANDS, cli
from footplate.domain.tuning.search_space import KINDS

ROOT = Path(__file__).parents[3]


def tree(command: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found = {path: command}
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            found |= tree(below, (*path, name))
    return found


ALL = tree(cli)


def test_every_promised_command_exists() -> None:
    wanted = """init run doctor completion experiments models compute server
        runs/list runs/show runs/logs runs/metrics runs/files runs/download runs/cancel runs/story
        experiments/list experiments/archive models/list models/show models/register models/download models/delete
        compute/list compute/show compute/create compute/delete server/start server/status server/stop server/logs"""
    assert {tuple(path.split("/")) for path in wanted.split()} <= set(ALL)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_and_option_has_help(path: tuple[str, ...]) -> None:
    command = ALL[path]
    text = command.help or ""
    assert text.strip(), f"{path} has no help"
    assert text.strip().splitlines()[0].endswith("."), f"{path}: the first line is no sentence"
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            known = bool(option.help) or option.show_default or option.metavar
            assert known, f"{path} {option.opts} is not explained"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_table_matches_the_commands(name: str) -> None:
    assert COMMANDS[name][1] == (ALL[(name,)].help or "").strip().splitlines()[0]


@pytest.mark.parametrize("path", [p for p in ALL if p], ids=" ".join)
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert f"# footplate {' '.join(path)}\n" in page


@pytest.mark.parametrize("path", [p for p in ALL if p and not isinstance(ALL[p], click.Group)], ids=" ".join)
def test_every_command_that_prints_data_has_json(path: tuple[str, ...]) -> None:
    silent = {
        "completion",
        "archive",
        "restore",
        "reactivate",
        "delete",
        "start",
        "stop",
        "logs",
        "default",
        "remove",
        "resume",
        "use",
    }
    has = any("--json" in option.opts for option in ALL[path].params)
    assert has == (path[-1] not in silent)


@pytest.mark.parametrize("path", [p for p in ALL if p and p[-1] in ("delete", "remove")], ids=" ".join)
def test_every_command_that_deletes_has_yes(path: tuple[str, ...]) -> None:
    assert any("--yes" in option.opts for option in ALL[path].params)


def test_help_of_sweeps_lists_every_distribution() -> None:
    shown = ALL[("sweep", "run")].get_help(click.Context(ALL[("sweep", "run")]))
    for kind in KINDS:
        assert kind in ("choice", "when") or kind in shown, kind
