"""Requests of the node agents of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.orders import NodeOrders
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.domain import replies
    from footplate.domain.orders import Cause
    from footplate.domain.records import FileView
    from footplate.domain.shipments import Shipment
    from footplate.domain.stacks import ProcessStacks
else:
    replies = Deferred("footplate.domain.replies")  # a node that joins does not wait for types of later requests


class NodesApi(ApiNoun):
    def join(
        self, run: str, node: int, *, attempt: int, host: str, address: str, info: Mapping[str, Any]
    ) -> NodeOrders:
        body = {"attempt": attempt, "host": host, "address": address, "info": info}
        return self._post(NodeOrders, "/runs/{run}/nodes/{node}/join", body, run=run, node=node)

    def orders(self, run: str, node: int, *, wait: float = 0.0, until: str = "ready") -> NodeOrders:
        """Return the orders of a node; wait until all nodes are `ready`, or the ranks of all others have `ended`."""
        query = {"wait": wait, "until": until}
        return self._get(NodeOrders, "/runs/{run}/nodes/{node}/orders", query, run=run, node=node)

    def report_prepared(
        self, run: str, node: int, *, ports: Sequence[int], attempt: Optional[int] = None, wait: float = 0.0
    ) -> NodeOrders:
        """Report that the ranks can start, with these ports held for them; wait until all nodes can."""
        body = {"ports": list(ports), "attempt": attempt, "wait": wait}
        return self._post(NodeOrders, "/runs/{run}/nodes/{node}/prepared", body, run=run, node=node)

    def report(
        self,
        run: str,
        node: int,
        event: str,
        *,
        message: Optional[str] = None,
        cause: Optional[Cause] = None,
        attempt: Optional[int] = None,
    ) -> replies.NodeEventReply:
        """Report one of `orders.ReportedEvent`; `joined` comes only in shipments."""
        body = {"event": event, "message": message, "cause": to_json(cause), "attempt": attempt}
        return self._post(replies.NodeEventReply, "/runs/{run}/nodes/{node}/events", body, run=run, node=node)

    def ship(self, run: str, node: int, shipment: Shipment) -> replies.ShipmentReply:
        """Send reports and pieces of files together; a piece that is refused ends it, and is to be sent by itself."""
        body = {"shipment": to_json(shipment)}
        return self._post(replies.ShipmentReply, "/runs/{run}/nodes/{node}/shipments", body, run=run, node=node)

    def save_checkpoints(
        self, run: str, node: int, files: Sequence[FileView], attempt: int
    ) -> replies.SavedCheckpoints:
        """Replace the saved checkpoints of the node by these files, whose blobs are in the store, all at once."""
        body = {"files": to_json(list(files)), "attempt": attempt}
        return self._put(replies.SavedCheckpoints, "/runs/{run}/nodes/{node}/checkpoints", body, run=run, node=node)

    def upload_directly(self, run: str, node: int, digest: str, size: int) -> replies.DirectUpload:
        """Return the parts of a blob that the object store lacks, with URLs to send them to."""
        body = {"digest": digest, "size": size}
        return self._post(replies.DirectUpload, "/runs/{run}/nodes/{node}/uploads", body, run=run, node=node)

    def hand_over(self, run: str, node: int, digest: str, size: int, probe: bool = False) -> replies.Handover:
        """Let the server take a file from the shared directory of the target; `probe`: only see whether it could."""
        body = {"digest": digest, "size": size, "probe": probe}
        return self._post(replies.Handover, "/runs/{run}/nodes/{node}/handovers", body, run=run, node=node)

    def heartbeat(self, run: str, node: int, attempt: Optional[int] = None) -> replies.HeartbeatReply:
        body = {"attempt": attempt}
        return self._post(replies.HeartbeatReply, "/runs/{run}/nodes/{node}/heartbeat", body, run=run, node=node)

    def show_stacks(self, run: str, node: int, key: str, processes: Sequence[ProcessStacks]) -> None:
        """Answer the request for stack traces of this key."""
        body = {"key": key, "processes": to_json(list(processes))}
        self._send("POST", "/runs/{run}/nodes/{node}/stacks", json=body, run=run, node=node)

    def open_tunnel(self, run: str, protocol: str, attempt: int) -> Any:
        """Return a socket to the gateway of web services, for the replica of a service on another machine."""
        return self._upgrade("/runs/{run}/tunnel", protocol, {"attempt": attempt}, run=run)

    def tool(self, module: str, *, python: Sequence[int], machine: str, libc: Sequence[int]) -> replies.AgentTool:
        """Return the archive of a package for this node: versions of Python and of the GNU C library, and machine."""
        body = {"python": list(python), "machine": machine, "libc": list(libc)}
        return self._post(replies.AgentTool, "/agent-tools/{module}", body, module=module)

    def fetch_archive(self, digest: str) -> Iterator[bytes]:
        """Yield an archive that an agent is started from, piece by piece."""
        return self._download("/agent-archives/{digest}", digest=digest)
