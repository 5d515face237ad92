"""Every command shows examples, and each can be parsed with the options that the command has."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from footplate.cli.examples import EXAMPLES
from footplate.cli.main import cli

FILES = ("requirements.txt", "sample.json", "score.py", "sweep.yaml", "train.py")
LINES = [(path, line) for path, lines in EXAMPLES.items() for line in lines]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {" ".join(path): command}
    ctx = click.Context(command)
    found: dict[str, click.Command] = {}
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        found |= leaves(below, (*path, name))
    return found


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == set(leaves(cli))


@pytest.mark.parametrize(("path", "line"), LINES, ids=[line for _, line in LINES])
def test_an_example_fits_its_command(path: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("notebooks", "photos"):
        (tmp_path / name).mkdir()
    for name in FILES:
        (tmp_path / name).touch()
    words = shlex.split(line.partition(" | ")[0])
    assert words[: len(path.split()) + 1] == ["footplate", *path.split()]
    command: click.Command = cli
    ctx = click.Context(cli, info_name="footplate")
    rest = words[1:]
    while isinstance(command, click.Group):
        below = command.get_command(ctx, rest[0])
        assert below is not None
        command, rest = below, rest[1:]
        ctx = click.Context(command, info_name=words[-len(rest) - 1] if rest else words[-1], parent=ctx)
    command.make_context(words[1], list(rest), parent=ctx.parent)


def test_the_help_ends_with_the_examples() -> None:
    ctx = click.Context(cli, info_name="footplate")
    for name in ("runs", "logs"):
        command = ctx.command.get_command(ctx, name) if isinstance(ctx.command, click.Group) else None
        assert command is not None
        ctx = click.Context(command, info_name=name, parent=ctx)
    examples = "".join(f"\n  {example}" for example in EXAMPLES["runs logs"])
    assert ctx.get_help().rstrip().endswith(f"Examples:{examples}")
