"""`footplate runs list`, `compare` and `diff`.

Columns are fields of a run: `status`, `took`, `metrics.loss`, `params.lr`, `tags.model`.
"""

from __future__ import annotations

import csv
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

from footplate.cli import context
from footplate.cli.console import ago, duration, emit, emit_each, iso, number, paint, say
from footplate.cli.context import (
    find_run,
    in_workspace_with_json,
    names_of,
    open_workspace,
    tag_filter_option,
    workspace_option,
)
from footplate.cli.runs.group import runs
from footplate.cli.runs.unknown import check_experiment, check_names, fields_in, nearest_hint
from footplate.cli.tables import print_table
from footplate.domain.codec import to_json
from footplate.domain.floats import untag_float
from footplate.domain.records import RunView
from footplate.domain.runs import run_status
from footplate.domain.runs.run_filter import Field, quote
from footplate.domain.runs.run_status import STATUSES
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs.filters import absolute
from footplate.sdk.workspace import Workspace

C = TypeVar("C", bound=Callable[..., Any])
_DEFAULT = ("id", "experiment", "status", "created", "took", "name")
_EVERYTHING = "*"
_ROWS = 20  # of a table, unless --limit is given

_WHICH = (
    click.option(
        "-e", "--experiment", metavar="NAME", shell_complete=names_of("experiments"),
        help="Only runs of this experiment.",
    ),
    click.option(
        "-s", "--status", multiple=True, type=click.Choice(STATUSES, case_sensitive=False),
        help="Only runs with this status; repeatable.",
    ),
    tag_filter_option,
    click.option(
        "--where", metavar="FILTER",
        help="A filter such as \"metrics.loss < 0.2 and params.lr >= 0.01 and started > '2h ago'\".",
    ),
    click.option("--children", is_flag=True, help="Include child runs."),
    click.option("--archived", is_flag=True, help="List archived runs instead."),
    click.option(
        "-n", "--limit", type=click.IntRange(1), metavar="N",
        help="The maximum number of runs.  [default: 20 in a table, all with --csv and --json]",
    ),
)  # fmt: skip


def which_runs(command: C) -> C:
    """Add the options that select runs."""
    for option in reversed(_WHICH):
        command = option(command)
    return command


@runs.command("list")
@which_runs
@click.option(
    "--sort", metavar="[-]METRIC", help="By the last value of a metric, smallest first; with - largest first."
)
@click.option("--ascending", is_flag=True, help="Oldest first.")
@click.option(
    "--columns", metavar="FIELD,…", help="What to print, such as id,status,metrics.loss,params.lr,tags.model."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option(
    "--json", "fields", metavar="[FIELD,…]", is_flag=False, flag_value=_EVERYTHING,
    help="Print JSON: everything, or only these fields.",
)  # fmt: skip
@workspace_option
def list_runs(
    sort: str | None,
    ascending: bool,
    columns: str | None,
    as_csv: bool,
    fields: str | None,
    workspace_name: str | None,
    **which: Any,
) -> None:
    """List runs, newest first."""
    printed_columns = split_columns(columns) if columns else [*_DEFAULT]
    if which["children"] and not columns:
        printed_columns.insert(1, "parent")
    chosen = None if fields in (None, _EVERYTHING) else split_columns(str(fields))
    metric = (sort or "").removeprefix("-").removeprefix("metrics.")
    if metric and not columns:
        printed_columns.append(f"metrics.{metric}")
    if sort and ascending:
        raise click.UsageError(f"--ascending is for the order by time; for {metric}, use --sort {metric}")
    query = _query(which)
    query["show"] = [_EVERYTHING] if fields == _EVERYTHING else metrics_in(chosen or printed_columns)
    query["ascending"] = ascending
    if sort:
        query.update(order=f"metric:{metric}", metric=metric, ascending=not sort.startswith("-"))
        say(f"sorted by {metric}, {'largest' if sort.startswith('-') else 'smallest'} first")
    workspace = open_workspace(workspace_name)
    is_table = not as_csv and not fields
    selected = select_runs(workspace, query, which, [Field("metrics", metric)] if metric else [], is_table)
    if as_csv:
        write_csv(printed_columns, selected)
    elif fields:
        emit_each(to_json(view) if chosen is None else as_object(view, chosen) for view in selected)
    else:
        views = list(selected)
        _print(views, printed_columns)
        _say_rest(workspace, query, len(views), which["limit"])
        if not which["children"]:
            parents = [view.id for view in views if view.has_children]
            have = f"{parents[0]} has" if len(parents) == 1 else f"{len(parents)} of these runs have"
            if parents:
                say(f"{have} child runs; to see them, add --children")


@runs.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1, shell_complete=names_of("runs"))
@which_runs
@click.option("--all", "everything", is_flag=True, help="Also columns in which the runs do not differ.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@in_workspace_with_json
def compare(
    run_ids: tuple[str, ...], everything: bool, as_csv: bool, workspace: Workspace, as_json: bool, **which: Any
) -> None:
    """Compare the parameters and metrics of runs: of RUN..., or of those that the options select."""
    query = _query(which)
    query["show"] = [_EVERYTHING]
    if run_ids:
        ids = [context.find_view(workspace, run_id).id for run_id in run_ids]
        query.update(where=f"id in ({', '.join(map(quote, ids))})", parent="any", archived=None)
        listed = {view.id: view for view in context.list_runs(workspace, None, **query)}
        views = [listed[run_id] for run_id in dict.fromkeys(ids)]
    else:
        views = list(select_runs(workspace, query, which, [], is_table=not as_csv and not as_json))
    printed_columns = ["id", "name", "status", *_different(views, everything)]
    if as_csv:
        write_csv(printed_columns, views)
    elif as_json:
        emit_each(as_object(view, printed_columns) for view in views)
    else:
        _print(views, printed_columns)
        if views and len(printed_columns) == 3:
            say("their parameters and metrics do not differ; --all shows them")
        if not run_ids:
            _say_rest(workspace, query, len(views), which["limit"])


def select_runs(
    workspace: Workspace, query: dict[str, Any], which: dict[str, Any], sorted_by: Sequence[Field], is_table: bool
) -> Iterator[RunView]:
    """Return the runs of a query: all of them, unless a limit is given or they are for a table.

    If there are none, raise for names that do not exist.
    """
    views = context.list_runs(workspace, which["limit"] or (_ROWS if is_table else None), **query)
    first = next(views, None)
    if first is not None:
        return itertools.chain([first], views)
    if which["experiment"]:
        check_experiment(workspace, which["experiment"])
    tags = [Field("tags", tag.partition("=")[0].replace("%3D", "=").replace("%25", "%")) for tag in which["tags"]]
    check_names(workspace, which["experiment"], [*sorted_by, *tags, *fields_in(query["where"])])
    return views


def _say_rest(workspace: Workspace, query: dict[str, Any], shown: int, limit: int | None) -> None:
    """Say how many runs the table leaves out. A table below its limit leaves out none."""
    if shown < (limit or _ROWS):
        return
    filters = {name: value for name, value in query.items() if name not in ("show", "order", "ascending")}
    total = workspace.session.api.runs.count(workspace.id, **filters)
    if total.more:
        say(f"{shown} of more than {total.count} runs; --csv and --json print all of them")
    elif total.count > shown:
        say(f"{shown} of {total.count} runs; for more, use --limit {total.count}")


def _query(which: dict[str, Any]) -> dict[str, Any]:
    return {
        "experiment": which["experiment"],
        "status": which["status"],
        "tag": which["tags"],
        "where": None if which["where"] is None else absolute(which["where"]),
        "parent": "any" if which["children"] else "none",
        "archived": which["archived"],
    }


def _different(views: Sequence[RunView], everything: bool) -> list[str]:
    """Return the columns of parameters and metrics in which the runs differ."""
    columns: list[str] = []
    for kind, attribute in (("params", "parameters"), ("metrics", "metrics")):
        names = dict.fromkeys(name for view in views for name in getattr(view, attribute))
        for column in (f"{kind}.{name}" for name in names):
            values = {repr(value(view, column)) for view in views}
            if everything or len(values) > 1:
                columns.append(column)
    return columns


def _print(views: Sequence[RunView], columns: Sequence[str]) -> None:
    if not views:
        say("no runs")
        return
    short = [heading(column) for column in columns]
    # A name that occurs twice keeps its kind.
    headings = [name if short.count(name) == 1 else column for name, column in zip(short, columns, strict=True)]
    right = [name for name, column in zip(headings, columns, strict=True) if "." in column or column == "took"]
    rows = [[cell(view, column) for column in columns] for view in views]
    drop = [name for name in ("experiment", "name", "took", "created") if name in headings and headings[0] != name]
    print_table(headings, rows, right=right, shrink=["experiment", "name", "note"], drop=drop)


@runs.command()
@click.argument("before", metavar="RUN", shell_complete=names_of("runs"))
@click.argument("after", metavar="RUN", shell_complete=names_of("runs"))
@in_workspace_with_json
def diff(before: str, after: str, workspace: Workspace, as_json: bool) -> None:
    """Show what differs between two runs: arguments, code, environment, data and metrics."""
    difference = find_run(workspace, before)[0].diff(find_run(workspace, after)[0])
    if as_json:
        emit(difference)
        return
    same: list[str] = []
    for name, changes in difference.sections().items():
        if not changes:
            same.append(name)
            continue
        click.echo(paint(name, bold=True))
        print_table(
            ["what", difference.before, difference.after],
            [[change.what, change.before or "–", change.after or "–"] for change in changes],
            shrink=[difference.before, difference.after],
            names=[difference.before, difference.after],
        )
        click.echo()
    say(f"the same: {', '.join(same)}" if same else "everything differs")


_NAMED = {"metrics": "metrics", "params": "parameters", "tags": "tags", "properties": "properties"}
_SHORT = {"took": "duration", "by": "created_by", "note": "description"}
_TIMES = ("created", "started", "ended", "archived")
FIELDS = (
    "id", "experiment", "status", "created", "started", "ended", "took", "name", "note", "by", "target", "attempt",
    "number", "parent", "type", "snapshot", "lock", "archived",
)  # fmt: skip


def split_columns(text: str) -> list[str]:
    """Return the columns of a list with commas; refuse a field that no run has."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        kind, dot, _ = name.partition(".")
        if name not in FIELDS and not (dot and kind in _NAMED):
            raise UserErrorException(
                f"runs have no field {name!r}",
                hint=nearest_hint(name, FIELDS) or f"use {', '.join(FIELDS)}, or metrics., params., tags.NAME",
            )
    return names


def metrics_in(columns: Iterable[str]) -> list[str]:
    return [name.partition(".")[2] for name in columns if name.startswith("metrics.")]


def value(view: RunView, column: str) -> Any:
    """Return the field as a plain value; None when the run does not have it."""
    kind, dot, name = column.partition(".")
    if dot and kind in _NAMED:
        stored = getattr(view, _NAMED[kind]).get(name)
        return untag_float(stored)
    if column == "took":
        return None if view.started is None else (view.ended or time.time()) - view.started
    if column == "name":
        return view.display_name or view.name
    return to_json(getattr(view, _SHORT.get(column, column)))


def cell(view: RunView, column: str) -> str:
    """Return the field as people read it."""
    plain = value(view, column)
    if plain is None or plain == "":
        return ""
    if column in _TIMES:
        return ago(plain)
    if column == "took":
        return duration(plain)
    if column == "status":
        return run_status.visible_status(view.status, view.waiting)
    return number(plain)


def heading(column: str) -> str:
    """Return the name of a column in a table: metrics and parameters without the kind."""
    return column.partition(".")[2] or column


def write_csv(columns: Sequence[str], views: Iterable[RunView]) -> None:
    """Print CSV to stdout, with all digits, times as ISO 8601 in UTC, and durations in seconds."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for view in views:
        values = [(column, value(view, column)) for column in columns]
        writer.writerow(["" if v is None else iso(v) if column in _TIMES else v for column, v in values])


def as_object(view: RunView, columns: Sequence[str]) -> dict[str, Any]:
    return {column: to_json(value(view, column)) for column in columns}
