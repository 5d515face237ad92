"""`footplate env`: resolved and built environments."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from footplate.api import LONG_POLL
from footplate.cli.console import ago, counted, emit, print_pairs, say, size, when
from footplate.cli.context import (
    find_view,
    in_workspace_with_json,
    requirements_environment,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_table
from footplate.domain.codec import to_json
from footplate.domain.locks import diff as differences
from footplate.domain.locks import packages
from footplate.domain.node_kinds import NODE, describe
from footplate.domain.orders import Lock
from footplate.domain.records import BuildView, BuiltView, CuratedView
from footplate.sdk.environments.curated import is_reserved
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session
from footplate.sdk.workspace import Workspace

DAY = 86400.0
CACHES = ("wheels", "bytecode", "conda", "recipes", "pythons")
_FILES = {".txt": "pip", ".in": "pip", ".yml": "conda", ".yaml": "conda"}
source_argument = click.argument("source", metavar="SOURCE")
refresh_option = click.option("--refresh", is_flag=True, help="Resolve again, although the definition has not changed.")


@click.group(cls=Noun)
def env() -> None:
    """Environments: list, resolve, build, compare and clean up.

    SOURCE is a conda file (.yml), a requirements file (.txt), or the NAME or NAME:VERSION of a registered environment.
    LOCK is the digest of a lock, a prefix of it, or a RUN, which stands for its lock.
    """


@env.command("list")
@click.option("--curated", is_flag=True, help="List curated environments instead: tested ones, and Azure's names.")
@click.option("--caches", is_flag=True, help="List only the package caches.")
@in_workspace_with_json
def list_environments(curated: bool, caches: bool, workspace: Workspace, as_json: bool) -> None:
    """List the environments built on the server's machine, most recently used first, and the package caches.

    The size of an environment excludes files that it shares with a cache; these are counted once, with the cache.
    """
    session = workspace.session
    if curated:
        _list_curated(session, as_json)
        return
    if caches:
        _list_caches(session, as_json)
        return
    views = list(session.api.locks.list_built())
    if as_json:
        emit(views)
    elif not views:
        say("no environments are built")
    else:
        columns = ["lock", "builder", "python", "packages", "size", "built", "last use", ""]
        rows = [
            [v.digest[:12], v.builder, v.python, v.packages, size(v.size), ago(v.created), ago(v.used), _mark(v)]
            for v in views
        ]
        print_table(columns, rows, right=["packages", "size"])
        click.echo()
    if not as_json:
        _list_caches(session, as_json)
        say("list curated environments with: footplate env list --curated")


def _list_caches(session: Session, as_json: bool) -> None:
    caches = list(session.api.locks.list_caches())
    if as_json:
        emit(caches)
        return
    rows = [[view.name, size(view.size), view.holds] for view in caches if view.size]
    if rows:
        print_table(["cache", "size", "holds"], rows, right=["size"])


def _list_curated(session: Session, as_json: bool) -> None:
    views = list(session.api.environments.list_curated())
    if as_json:
        emit(views)
        return
    rows = [[v.name, v.python, v.nearest or v.similar or "tested", ", ".join(v.requirements) or "–"] for v in views]
    print_table(["name", "python", "nearest tested", "packages"], rows, shrink=["packages"], drop=["packages"])
    say("show the packages of one with: footplate env show NAME")


@env.command()
@click.argument("lock", metavar="LOCK|RUN|CURATED")
@in_workspace_with_json
def show(lock: str, workspace: Workspace, as_json: bool) -> None:
    """Show the contents of an environment, or of a curated one by its name, with its differences from Azure's."""
    if is_reserved(lock):
        _show_curated(workspace.session.api.environments.get_curated(lock), as_json)
        return
    lock_view = _find_lock(workspace, lock)
    built = [view for view in workspace.session.api.locks.list_built() if view.digest == lock_view.digest]
    if as_json:
        emit({**to_json(lock_view), "built": [to_json(view) for view in built]})
        return
    facts: list[tuple[str, Any]] = []
    for view in built:
        facts += [("path", view.path), ("built", when(view.created)), ("last use", f"{ago(view.used)} {_mark(view)}")]
        facts.append(("size", size(view.size)))
    _print_lock(lock_view, facts)


def _show_curated(view: CuratedView, as_json: bool) -> None:
    if as_json:
        emit(view)
        return
    click.echo(f"{view.name}, Python {view.python}{f', releases until {view.day}' if view.day else ''}")
    lines = [*view.requirements, *(f"{name}={value}" for name, value in view.variables.items())]
    lines += [f"differs from Azure's: {words}" for words in view.deviations]
    lines += [f"without {line}" for line in view.left_out]
    if view.unavailable:
        lines.append(f"not available: {view.unavailable}")
    if view.nearest or view.similar:
        lines.append(f"nearest tested environment: {view.nearest or view.similar}")
    for line in lines:
        click.echo(f"  {line}")


@env.command("lock")
@source_argument
@refresh_option
@in_workspace_with_json
def lock_source(source: str, refresh: bool, workspace: Workspace, as_json: bool) -> None:
    """Resolve an environment to exact versions.

    The same definition keeps its lock, even if newer releases appear, until --refresh. Later runs use the new lock.
    """
    resolved = _resolve(workspace, source, refresh)
    if as_json:
        emit(resolved)
    else:
        _print_lock(resolved)


@env.command()
@source_argument
@refresh_option
@in_workspace_with_json
def build(source: str, refresh: bool, workspace: Workspace, as_json: bool) -> None:
    """Resolve and build an environment ahead of the first run."""
    resolved = _resolve(workspace, source, refresh)
    view = _follow_build(workspace.session, resolved.digest)
    if view.cause is not None:
        raise UserErrorException(view.cause.message, hint=view.cause.hint)
    if as_json:
        emit({"digest": resolved.digest, "python": view.path, "warnings": list(resolved.warnings)})
    else:
        click.echo(view.path)


@env.command()
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@in_workspace_with_json
def diff(before: str, after: str, workspace: Workspace, as_json: bool) -> None:
    """Compare the environments of two runs or locks."""
    first, second = (_find_lock(workspace, name) for name in (before, after))
    changes = differences(first, second)
    if as_json:
        emit({"before": first.digest, "after": second.digest, "changes": [to_json(change) for change in changes]})
    elif not changes:
        say("the same" if first.digest == second.digest else "the same packages, from different files")
    else:
        print_table(["what", "before", "after"], [[c.what, c.before or "–", c.after or "–"] for c in changes])


@env.command()
@click.option(
    "--days",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Environments not used for this many days.",
)
@click.option("--cache", "named", multiple=True, type=click.Choice(CACHES), help="Also empty this cache; repeatable.")
@click.option("--caches", is_flag=True, help="Also empty all caches; built environments stay complete.")
@click.option("--dry-run", is_flag=True, help="Only print which environments would be removed.")
@in_workspace_with_json
def gc(days: float, named: tuple[str, ...], caches: bool, dry_run: bool, workspace: Workspace, as_json: bool) -> None:
    """Remove unused environments and cache entries, and report the space freed.

    Environments of active runs stay. Locks stay with their runs: a removed environment is built again when it is
    needed. Unused cache entries are removed; --cache and --caches empty whole caches.
    """
    locks = workspace.session.api.locks
    done = locks.clear(days * DAY, dry_run, CACHES if caches else named)
    if as_json:
        emit(done)
        return
    verb = "would remove" if dry_run else "removed"
    for view in done.environments:
        click.echo(f"{verb} {view.digest[:12]}  {size(view.size)}, last used {ago(view.used)}")
    for cache in done.caches:
        if cache.size:
            click.echo(f"cleared {cache.name}  {size(cache.size)}, {cache.holds}")
    if done.left:
        say(done.left)
    freed = sum(view.size for view in (*done.environments, *done.caches))
    say(
        f"{verb} {counted(len(done.environments), 'environment')}; {'would free' if dry_run else 'freed'} {size(freed)}"
    )


# ── Finding and asking ────────────────────────────────────────────────────────────────────────────────────────────────


def _mark(view: BuiltView) -> str:
    return "in use" if view.in_use else "changed since" if view.altered else ""


def _find_lock(workspace: Workspace, name: str) -> Lock:
    """Find a lock by digest, by a prefix of the digest of a built environment, or by run."""
    if re.fullmatch(r"[0-9a-f]{6,64}", name):
        digests = (
            {name}
            if len(name) == 64
            else {v.digest for v in workspace.session.api.locks.list_built() if v.digest.startswith(name)}
        )
        if len(digests) == 1:
            return workspace.session.api.locks.get(digests.pop())
    return workspace.session.api.locks.of_run(find_view(workspace, name).id)


def _resolve(workspace: Workspace, source: str, refresh: bool) -> Lock:
    spec = to_spec(_open_source(workspace, source))
    started = time.monotonic()
    lock = workspace.session.api.locks.resolve(spec, refresh)
    for warning in lock.warnings:
        say(f"warning: {warning}")
    say(f"locked as {lock.digest[:12]} in {time.monotonic() - started:.1f} s")
    return lock


def _open_source(workspace: Workspace, source: str) -> Environment:
    kind = _FILES.get(Path(source).suffix.lower())
    if kind == "conda":
        return Environment.from_conda_specification(Path(source).stem, source)
    if kind == "pip":
        return requirements_environment(source)
    name, _, version = source.partition(":")
    return Environment.get(workspace, name, version or None)


def _follow_build(session: Session, digest: str) -> BuildView:
    view = session.api.locks.build(digest)
    while True:
        if view.text:
            click.echo(view.text, nl=False, err=True)
        if view.state != "building":
            return view
        view = session.api.locks.follow_build(digest, view.offset, LONG_POLL)


def _made_for(lock: Lock) -> str | None:
    """Return the kind of machine that a lock was made for; None for an interpreter that is used as it is."""
    node = lock.content.get(NODE)
    if node is None:
        return None if lock.builder == "existing" else "the server's machine"
    return f"nodes with {describe(node)}"


def _print_lock(lock: Lock, more: Iterable[tuple[str, Any]] = ()) -> None:
    about = lock.content
    facts: list[tuple[str, Any]] = [
        ("lock", lock.digest),
        ("builder", lock.builder),
        ("python", about.get("python") or about.get("interpreter")),
    ]
    facts += [("platform", about.get("platform")), ("made for", _made_for(lock))]
    print_pairs([*facts, *more, *(("warning", warning) for warning in lock.warnings)])
    for name, version in packages(lock).items():
        click.echo(f"  {name} {version}" if "/" in version else f"  {name}=={version}")
