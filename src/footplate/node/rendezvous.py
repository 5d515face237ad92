"""What a node does so that its ranks and those of the other nodes find each other."""

from __future__ import annotations

import os

from footplate.domain.launch import NodeOrders
from footplate.domain.records import Cause
from footplate.errors import Unavailable
from footplate.node.node_directory import NodeFolder
from footplate.node.ports import HeldPorts
from footplate.node.preparation import Failed


def hold(orders: NodeOrders) -> HeldPorts:
    try:
        return HeldPorts(orders.hold)
    except Unavailable as error:
        raise Failed(Cause("start_failed", error.message, error.hint, orders.node)) from None


def shared_variables(orders: NodeOrders, folder: NodeFolder) -> dict[str, str]:
    """Where the nodes share a folder, the ranks of PyTorch may meet in a file there: a new one for each attempt,
    because what an interrupted meeting leaves behind confuses the next."""
    if folder.shared is None or not any("AZ_BATCHAI_PYTORCH_INIT_METHOD" in rank.variables for rank in orders.ranks):
        return {}
    place = os.path.join(folder.shared, f"torch_init_{orders.attempt}")
    return {"AZ_BATCHAI_PYTORCH_INIT_METHOD": f"file://{place}"}
