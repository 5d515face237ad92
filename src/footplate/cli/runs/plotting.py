"""`footplate runs metrics`, `plot` and `images`: the course of a run."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Sequence

import click

from footplate.cli.console import emit, is_terminal, is_within, printable, say, size
from footplate.cli.context import (
    find_view,
    in_workspace_with_json,
    names_of,
    run_argument,
)
from footplate.cli.runs import charts, images, plots
from footplate.cli.runs.group import runs
from footplate.cli.runs.unknown import nearest_hint
from footplate.cli.tables import print_table
from footplate.domain.records import FileView
from footplate.domain.replies import MetricSeries
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session
from footplate.sdk.workspace import Workspace

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif")
_LARGEST = 32 * 1024 * 1024  # bytes of an image that is shown
_SHOWN = 10  # metrics that an error names
_NAMED = 3  # images that the command to download them names


@runs.command()
@run_argument
@click.option(
    "--name",
    metavar="METRIC",
    shell_complete=names_of("metrics"),
    help="One metric: a plot on a terminal, its values in a pipe.",
)
@click.option("--system", is_flag=True, help="The machine's series instead: CPU, memory, GPU, disk, network.")
@in_workspace_with_json
def metrics(run_id: str, name: str | None, system: bool, workspace: Workspace, as_json: bool) -> None:
    """Show the metrics of a run. `footplate runs plot` draws those of several runs."""
    view = find_view(workspace, run_id)
    if name and not as_json:
        charts.show_series({view.id: [_read(workspace.session, view.id, name, system)]})
        return
    series = workspace.session.api.metrics.read(view.id, name=name, system=system)[view.id]
    if as_json:
        emit(series)
    elif series:
        charts.show_table(series)
    else:
        say(f"{view.id} logged no metrics")


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=names_of("runs"))
@click.option(
    "-m", "--metric", "names", multiple=True, metavar="METRIC", shell_complete=names_of("metrics"),
    help="What to draw; repeatable.  [default: the only metric of the first run]",
)  # fmt: skip
@click.option("--x", "axis", type=click.Choice(["step", "time"]), default="step", show_default=True, help="The x axis.")
@click.option("--system", is_flag=True, help="The machine's series: CPU, memory, GPU, disk, network.")
@in_workspace_with_json
def plot(
    run_ids: tuple[str, ...], names: tuple[str, ...], axis: str, system: bool, workspace: Workspace, as_json: bool
) -> None:
    """Draw metrics of runs in one plot, as wide as the terminal.

    In a pipe, their values are printed instead: run, step and value, separated by tabs.
    """
    targets = [find_view(workspace, run_id) for run_id in run_ids]
    session = workspace.session
    chosen = names or [_only_metric(session, targets[0].id, system)]
    ids = dict.fromkeys(view.id for view in targets)
    if len(ids) * len(chosen) > plots.MOST_LINES:
        raise click.UsageError(f"{len(ids) * len(chosen)} lines are too many for a plot: at most {plots.MOST_LINES}")
    series = {run: [_read(session, run, name, system) for name in dict.fromkeys(chosen)] for run in ids}
    if as_json:
        emit(series)
    else:
        charts.show_series(series, by_time=axis == "time")


def _read(session: Session, run: str, name: str, system: bool) -> MetricSeries:
    series = session.api.metrics.read(run, name=name, system=system)[run]
    if not series:
        names = [each.name for each in session.api.metrics.summary(run) if each.system == system]
        raise UserErrorException(
            f"run {run} has no metric {name!r}",
            hint=nearest_hint(name, names)
            or f"list its metrics with: footplate runs metrics {run}{' --system' * system}",
        )
    return series[0]


def _only_metric(session: Session, run: str, system: bool) -> str:
    names = [each.name for each in session.api.metrics.summary(run) if each.system == system and each.kind == "scalar"]
    if len(names) == 1:
        return names[0]
    if not names:
        raise UserErrorException(f"run {run} logged no numbers", hint="scripts log them with run.log('loss', 0.1)")
    more = ", …" if len(names) > _SHOWN else ""
    raise click.UsageError(f"choose what to draw with --metric: {', '.join(names[:_SHOWN])}{more}")


@runs.command("images")
@run_argument
@click.argument("paths", nargs=-1, shell_complete=names_of("files"))
@in_workspace_with_json
def show_images(run_id: str, paths: tuple[str, ...], workspace: Workspace, as_json: bool) -> None:
    """Show the images of a run, or list them where the terminal cannot show images.

    PATHS are files or folders of the run; by default all images. The terminals of kitty, Ghostty, Konsole, iTerm2,
    WezTerm and mintty show them. FOOTPLATE_IMAGES=kitty, iterm2 or none decides instead.
    """
    view = find_view(workspace, run_id)
    files = _images(workspace.session.api.files.list(view.id), paths)
    if not files:
        named = f" {paths[0]!r}" if paths else ""
        raise UserErrorException(
            f"run {view.id} has no image{named}",
            hint="scripts log images with run.log_image('name', plot=plt), or write PNG files to ./outputs",
        )
    if as_json:
        emit(files)
        return
    protocol = images.protocol(os.environ) if is_terminal() else "none"
    not_shown = (
        files
        if protocol == "none"
        else [file for file in files if not _show(workspace.session, view.id, file, protocol)]
    )
    if not_shown:
        print_table(["path", "size"], [[file.path, size(file.size)] for file in not_shown], right=["size"])
        named = shlex.join(printable(file.path) for file in not_shown) if len(not_shown) <= _NAMED else ""
        say(f"this terminal cannot show {'it' if len(not_shown) == 1 else 'them'}; download with:")
        say(f"  footplate runs download {view.id} {named}".rstrip())


def _images(files: Iterable[FileView], paths: Sequence[str]) -> list[FileView]:
    return [
        file
        for file in files
        if file.path.lower().endswith(_SUFFIXES) and (not paths or any(is_within(file.path, path) for path in paths))
    ]


def _show(session: Session, run: str, file: FileView, protocol: str) -> bool:
    """Show an image if the terminal can."""
    if file.size > _LARGEST:
        return False
    content = b"".join(session.api.files.read(run, file.path))
    if not images.can_show(content, protocol):
        return False
    click.echo(file.path)
    columns = shutil.get_terminal_size().columns
    click.echo(images.sequence(content, protocol, columns, images.cell_width()))
    return True
