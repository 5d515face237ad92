"""`footplate compute check`: what works on the nodes of a target, and what would not."""

from __future__ import annotations

import click

from footplate.cli.compute.group import compute
from footplate.cli.console import counted, emit, say, word
from footplate.cli.context import in_workspace_with_json, names_of
from footplate.cli.tables import table
from footplate.sdk.target_check import check_target
from footplate.sdk.workspace import Workspace


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
        table(["node", "check", "state", "finding"], rows, wrap=["finding"])
    if report.problem:
        say(f"{len(report.nodes)} of {counted(report.requested, 'node')} have answered: {report.problem}")
    say(f"{name} {'is usable' if report.is_usable else 'has problems'}; see also: footplate runs show {report.run}")
    return 0 if report.is_usable else 1
