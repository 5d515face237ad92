"""Commands that change what people see of a run: tag, rename, note, archive, restore, delete."""

from __future__ import annotations

from typing import Any

import click

from footplate.cli.console import counted, emit, say, tag_words
from footplate.cli.context import (
    confirm,
    find_view,
    json_option,
    names_of,
    run_argument,
    workspace_option,
    yes_option,
)
from footplate.cli.runs.group import runs
from footplate.domain.codec import to_json

runs_argument = click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=names_of("runs"))


@runs.command()
@run_argument
@click.argument("tags", nargs=-1, metavar="[KEY[=VALUE]]...")
@click.option("--remove", multiple=True, metavar="KEY", help="A tag to remove; repeatable.")
@workspace_option
@json_option
def tag(run_id: str, tags: tuple[str, ...], remove: tuple[str, ...], workspace_name: str | None, as_json: bool) -> None:
    """Set or remove tags of a run; without arguments, print them."""
    given = {key: value if equals else None for key, equals, value in (text.partition("=") for text in tags)}
    session, view = find_view(run_id, workspace_name)
    unknown = [key for key in remove if key not in view.tags]
    if unknown:
        raise click.BadParameter(f"the run has no tag {unknown[0]!r}", param_hint="--remove")
    if given or remove:
        view = session.api.runs.change(view.id, tags=given, remove_tags=remove)
    if as_json:
        emit(view.tags)
    else:
        click.echo(tag_words(view.tags))


@runs.command()
@run_argument
@click.argument("name")
@workspace_option
@json_option
def rename(run_id: str, name: str, workspace_name: str | None, as_json: bool) -> None:
    """Give a run a display name."""
    _change(run_id, workspace_name, as_json, f"is called {name!r} now", display_name=name)


@runs.command()
@run_argument
@click.argument("text", required=False)
@workspace_option
@json_option
def note(run_id: str, text: str | None, workspace_name: str | None, as_json: bool) -> None:
    """Write a note about a run; without TEXT, print it."""
    if text is None:
        view = find_view(run_id, workspace_name)[1]
        emit(view.description) if as_json else click.echo(view.description or "")
    else:
        _change(run_id, workspace_name, as_json, "has a note", description=text)


@runs.command()
@runs_argument
@workspace_option
def archive(run_ids: tuple[str, ...], workspace_name: str | None) -> None:
    """Hide runs from lists; `runs list --archived` shows them."""
    for run_id in run_ids:
        _change(run_id, workspace_name, False, "is archived", archived=True)


@runs.command()
@runs_argument
@workspace_option
def restore(run_ids: tuple[str, ...], workspace_name: str | None) -> None:
    """Show archived runs in lists again."""
    for run_id in run_ids:
        _change(run_id, workspace_name, False, "is in lists again", archived=False)


@runs.command()
@runs_argument
@click.option("--force", is_flag=True, help="Even if models were made by it; they keep their files.")
@yes_option
@workspace_option
def delete(run_ids: tuple[str, ...], force: bool, yes: bool, workspace_name: str | None) -> None:
    """Delete runs that have ended, with their metrics, logs, files and children.

    Nothing brings them back. `footplate gc` frees the space of their files.
    """
    found = [find_view(run_id, workspace_name) for run_id in run_ids]
    confirm(f"delete {', '.join(view.id for _, view in found)} for good?", yes)
    deleted = list[str]()
    for session, view in found:
        if view.id not in deleted:  # a child of one before
            deleted += session.api.runs.delete(view.id, force).deleted
    say(f"{counted(len(deleted), 'run')} deleted; free the space of their files with: footplate gc")


def _change(run_id: str, workspace_name: str | None, as_json: bool, done: str, **change: Any) -> None:
    session, view = find_view(run_id, workspace_name)
    after = session.api.runs.change(view.id, **change)
    if as_json:
        emit(to_json(after))
    else:
        say(f"{view.id} {done}")
