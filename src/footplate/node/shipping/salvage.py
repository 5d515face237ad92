"""Ship what an earlier attempt with a lost agent left on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from footplate.domain.launch import NodeOrders
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder
from footplate.node.shipping import outputs
from footplate.node.shipping.server_link import Link
from footplate.node.shipping.shipper import NodeShipper

GRACE_SECONDS = 2.0
_AGENT_SECONDS = 30.0
"""Time for an agent that is alive and about to finish."""


def save(folder: NodeFolder, orders: NodeOrders, link: Link, home: str | None, say: Callable[[str], None]) -> None:
    """Kill the processes of that attempt, ship its logs, metrics and outputs, and remove its directory."""
    held = _take(folder)
    if held is None:
        say(f"{folder.path} belongs to an agent that is alive, and stays")
        return
    try:
        if not folder.exists():
            return
        say(f"shipping what an earlier attempt left in {folder.path}")
        process_tree.end(lambda: process_tree.members(folder.marker()), GRACE_SECONDS)
        folder.make()
        link = link.of_attempt(folder.attempt)
        shipper = NodeShipper(link, folder, orders, say, folder.read_bases())
        while link.retry(lambda: shipper.ship(writers_are_dead=True)):
            pass
        outputs.collect(orders.collect if folder.keeps_wd else (), link, home, folder, keep=False, say=say)
        folder.remove()
    finally:
        os.close(held)


def _take(folder: NodeFolder) -> int | None:
    deadline = time.monotonic() + _AGENT_SECONDS
    while True:
        held = folder.take_lock()
        if held is not None or time.monotonic() > deadline:
            return held
        time.sleep(0.1)
