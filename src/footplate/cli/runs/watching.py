"""`footplate runs watch`: a table of active runs that is drawn again and again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence

import click

from footplate.cli import context
from footplate.cli.console import counted, duration, emit, is_terminal, number
from footplate.cli.context import in_workspace_with_json
from footplate.cli.follow import phase_of
from footplate.cli.runs.group import runs
from footplate.cli.tables import print_table, terminal_lines
from footplate.domain.codec import to_json
from footplate.domain.floats import untag_float
from footplate.domain.records import RunView
from footplate.domain.runs import run_status
from footplate.domain.runs.run_status import STATUSES, TERMINAL
from footplate.domain.text import cut
from footplate.sdk.workspace import Workspace

_ACTIVE = " or ".join(f"status == {status}" for status in STATUSES if status not in TERMINAL)
_OTHER_SCREEN, _THIS_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CLEAR = "\x1b[H\x1b[J"
_MOST_METRICS = 3
_COLUMNS = ("id", "status", "took", "phase", "metrics")


@runs.command()
@click.option("-e", "--experiment", metavar="NAME", help="Only runs of this experiment.")
@click.option(
    "--interval", default=2.0, show_default=True, type=click.FloatRange(0.2), metavar="SECONDS", help="Between updates."
)
@click.option("--recent", default="10m", show_default=True, metavar="TIME", help="Also runs that ended since then.")
@in_workspace_with_json
def watch(experiment: str | None, interval: float, recent: str, workspace: Workspace, as_json: bool) -> None:
    """Watch active runs, and those that ended recently, until Ctrl-C.

    In a pipe, and with --json, they are printed once.
    """
    if as_json:
        emit([to_json(view) for view in _look(workspace, experiment, recent)])
        return
    if not is_terminal():
        views = _look(workspace, experiment, recent)
        click.echo(_heading(views))
        print_table(_COLUMNS, map(_row, views), right=["took"])
        return
    click.echo(_OTHER_SCREEN, nl=False)
    try:
        while True:
            views = _look(workspace, experiment, recent)
            click.echo(_CLEAR + "\n".join(screen(views, shutil.get_terminal_size().lines)), nl=False)
            time.sleep(interval)
    except KeyboardInterrupt:
        pass
    finally:
        click.echo(_THIS_SCREEN, nl=False)


def _look(workspace: Workspace, experiment: str | None, recent: str) -> list[RunView]:
    since = context.seconds_of(recent, "--recent")
    where = f"{_ACTIVE} or ended > {time.time() - since!r}"
    return list(context.list_runs(workspace, None, experiment=experiment, parent="none", where=where, show=["*"]))


def screen(views: Sequence[RunView], height: int) -> list[str]:
    """Return the lines of the screen: as many runs as there is room for. On a narrow one, a run may take two lines."""
    lines = [cut(_heading(views), shutil.get_terminal_size().columns), ""]
    rows = [_row(view) for view in views]
    count = min(len(rows), height)
    while rows and count >= 0:
        more = [f"… and {len(rows) - count} more"] if count < len(rows) else []
        body = [*_lines(rows[:count]), *more]
        if len(lines) + len(body) <= height or count == 0:
            return (lines + body)[:height]
        count -= 1
    return [*lines, "Ctrl-C ends this. Submit a run with: footplate run SCRIPT"]


def _lines(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    return terminal_lines(_COLUMNS, rows, right=["took"], shrink=["phase", "metrics"], drop=["metrics", "phase"])


def _heading(views: Sequence[RunView]) -> str:
    active = sum(view.status not in TERMINAL for view in views)
    return f"{counted(active, 'active run')}, {len(views) - active} ended recently · {time.strftime('%H:%M:%S')}"


def _row(view: RunView) -> list[str]:
    took = duration((view.ended or time.time()) - view.started) if view.started else ""
    phase = phase_of(view)
    cause = view.outcome.cause.message if view.outcome and view.outcome.cause else ""
    logged = list(view.metrics.items())[:_MOST_METRICS]
    metrics = "  ".join(f"{name} {number(untag_float(value))}" for name, value in logged)
    status = run_status.visible_status(view.status, view.waiting)
    return [view.id, status, took, cause or ("" if phase == status else phase), metrics]
