"""`footplate compute list`, `show`, `queue`, `create`, `delete`, `remove` and `check`."""

from __future__ import annotations

import time
from typing import Any

import click

from footplate.cli.compute.group import compute
from footplate.cli.console import ago, counted, duration, emit, emit_or_pairs, say, tag_words, when, word
from footplate.cli.context import (
    confirm,
    in_workspace,
    in_workspace_with_json,
    names_of,
    yes_option,
)
from footplate.cli.tables import print_table
from footplate.domain import shapes
from footplate.domain.codec import to_json
from footplate.domain.node_kinds import KnownKind, describe, summarize
from footplate.domain.records import ComputeView, Waiting
from footplate.domain.targets import LOCAL
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.target_check import check_target
from footplate.sdk.workspace import Workspace

_LONGEST_BOUND = 7 * 86400.0
_SHOWN_OPTIONS = ("description", "vm_size", "vm_priority", "tags")


def _nodes(target: ComputeView) -> str:
    words = [f"{target.busy_nodes} busy", f"{target.idle_nodes} idle", f"at most {target.max_nodes}"]
    there, goal = target.current_nodes, target.target_nodes
    return ", ".join([*words, f"{there}, resizing to {goal}"] if there != goal else words)


@compute.command("list")
@in_workspace_with_json
def list_computes(workspace: Workspace, as_json: bool) -> None:
    """List compute targets."""
    computes = workspace.session.api.computes
    targets = [computes.get(workspace.id, LOCAL), *(c for c in computes.list(workspace.id) if c.name != LOCAL)]
    if as_json:
        emit(targets)
        return
    rows = [[c.name, c.engine, c.busy_nodes, c.idle_nodes, c.max_nodes, c.waiting_runs, c.state] for c in targets]
    numbers = ["busy nodes", "idle nodes", "at most", "waiting runs"]
    print_table(["name", "engine", *numbers, "state"], rows, right=numbers, drop=["engine", "state"])


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@in_workspace_with_json
def show(name: str, workspace: Workspace, as_json: bool) -> None:
    """Show a compute target."""
    target = workspace.session.api.computes.get(workspace.id, name)
    options: dict[str, Any] = target.options
    vm_size = str(options.get("vm_size") or "")
    shape = shapes.shape_of(vm_size)
    facts = [
        ("name", target.name),
        ("description", options.get("description")),
        ("state", target.state),
        ("engine", target.engine),
        ("nodes", _nodes(target)),
        ("idle nodes", f"{target.min_nodes} always on, others idle for {duration(target.idle_seconds)}"),
        ("GPUs", f"{target.busy_gpus} of {target.gpus} in use by all targets" if target.gpus else None),
        ("waiting runs", str(target.waiting_runs)),
        ("vm size", vm_size if shape is None else f"{vm_size} ({shapes.describe(shape)})"),
        ("vm priority", options.get("vm_priority")),
        ("tags", tag_words(options.get("tags") or {})),
        *((name, str(value)) for name, value in sorted(options.items()) if name not in _SHOWN_OPTIONS),
        *(("node kind", _kind(kind)) for kind in target.kinds),
        ("created", f"{when(target.created)} ({ago(target.created)})" if target.created else None),
    ]
    emit_or_pairs(as_json, target, facts)


@compute.command()
@click.argument("name", required=False, shell_complete=names_of("computes"))
@in_workspace_with_json
def queue(name: str | None, workspace: Workspace, as_json: bool) -> None:
    """Show the runs that wait for a compute target or for its cluster, and why; without NAME, for all targets.

    Runs are ordered by priority, then by submission time. Backfill: a small, short run may overtake a waiting run if
    it does not delay it; this requires time limits (--timeout). A run starts within the time shown even if those before
    it use their whole time limits. All targets of a machine share its GPUs and one queue for them.
    """
    target = name and workspace.session.api.computes.get(workspace.id, name).name
    queued = workspace.session.api.runs.list(workspace.id, status=["Queued", "Provisioning"], parent="any")
    views = [view for view in queued if view.target == (target or view.target)]
    waiting_runs = [(v, v.waiting or Waiting("just submitted", 0)) for v in views if v.status == "Queued" or v.waiting]
    waiting_runs.sort(key=lambda pair: (pair[0].target or "", pair[1].position))
    if as_json:
        lines = [
            {"run": v.id, "target": v.target, "created": v.created, **to_json(waiting)} for v, waiting in waiting_runs
        ]
        emit(lines)
        return
    if not waiting_runs:
        say(f"no runs wait for {target}" if target else "no runs wait")
        return
    rows = [
        [w.position, v.id, v.target, w.nodes, w.gpus, ago(v.created), _within(w.latest), w.reason]
        for v, w in waiting_runs
    ]
    columns = ["place", "run", "target", "nodes", "GPUs", "submitted", "starts within", "waits because"]
    if target:
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    print_table(columns, rows, right=["place", "nodes", "GPUs"], wrap=["waits because"], drop=["submitted"])


def _within(latest: float | None) -> str:
    """Return the time until the latest start. A bound of weeks comes from default time limits, and says nothing."""
    seconds = None if latest is None else max(0.0, latest - time.time())
    return duration(seconds) if seconds is not None and seconds < _LONGEST_BOUND else ""


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
@in_workspace_with_json
def create(
    name: str,
    max_nodes: int,
    min_nodes: int,
    idle_seconds: float,
    vm_size: str,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Create a cluster, or replace an existing one. Options that are not given get their defaults."""
    config = AmlCompute.provisioning_configuration(
        vm_size=vm_size, min_nodes=min_nodes, max_nodes=max_nodes, idle_seconds_before_scaledown=idle_seconds
    )
    target = ComputeTarget.create(workspace, name, config)
    if as_json:
        emit(workspace.session.api.computes.get(workspace.id, target.name))
    else:
        say(f"{target.name} is ready: at most {counted(max_nodes, 'node')} at once")


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@yes_option
@in_workspace
def delete(name: str, yes: bool, workspace: Workspace) -> None:
    """Delete a compute target that has no active runs."""
    _delete(workspace, name, yes)
    say(f"{name} is deleted")


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@yes_option
@in_workspace
def remove(name: str, yes: bool, workspace: Workspace) -> None:
    """Remove a target from the workspace, like `delete`. A cluster behind it is not touched."""
    _delete(workspace, name, yes)
    say(f"{name} is removed")


def _delete(workspace: Workspace, name: str, yes: bool) -> None:
    target = workspace.session.api.computes.get(workspace.id, name)
    confirm(f"delete compute target {target.name}? A cluster behind it is not touched.", yes)
    workspace.session.api.computes.delete(workspace.id, name)


def _kind(known_kind: KnownKind) -> str:
    pythons = sorted(
        {python.rsplit(".", 1)[0] for python in known_kind.kind.pythons.values()},
        key=lambda v: [int(part) for part in v.split(".")],
    )
    words = f"{describe(summarize(known_kind.kind))}; Python {', '.join(pythons) or 'unknown'}"
    return f"{words}; if a run requests {known_kind.request}" if known_kind.request else words


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@click.option("--nodes", type=click.IntRange(1), metavar="N", help="Nodes to test.  [default: all of the cluster]")
@click.option(
    "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, metavar="SECONDS",
    help="How long to wait for the nodes to start, and then for their answers.",
)  # fmt: skip
@in_workspace_with_json
def check(name: str, nodes: int | None, timeout: float, workspace: Workspace, as_json: bool) -> int:
    """Test the nodes of a compute target: what works there, what would not, and why.

    A run starts a probe on each node, all at the same time, with the node's own Python. `warn` marks what only some
    runs need, `fail` what nothing works without. The exit code is 1 if something fails or a node does not answer.
    """
    report = check_target(workspace, name, nodes, timeout)
    if as_json:
        emit(report.serialize())
        return 0 if report.is_usable else 1
    rows = [
        [f"{node['node']} {node['host']}", finding["name"], word(finding["state"]), finding["message"]]
        for node in report.nodes
        for finding in node["findings"]
    ]
    if rows:
        print_table(["node", "check", "state", "finding"], rows, wrap=["finding"])
    if report.problem:
        say(f"{len(report.nodes)} of {counted(report.requested, 'node')} have answered: {report.problem}")
    say(f"{name} {'is usable' if report.is_usable else 'has problems'}; see also: footplate runs show {report.run}")
    return 0 if report.is_usable else 1
