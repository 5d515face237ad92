"""Shell completion."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from footplate import environ
from footplate.cli.console import say
from footplate.cli.main import Command, Unusable

# shell → its start-up file, and the line that it needs
_START_UP = {
    "bash": ("~/.bashrc", 'eval "$(footplate completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(footplate completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "footplate completion fish | source"),
}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(sorted(_START_UP)), required=False)
@click.option("--install", is_flag=True, help="Add the line that loads the script to the shell's start-up file.")
def completion(shell: str | None, install: bool) -> None:
    """Print the completion script for your shell.

    Without SHELL, it is the one that $SHELL names.
    """
    chosen = shell or os.path.basename(os.environ.get("SHELL", ""))
    if chosen not in _START_UP:
        raise Unusable(f"$SHELL is {chosen!r}", f"name a shell: footplate completion {'|'.join(sorted(_START_UP))}")
    if install:
        _install(*_START_UP[chosen])
        return
    from footplate.cli.main import cli  # noqa: PLC0415  # the root command exists only after its module was loaded

    kind = get_completion_class(chosen)
    assert kind is not None, "click supports every shell in the list above"
    click.echo(kind(cli, {}, "footplate", environ.COMPLETE).source())


def _install(file: str, line: str) -> None:
    path = Path(file).expanduser()
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    if line in content.splitlines():
        say(f"{file} loads the completion already")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        out.write(f"{'' if content.endswith(chr(10)) or not content else chr(10)}{line}\n")
    say(f"added to {file}: {line}; it takes effect in the next shell")
