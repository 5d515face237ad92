"""`footplate compute list`, `show`, `queue`, `create`, `delete` and `remove`."""

from __future__ import annotations

import time
from typing import Any

import click

from footplate.cli.compute.group import compute
from footplate.cli.console import ago, counted, duration, emit, pairs, say, tag_words, when
from footplate.cli.context import confirm, json_option, names_of, open_workspace, workspace_option, yes_option
from footplate.cli.tables import table
from footplate.domain import shapes
from footplate.domain.codec import to_json
from footplate.domain.node_kinds import KnownKind, describe, summarize
from footplate.domain.records import ComputeView, Waiting
from footplate.domain.targets import LOCAL
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget

_LONGEST_BOUND = 7 * 86400.0
_SHOWN_OPTIONS = ("description", "vm_size", "vm_priority", "tags")


def _size(name: str) -> str:
    shape = shapes.shape_of(name)
    return f"{name} ({shapes.describe(shape)})" if shape is not None else name


def _nodes(found: ComputeView) -> str:
    words = [f"{found.busy_nodes} busy", f"{found.idle_nodes} idle", f"at most {found.max_nodes}"]
    there, wanted = found.current_nodes, found.target_nodes
    return ", ".join([*words, f"{there}, resizing to {wanted}"] if there != wanted else words)


@compute.command("list")
@workspace_option
@json_option
def list_computes(workspace_name: str | None, as_json: bool) -> None:
    """List compute targets."""
    workspace = open_workspace(workspace_name)
    computes = workspace.session.api.computes
    found = [computes.get(workspace.id, LOCAL), *(c for c in computes.list(workspace.id) if c.name != LOCAL)]
    if as_json:
        emit(found)
        return
    rows = [[c.name, c.engine, c.busy_nodes, c.idle_nodes, c.max_nodes, c.waiting_runs, c.state] for c in found]
    numbers = ["busy nodes", "idle nodes", "at most", "waiting runs"]
    table(["name", "engine", *numbers, "state"], rows, right=numbers, drop=["engine", "state"])


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@workspace_option
@json_option
def show(name: str, workspace_name: str | None, as_json: bool) -> None:
    """Show a compute target."""
    workspace = open_workspace(workspace_name)
    found = workspace.session.api.computes.get(workspace.id, name)
    if as_json:
        emit(found)
        return
    options: dict[str, Any] = found.options
    pairs(
        [
            ("name", found.name),
            ("description", options.get("description")),
            ("state", found.state),
            ("engine", found.engine),
            ("nodes", _nodes(found)),
            ("idle nodes", f"{found.min_nodes} always on, others idle for {duration(found.idle_seconds)}"),
            ("GPUs", f"{found.busy_gpus} of {found.gpus} in use by all targets" if found.gpus else None),
            ("waiting runs", str(found.waiting_runs)),
            ("vm size", _size(str(options.get("vm_size") or ""))),
            ("vm priority", options.get("vm_priority")),
            ("tags", tag_words(options.get("tags") or {})),
            *((name, str(value)) for name, value in sorted(options.items()) if name not in _SHOWN_OPTIONS),
            *(("node kind", _kind(known)) for known in found.kinds),
            ("created", f"{when(found.created)} ({ago(found.created)})" if found.created else None),
        ]
    )


@compute.command()
@click.argument("name", required=False, shell_complete=names_of("computes"))
@workspace_option
@json_option
def queue(name: str | None, workspace_name: str | None, as_json: bool) -> None:
    """Show the runs that wait for a compute target or for its cluster, and why; without NAME, for all targets.

    Runs are ordered by priority, then by submission time. Backfill: a small, short run may overtake a waiting run if
    it does not delay it; this requires time limits (--timeout). A run starts within the time shown even if those before
    it use their whole time limits. All targets of a machine share its GPUs and one queue for them.
    """
    workspace = open_workspace(workspace_name)
    target = name and workspace.session.api.computes.get(workspace.id, name).name
    queued = workspace.session.api.runs.list(workspace.id, status=["Queued", "Provisioning"], parent="any")
    views = [view for view in queued if view.target == (target or view.target)]
    found = [(v, v.waiting or Waiting("just submitted", 0)) for v in views if v.status == "Queued" or v.waiting]
    found.sort(key=lambda pair: (pair[0].target or "", pair[1].position))
    if as_json:
        lines = [{"run": v.id, "target": v.target, "created": v.created, **to_json(waiting)} for v, waiting in found]
        emit(lines)
        return
    if not found:
        say(f"no runs wait for {target}" if target else "no runs wait")
        return
    rows = [
        [w.position, v.id, v.target, w.nodes, w.gpus, ago(v.created), _within(w.latest), w.reason] for v, w in found
    ]
    columns = ["place", "run", "target", "nodes", "GPUs", "submitted", "starts within", "waits because"]
    if target:
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    table(columns, rows, right=["place", "nodes", "GPUs"], wrap=["waits because"], drop=["submitted"])


def _within(latest: float | None) -> str:
    """Return the time until the latest start. A bound of weeks comes from default time limits, and says nothing."""
    left = None if latest is None else max(0.0, latest - time.time())
    return duration(left) if left is not None and left < _LONGEST_BOUND else ""


@compute.command()
@click.argument("name")
@click.option("--max-nodes", type=click.IntRange(1), required=True, help="Nodes that may run at once.")
@click.option("--min-nodes", type=click.IntRange(0), default=0, show_default=True, help="Nodes that stay on when idle.")
@click.option(
    "--idle-seconds",
    type=float,
    default=1800.0,
    show_default=True,
    help="How long a node stays idle before it is released.",
)
@click.option("--vm-size", default="", metavar="SIZE", help="The VM size of its nodes, e.g. STANDARD_NC6.")
@workspace_option
@json_option
def create(
    name: str,
    max_nodes: int,
    min_nodes: int,
    idle_seconds: float,
    vm_size: str,
    workspace_name: str | None,
    as_json: bool,
) -> None:
    """Create a cluster, or replace an existing one. Options that are not given get their defaults."""
    workspace = open_workspace(workspace_name)
    wanted = AmlCompute.provisioning_configuration(
        vm_size=vm_size, min_nodes=min_nodes, max_nodes=max_nodes, idle_seconds_before_scaledown=idle_seconds
    )
    made = ComputeTarget.create(workspace, name, wanted)
    if as_json:
        emit(workspace.session.api.computes.get(workspace.id, made.name))
    else:
        say(f"{made.name} is ready: at most {counted(max_nodes, 'node')} at once")


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@yes_option
@workspace_option
def delete(name: str, yes: bool, workspace_name: str | None) -> None:
    """Delete a compute target that has no active runs."""
    _delete(name, yes, workspace_name)
    say(f"{name} is deleted")


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@yes_option
@workspace_option
def remove(name: str, yes: bool, workspace_name: str | None) -> None:
    """Remove a target from the workspace, like `delete`. A cluster behind it is not touched."""
    _delete(name, yes, workspace_name)
    say(f"{name} is removed")


def _delete(name: str, yes: bool, workspace_name: str | None) -> None:
    workspace = open_workspace(workspace_name)
    found = workspace.session.api.computes.get(workspace.id, name)
    confirm(f"delete compute target {found.name}? A cluster behind it is not touched.", yes)
    workspace.session.api.computes.delete(workspace.id, name)


def _kind(known: KnownKind) -> str:
    pythons = sorted({python.rsplit(".", 1)[0] for python in known.kind.pythons.values()}, key=_as_numbers)
    words = f"{describe(summarize(known.kind))}; Python {', '.join(pythons) or 'unknown'}"
    return f"{words}; if a run requests {known.request}" if known.request else words


def _as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
