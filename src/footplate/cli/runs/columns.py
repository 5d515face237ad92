"""Fields of a run as cells: `status`, `took`, `metrics.loss`, `params.lr`, `tags.model`."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from footplate.cli.console import ago, duration, iso, number
from footplate.cli.runs.unknown import nearest_hint
from footplate.domain.codec import to_json
from footplate.domain.floats import untag_float
from footplate.domain.records import RunView
from footplate.domain.runs import run_status
from footplate.sdk.exceptions import UserErrorException

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
