"""The end of a node whose ranks have ended: send what is left, and remove the node's directory."""

from __future__ import annotations

import os

from footplate import environ
from footplate.domain.orders import Cause
from footplate.errors import Conflict, NotAllowed, NotFound
from footplate.node.delivery import disk_wait, output_files
from footplate.node.log import say
from footplate.node.node_context import NodeContext

_WAIT_SECONDS = 20.0


def ship_everything(node: NodeContext) -> None:
    """Ship what is left, report that this was all, and remove the node's directory."""
    keep = os.environ.get(environ.KEEP_WORK) == "1"
    limit = node.orders.full_disk_seconds
    left_out: list[str] = []
    if node.folder.keeps_wd:
        _wait_for_other_nodes(node)
        store = output_files.store_of(node.options.home, node.link, node.folder, node.orders, keep, say)
        left_out = output_files.collect(node.orders.collect, store, node.link, node.folder, say, limit)
    if node.data is not None and node.data.waits_for_others:
        node.data.conclude(say)
    reporter = node.reporter()
    is_shipped = reporter.finish(0.0 if left_out else limit, concludes=not left_out)
    cause = disk_wait.not_stored(left_out, not is_shipped, node.folder, node.options.node, limit)
    if cause is not None:
        node.link.retry(node.folder.keep)
    if not reporter.has_concluded:
        _report_done(node, cause)
    if not keep and cause is None:
        node.folder.remove()


def _report_done(node: NodeContext, cause: Cause | None) -> None:
    try:
        node.link.retry(lambda: node.link.tell("lost" if cause else "done", cause=cause))
    except (NotFound, Conflict, NotAllowed) as error:
        say(f"the run had already ended: {error.message}")


def _wait_for_other_nodes(node: NodeContext) -> None:
    """Wait for the ranks of the other nodes, which write into the working directory of this one."""
    try:
        while node.folder.shared and node.orders.nodes > 1 and not node.orders.others_ended:
            node.orders = node.link.retry(lambda: node.link.orders(_WAIT_SECONDS, "ended"))
    except (NotFound, Conflict, NotAllowed) as error:
        say(f"the run had already ended: {error.message}")
