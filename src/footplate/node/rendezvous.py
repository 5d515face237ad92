"""The part of a node in bringing ranks of several nodes together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from footplate.domain.orders import Cause, NodeOrders
from footplate.errors import Unavailable
from footplate.lazy import Deferred
from footplate.node.node_directory import NodeFolder
from footplate.node.preparation import Failed

if TYPE_CHECKING:
    from footplate.node import ports
else:
    ports = Deferred("footplate.node.ports")  # most runs hold none


def hold(orders: NodeOrders) -> ports.HeldPorts:
    try:
        return ports.HeldPorts(orders.hold)
    except Unavailable as error:
        raise Failed(Cause("start_failed", error.message, error.hint, orders.node)) from None


def network_defaults(orders: NodeOrders) -> dict[str, str]:
    """Return settings for libraries that would listen where the host name leads, often 127.0.1.1: on clusters they use
    the interface by which the other nodes reach this one.
    """
    interface = ports.interface_of(orders.peers[orders.node]) if orders.node < len(orders.peers) else None
    return {} if interface is None else dict.fromkeys(("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"), interface)


def shared_variables(orders: NodeOrders, folder: NodeFolder) -> dict[str, str]:
    """Return the variables for a rendezvous through a file, where nodes share a directory. Each attempt gets a new
    file, because the leftovers of an interrupted rendezvous confuse the next.
    """
    if folder.shared is None or not any("AZ_BATCHAI_PYTORCH_INIT_METHOD" in rank.variables for rank in orders.ranks):
        return {}
    place = os.path.join(folder.shared, f"torch_init_{orders.attempt}")
    return {"AZ_BATCHAI_PYTORCH_INIT_METHOD": f"file://{place}"}
