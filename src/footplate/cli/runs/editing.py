"""Commands that change what people see of a run: tag, rename, note, archive, restore, delete."""

from __future__ import annotations

from typing import Any

import click

from footplate.cli.console import counted, emit_or_echo, emit_or_say, say, tag_words
from footplate.cli.context import (
    confirm,
    find_view,
    in_workspace,
    in_workspace_with_json,
    names_of,
    run_argument,
    yes_option,
)
from footplate.cli.runs.group import runs
from footplate.sdk.workspace import Workspace

runs_argument = click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=names_of("runs"))


@runs.command()
@run_argument
@click.argument("tags", nargs=-1, metavar="[KEY[=VALUE]]...")
@click.option("--remove", multiple=True, metavar="KEY", help="A tag to remove; repeatable.")
@in_workspace_with_json
def tag(run_id: str, tags: tuple[str, ...], remove: tuple[str, ...], workspace: Workspace, as_json: bool) -> None:
    """Set or remove tags of a run; without arguments, print them."""
    changed = {key: value if equals else None for key, equals, value in (text.partition("=") for text in tags)}
    view = find_view(workspace, run_id)
    unknown = [key for key in remove if key not in view.tags]
    if unknown:
        raise click.BadParameter(f"the run has no tag {unknown[0]!r}", param_hint="--remove")
    if changed or remove:
        view = workspace.session.api.runs.change(view.id, tags=changed, remove_tags=remove)
    emit_or_echo(as_json, view.tags, tag_words(view.tags))


@runs.command()
@run_argument
@click.argument("name")
@in_workspace_with_json
def rename(run_id: str, name: str, workspace: Workspace, as_json: bool) -> None:
    """Give a run a display name."""
    _change(workspace, run_id, as_json, f"is called {name!r} now", display_name=name)


@runs.command()
@run_argument
@click.argument("text", required=False)
@in_workspace_with_json
def note(run_id: str, text: str | None, workspace: Workspace, as_json: bool) -> None:
    """Write a note about a run; without TEXT, print it."""
    if text is None:
        view = find_view(workspace, run_id)
        emit_or_echo(as_json, view.description, view.description or "")
    else:
        _change(workspace, run_id, as_json, "has a note", description=text)


@runs.command()
@runs_argument
@in_workspace
def archive(run_ids: tuple[str, ...], workspace: Workspace) -> None:
    """Hide runs from lists; `runs list --archived` shows them."""
    for run_id in run_ids:
        _change(workspace, run_id, False, "is archived", archived=True)


@runs.command()
@runs_argument
@in_workspace
def restore(run_ids: tuple[str, ...], workspace: Workspace) -> None:
    """Show archived runs in lists again."""
    for run_id in run_ids:
        _change(workspace, run_id, False, "is in lists again", archived=False)


@runs.command()
@runs_argument
@click.option("--force", is_flag=True, help="Even if models were made by it; they keep their files.")
@yes_option
@in_workspace
def delete(run_ids: tuple[str, ...], force: bool, yes: bool, workspace: Workspace) -> None:
    """Delete runs that have ended, with their metrics, logs, files and children.

    Nothing brings them back. `footplate gc` frees the space of their files.
    """
    targets = [find_view(workspace, run_id) for run_id in run_ids]
    confirm(f"delete {', '.join(view.id for view in targets)} for good?", yes)
    deleted = list[str]()
    for view in targets:
        if view.id not in deleted:  # a child of one before
            deleted += workspace.session.api.runs.delete(view.id, force).deleted
    say(f"{counted(len(deleted), 'run')} deleted; free the space of their files with: footplate gc")


def _change(workspace: Workspace, run_id: str, as_json: bool, done: str, **change: Any) -> None:
    view = find_view(workspace, run_id)
    after = workspace.session.api.runs.change(view.id, **change)
    emit_or_say(as_json, after, f"{view.id} {done}")
