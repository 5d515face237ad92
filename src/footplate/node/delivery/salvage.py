"""Ship what an earlier attempt with a lost agent left on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from footplate.domain.orders import NodeOrders
from footplate.errors import OutOfSpace
from footplate.node import process_tree
from footplate.node.delivery import output_files
from footplate.node.delivery.disk_wait import DiskWait, not_stored
from footplate.node.delivery.server_link import Link
from footplate.node.delivery.shipper import NodeShipper
from footplate.node.node_directory import NodeFolder

GRACE_SECONDS = 2.0
_AGENT_SECONDS = 30.0
"""Time for an agent that is alive and about to finish."""


def save(folder: NodeFolder, orders: NodeOrders, link: Link, home: str | None, say: Callable[[str], None]) -> None:
    """Kill the processes of that attempt, ship its logs, metrics and outputs, and remove its directory.

    The directory stays if there was no disk space for its files in time.
    """
    lock = _take(folder)
    if lock is None:
        if folder.exists():
            say(f"{folder.path} belongs to an agent that is alive, and stays")
        return
    try:
        if not folder.exists():
            return
        say(f"shipping what an earlier attempt left in {folder.path}")
        process_tree.end(lambda: process_tree.members(folder.marker()), GRACE_SECONDS)
        folder.make()
        link = link.of_attempt(folder.attempt)
        if _ship(folder, orders, link, home, say):
            folder.remove()
    finally:
        os.close(lock)


def _ship(folder: NodeFolder, orders: NodeOrders, link: Link, home: str | None, say: Callable[[str], None]) -> bool:
    """Return whether the server has everything; the rest found no disk space in time, and stays."""
    # The log of an attempt ends where the next one begins: later lines would end up between those of other attempts.
    is_last = folder.attempt == orders.attempt - 1
    shipper = NodeShipper(link, folder, orders, say, folder.read_bases(), with_logs=is_last)
    limit = orders.full_disk_seconds
    wait = DiskWait(link, limit, say)
    is_shipped = True
    try:
        while wait.run(lambda: shipper.ship(writers_are_dead=True), "the logs and metrics of an earlier attempt"):
            pass
    except OutOfSpace:
        is_shipped, limit = False, 0.0
    names = orders.collect if folder.keeps_wd else ()
    store = output_files.store_of(home, link, folder, orders, keep=False, say=say)
    left_out = output_files.collect(names, store, link, folder, say, limit)
    cause = not_stored(left_out, not is_shipped, folder, orders.node, orders.full_disk_seconds)
    if cause is not None:
        message = f"attempt {folder.attempt}: {cause.message}; {cause.hint}"
        link.retry(lambda: link.warn(message))
    return cause is None


def _take(folder: NodeFolder) -> int | None:
    """Return the lock of the directory; None if its agent is alive, or has just removed the directory."""
    deadline = time.monotonic() + _AGENT_SECONDS
    while folder.exists():
        lock = folder.take_lock()
        if lock is not None or time.monotonic() > deadline:
            return lock
        time.sleep(0.02)
    return None
