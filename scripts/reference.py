"""Write docs/reference/cli.md from the commands themselves. `--check` only says whether the page is current."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from footplate.cli.main import cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
HEAD = """# Commands

This page is written by `make docs` from the commands' own help.

"""
WIDTH = 100


def commands(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The contexts of a command and of all below it, in the order in which they are listed."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    ctx = click.Context(command, info_name=path.split()[-1], parent=parent, **settings)
    yield ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None, f"{path} lists {name} and does not have it"
            yield from commands(below, f"{path} {name}", ctx)


def render() -> str:
    parts = [HEAD]
    for ctx in commands(cli, "footplate"):
        level = "##" if ctx.parent is None or ctx.parent.parent is None else "###"
        parts.append(f"{level} {ctx.command_path}\n\n```text\n{ctx.get_help().rstrip()}\n```\n\n")
    return "".join(parts).rstrip() + "\n"


def main() -> int:
    page = render()
    if "--check" in sys.argv:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page
        if not current:
            print(f"{PAGE} is not current: run make docs", file=sys.stderr)
        return 0 if current else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
