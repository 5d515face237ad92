"""`footplate compute`."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from footplate.cli.console import ago, counted, duration, emit, pairs, say, tag_words, when
from footplate.cli.context import json_option, names_of, open_workspace, workspace_option
from footplate.cli.main import Noun, Unusable
from footplate.cli.tables import table
from footplate.domain import shapes
from footplate.domain.codec import from_json, to_json
from footplate.domain.records import RunView, Waiting
from footplate.domain.targets import LOCAL
from footplate.sdk.compute.targets import MANY_NODES, AmlCompute, ComputeTarget


@click.group(cls=Noun)
def compute() -> None:
    """List, make and delete compute targets.

    `local` is always there: the machine of the server, as many runs at once as its cores allow. A cluster is a queue:
    at most so many nodes run at once, and what does not fit waits and says why.
    """


_SHOWN_OPTIONS = ("description", "vm_size", "vm_priority", "tags")


def _size(name: str) -> str:
    shape = shapes.shape_of(name)
    return f"{name} ({shapes.describe(shape)})" if shape is not None else name


def _nodes(found: dict[str, Any]) -> str:
    words = [f"{found['busy_nodes']} busy", f"{found['idle_nodes']} idle", f"at most {found['max_nodes']}"]
    there, wanted = found["current_nodes"], found["target_nodes"]
    return ", ".join([*words, f"{there} on the way to {wanted}"] if there != wanted else words)


@compute.command("list")
@workspace_option
@json_option
def list_computes(workspace_name: str | None, as_json: bool) -> None:
    """List compute targets."""
    workspace = open_workspace(workspace_name)
    path = f"/workspaces/{workspace.id}/computes"
    clusters = [c for c in workspace.session.items(path) if c["name"] != LOCAL]
    found = [workspace.session.get(f"{path}/{LOCAL}"), *clusters]
    if as_json:
        emit(found)
        return
    rows = [
        [c["name"], c["engine"], c["busy_nodes"], c["idle_nodes"], c["max_nodes"], c["waiting_runs"], c["state"]]
        for c in found
    ]
    numbers = ["busy nodes", "idle nodes", "at most", "waiting runs"]
    table(["name", "engine", *numbers, "state"], rows, right=numbers, drop=["engine", "state"])


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@workspace_option
@json_option
def show(name: str, workspace_name: str | None, as_json: bool) -> None:
    """Show all about a compute target."""
    workspace = open_workspace(workspace_name)
    found: dict[str, Any] = workspace.session.get(f"/workspaces/{workspace.id}/computes/{name}")
    if as_json:
        emit(found)
        return
    options: dict[str, Any] = found["options"]
    pairs(
        [
            ("name", found["name"]),
            ("description", options.get("description")),
            ("state", found["state"]),
            ("engine", found["engine"]),
            ("nodes", _nodes(found)),
            ("idle nodes", f"{found['min_nodes']} stay, others for {duration(found['idle_seconds'])}"),
            ("GPUs", f"{found['busy_gpus']} of {found['gpus']} in use, by any target" if found["gpus"] else None),
            ("waiting runs", str(found["waiting_runs"])),
            ("vm size", _size(str(options.get("vm_size") or ""))),
            ("vm priority", options.get("vm_priority")),
            ("tags", tag_words(options.get("tags") or {})),
            *((name, str(value)) for name, value in sorted(options.items()) if name not in _SHOWN_OPTIONS),
            ("created", f"{when(found['created'])} ({ago(found['created'])})" if found["created"] else None),
        ]
    )


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@workspace_option
@json_option
def queue(name: str, workspace_name: str | None, as_json: bool) -> None:
    """Show who waits for a compute target, and why.

    The more urgent come first, then who came first. A run that is small and short enough goes before one that must
    wait, if nobody before it starts any later for that: then all of them need a time limit. All targets of a machine
    share its GPUs, and wait for them in one order.
    """
    workspace = open_workspace(workspace_name)
    path = f"/workspaces/{workspace.id}"
    target = workspace.session.get(f"{path}/computes/{name}")["name"]
    queued = workspace.session.items(f"{path}/runs", {"status": "Queued", "parent": "any"})
    views = [from_json(RunView, run) for run in queued if run["target"] == target]
    found = [(view, view.waiting or Waiting("it has just come", 0)) for view in views]
    found.sort(key=lambda pair: pair[1].position)
    if as_json:
        emit([{"run": view.id, "created": view.created, **to_json(waiting)} for view, waiting in found])
        return
    if not found:
        say(f"nobody waits for {target}")
        return
    rows = [[w.position, view.id, w.nodes, w.gpus, ago(view.created), _within(w.latest), w.reason] for view, w in found]
    numbers = ["place", "nodes", "GPUs"]
    columns = ["place", "run", "nodes", "GPUs", "submitted", "starts within", "waits because"]
    table(columns, rows, right=numbers, wrap=["waits because"], drop=["submitted"])


def _within(latest: float | None) -> str:
    return "" if latest is None else duration(max(0.0, latest - time.time()))


@compute.command()
@click.argument("name")
@click.option("--max-nodes", type=click.IntRange(1), required=True, help="How many nodes may run at once.")
@click.option("--min-nodes", type=click.IntRange(0), default=0, show_default=True, help="How many always stay.")
@click.option("--idle-seconds", type=float, default=1800.0, show_default=True, help="Before a node is given back.")
@click.option("--vm-size", default="", metavar="SIZE", help="What its nodes are to be like, e.g. STANDARD_NC6.")
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
    """Make a cluster, or replace one that exists: what is not given gets its default."""
    workspace = open_workspace(workspace_name)
    wanted = AmlCompute.provisioning_configuration(
        vm_size=vm_size, min_nodes=min_nodes, max_nodes=max_nodes, idle_seconds_before_scaledown=idle_seconds
    )
    made = ComputeTarget.create(workspace, name, wanted)
    if as_json:
        emit(workspace.session.get(f"/workspaces/{workspace.id}/computes/{made.name}"))
    else:
        say(f"{made.name} is ready: at most {counted(max_nodes, 'node')} at once")


@compute.command()
@click.argument("kind")
@click.argument("name")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the engine; repeatable.")
@click.option("--max-nodes", type=click.IntRange(1), default=MANY_NODES, show_default=True, help="Nodes at once.")
@workspace_option
@json_option
def add(
    kind: str, name: str, options: tuple[str, ...], max_nodes: int, workspace_name: str | None, as_json: bool
) -> None:
    """Add a compute target on an engine of the server: KIND is the engine, such as `local`.

    A value that is JSON (a number, a list, an object) is passed as such. An unknown engine or option is refused, with
    the valid ones.
    """
    workspace = open_workspace(workspace_name)
    given: dict[str, Any] = {"max_nodes": max_nodes, **dict(map(_option, options))}
    wanted = ComputeTarget.engine_configuration(kind, **given)
    made = ComputeTarget.attach(workspace, name, wanted)
    if as_json:
        emit(workspace.session.get(f"/workspaces/{workspace.id}/computes/{made.name}"))
    else:
        say(f"{made.name} is ready: runs there start through the engine {kind!r}")


def _option(text: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise Unusable(f"--option {text!r} is not KEY=VALUE", "write it as: --option partition=gpu")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


@compute.command()
@click.argument("name", shell_complete=names_of("computes"))
@workspace_option
def delete(name: str, workspace_name: str | None) -> None:
    """Delete a cluster that has no runs left."""
    workspace = open_workspace(workspace_name)
    workspace.session.delete(f"/workspaces/{workspace.id}/computes/{name}")
    say(f"{name} is deleted")
