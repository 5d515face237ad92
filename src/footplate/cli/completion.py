"""Shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from footplate import environ

# The line that each shell's start-up file needs.
_INSTALL = {
    "bash": 'eval "$(footplate completion bash)"     # in ~/.bashrc',
    "zsh": 'eval "$(footplate completion zsh)"      # in ~/.zshrc',
    "fish": "footplate completion fish | source      # in ~/.config/fish/config.fish",
}


@click.command(epilog="\b\n" + "\n".join(_INSTALL.values()))
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
def completion(shell: str) -> None:
    """Print the completion script for your shell."""
    from footplate.cli.main import cli  # noqa: PLC0415  # circular: the root command loads this module

    kind = get_completion_class(shell)
    assert kind is not None, "click supports every shell in the list above"
    click.echo(kind(cli, {}, "footplate", environ.COMPLETE).source())
