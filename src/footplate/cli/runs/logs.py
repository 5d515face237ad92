"""`footplate runs logs`."""

from __future__ import annotations

import sys

import click

from footplate.cli.console import printable, say
from footplate.cli.context import find_view, in_workspace, names_of, run_argument, seconds_of
from footplate.cli.follow import INTERACTIVE_LOG, exit_code, follow
from footplate.cli.runs import log_views
from footplate.cli.runs.group import runs
from footplate.domain.launch import first_log, log_name, processes_per_node
from footplate.domain.records import RunView
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session
from footplate.sdk.workspace import Workspace

_TAIL_BYTES = 64 * 1024  # read first for --tail


@runs.command()
@run_argument
@click.option("-f", "--follow", "following", is_flag=True, help="Continue until the run has ended.")
@click.option(
    "--file",
    "path",
    metavar="PATH",
    shell_complete=names_of("files"),
    help="A log of the run (see `runs files`).  [default: that of the first rank]",
)
@click.option("--rank", type=click.IntRange(0), metavar="K", help="The log of this rank.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines.")
@click.option("--since", metavar="TIME", help="Only lines that arrived within this time, such as 10m.")
@click.option("--search", metavar="TEXT", help="Only lines that contain this text, with their numbers.")
@click.option("--regex", metavar="PATTERN", help="Only lines that match this regular expression.")
@click.option("--errors", is_flag=True, help="Only lines that begin the report of an error.")
@click.option("--around", metavar="TIME", help="Only lines around a time, such as '10m ago' or 2024-05-31T14:00.")
@click.option(
    "--exit-code", "with_code", is_flag=True, help="With -f: exit with the run's code, as `footplate run --wait` does."
)
@in_workspace
def logs(
    run_id: str,
    following: bool,
    path: str | None,
    rank: int | None,
    tail: int | None,
    since: str | None,
    search: str | None,
    regex: str | None,
    errors: bool,
    around: str | None,
    with_code: bool,
    workspace: Workspace,
) -> int:
    """Print a run's log.

    Ctrl-C stops printing, not the run.
    """
    view = find_view(workspace, run_id)
    parts = [
        name
        for name, value in (("search", search), ("regex", regex), ("errors", errors), ("around", around))
        if value not in (None, False)
    ]
    if len(parts) > 1 or (parts and (following or tail is not None or since is not None)):
        raise click.UsageError(f"--{parts[0]} excludes -f, --tail, --since, --search, --regex, --errors and --around")
    if path is not None and rank is not None:
        raise click.UsageError("--file and --rank: choose one of them")
    path = _log_of_rank(view, rank) if rank is not None else _exact(workspace.session, view.id, path)
    if parts:
        log = path or _default_log(workspace.session, view)
        if log is None:
            _report_missing(view, path)
        elif around is not None:
            log_views.print_around(workspace.session, view.id, log, around)
        else:
            mode = {"search": "text"}.get(parts[0], parts[0])
            log_views.print_matches(workspace.session, view.id, log, search or regex or "", mode)
        return 0
    printed = None
    if not following or tail is not None or since is not None:
        log = path or _default_log(workspace.session, view)
        files = workspace.session.api.files.list(view.id, log or "")
        size = next((file.size for file in files if file.path == log), None)  # None: the run has no such log yet
        if size is None and not following:
            _report_missing(view, path)
        elif log is not None:
            printed = (log, size or 0)
            _print_part(workspace.session, view.id, printed, since, tail)
    if not following:
        return 0
    ended = follow(workspace.session, view.id, log=path, printed=printed)
    return exit_code(ended) if with_code else 0


def _default_log(session: Session, view: RunView) -> str | None:
    is_interactive = kind_of(view).ended_by == "client"
    return INTERACTIVE_LOG if is_interactive else session.api.runs.follow(view.id).log


def _exact(session: Session, run: str, path: str | None) -> str | None:
    """Return the name of the log that tables print like this; the path itself if there is none."""
    head, unknown, _ = (path or "").partition(printable("\0"))
    named = session.api.files.list(run, head) if unknown else ()
    return next((file.path for file in named if printable(file.path) == path), path)


def _report_missing(view: RunView, path: str | None) -> None:
    if path is not None:
        raise UserErrorException(
            f"run {view.id} has no file {path!r}", hint=f"see what it has with: footplate runs files {view.id}"
        )
    say(f"{view.id} is {view.status} and has no output{'' if view.status in TERMINAL else ' yet'}")


def _print_part(session: Session, run: str, log: tuple[str, int], since: str | None, tail: int | None) -> None:
    """Print the recent lines, or the last ones, of a log with this size."""
    path, end = log
    begin = 0
    if since is not None:
        begin = min(end, session.api.files.recent_offset(run, path, seconds_of(since, "--since")) if end else 0)
        if begin == end:
            say(f"nothing was written to {path} in the last {since}")
    if tail is not None:
        begin = _start_of_tail(session, run, path, (begin, end), tail)
    for piece in session.api.files.read(run, path, offset=begin, limit=end - begin) if end else ():
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _start_of_tail(session: Session, run: str, path: str, part: tuple[int, int], lines: int) -> int:
    """Return the offset of the last lines in a part of a log. More and more of it is read, from the end."""
    begin, end = part
    size = _TAIL_BYTES
    while True:
        at = max(begin, end - size)
        data = b"".join(session.api.files.read(run, path, offset=at, limit=end - at)) if at < end else b""
        rest, *tail_lines = data[:-1].rsplit(b"\n", lines)  # a line break at the very end belongs to the last line
        if len(tail_lines) == lines:
            return min(end, at + len(rest) + 1)
        if at == begin:
            return begin
        size *= 8


def _log_of_rank(view: RunView, rank: int) -> str:
    distribution = view.spec.distribution if view.spec else None
    total = sum(processes_per_node(distribution)) if distribution else 1
    if rank >= total:
        raise UserErrorException(f"run {view.id} has no rank {rank}", hint=f"its ranks are 0 to {total - 1}")
    return first_log(distribution) if distribution and rank == 0 else log_name(rank, total)
