from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import Response
from fastapi.responses import StreamingResponse

from footplate.domain.orders import NodeOrders
from footplate.domain.records import RunRecord
from footplate.domain.replies import (
    AgentTool,
    DirectUpload,
    Handover,
    HeartbeatReply,
    NodeEventReply,
    SavedCheckpoints,
    ShipmentReply,
)
from footplate.server.hub import Hub
from footplate.server.openapi import BYTES_OUT, Router
from footplate.server.responses import answer
from footplate.server.rights import Right
from footplate.server.routes.parsing import (
    Body,
    HubOf,
    ServicesOf,
    StrictCause,
    StrictFile,
    StrictShipment,
    StrictStacks,
    poll,
)
from footplate.services.nodes import EnvironmentPending, NodeService
from footplate.services.orchestration.agent_archives import NodePlatform
from footplate.services.topics import RunTurned

router = Router("nodes")
_LOCK_SECONDS = 10.0


class Join(Body):
    attempt: int
    host: str
    address: str
    info: dict[str, Any] = {}


class Ready(Body):
    ports: tuple[int, ...] = ()
    attempt: int | None = None
    wait: float = 0.0


class NodeEvent(Body):
    event: str
    message: str | None = None
    cause: StrictCause | None = None
    attempt: int | None = None


class NodeShipment(Body):
    shipment: StrictShipment


class NodeStacks(Body):
    key: str
    processes: StrictStacks


class Checkpoints(Body):
    files: list[StrictFile]
    attempt: int


class Upload(Body):
    digest: str
    size: int


class PlacedFile(Body):
    digest: str
    size: int
    probe: bool = False


class Machine(Body):
    python: tuple[int, int]
    machine: str
    libc: tuple[int, int]


class Beat(Body):
    attempt: int | None = None


@router.post("/runs/{run}/nodes/{node}/join", Right.SERVE_AS_NODE, NodeOrders)
async def join_node(run: str, node: int, body: Join, services: ServicesOf, hub: HubOf) -> Response:
    """Register a node agent of the current attempt, and return its orders.

    If the environment can only be resolved now, the orders come when that is done. An agent that gets status 503
    repeats the request.
    """
    nodes = services.nodes

    def join() -> Response:
        return answer(nodes.join(run, node, body.attempt, body.host, body.address, body.info))

    try:
        return await asyncio.to_thread(join)
    except EnvironmentPending:
        await poll(hub, RunTurned(run), lambda: nodes.record(run, node), nodes.has_environment, _LOCK_SECONDS)
        return await asyncio.to_thread(join)


@router.get("/runs/{run}/nodes/{node}/orders", Right.SERVE_AS_NODE, NodeOrders)
async def get_orders(
    run: str, node: int, services: ServicesOf, hub: HubOf, wait: float = 0.0, until: str = "ready"
) -> Response:
    """Return the orders of a node.

    `until=ready`: wait until all nodes are prepared, or for the end. `until=ended`: wait for the ranks of the others.
    """
    return await _answer_orders(run, node, services.nodes, hub, services.nodes.record, until, wait)


@router.post("/runs/{run}/nodes/{node}/prepared", Right.SERVE_AS_NODE, NodeOrders)
async def report_prepared(run: str, node: int, body: Ready, services: ServicesOf, hub: HubOf) -> Response:
    """Record that a node is prepared, and return its orders.

    With `wait`, the response comes when the other nodes are prepared and the GPUs are assigned: in a quick gang, one
    request is enough.
    """
    await asyncio.to_thread(services.nodes.note_prepared, run, node, body.ports, body.attempt)
    return await _answer_orders(run, node, services.nodes, hub, services.nodes.equip, "ready", body.wait)


async def _answer_orders(
    run: str,
    node: int,
    nodes: NodeService,
    hub: Hub,
    read: Callable[[str, int], RunRecord],
    until: str,
    wait: float,
) -> Response:
    def is_due(record: RunRecord) -> bool:
        return nodes.is_due(record, node, until)

    record = await poll(hub, RunTurned(run), lambda: read(run, node), is_due, wait)
    return await asyncio.to_thread(lambda: answer(nodes.orders_of(record, node)))


@router.post("/runs/{run}/nodes/{node}/events", Right.SERVE_AS_NODE, NodeEventReply)
def report_node_event(run: str, node: int, body: NodeEvent, services: ServicesOf) -> Response:
    """Record an event of a node; return whether its ranks must stop."""
    stop = services.nodes.report(run, node, body.event, body.message, body.cause, body.attempt)
    return answer(NodeEventReply(stop))


@router.post("/runs/{run}/nodes/{node}/shipments", Right.SERVE_AS_NODE, ShipmentReply)
def take_shipment(run: str, node: int, body: NodeShipment, services: ServicesOf) -> Response:
    """Store pieces of a node's logs and journals up to the first that is refused, then record the node's events.

    The events are recorded also if the disk is full. If the shipment is the last one and every piece was stored, the
    node is done.
    """
    return answer(services.shipments.take(run, node, body.shipment))


@router.post("/runs/{run}/nodes/{node}/heartbeat", Right.SERVE_AS_NODE, HeartbeatReply)
def beat(run: str, node: int, services: ServicesOf, body: Beat | None = None) -> Response:
    """Record that a node is alive; return whether its ranks must stop, and open requests for stack traces."""
    stop = services.nodes.heartbeat(run, node, (body or Beat()).attempt)
    return answer(HeartbeatReply(stop, tuple(services.stacks.open_questions(run, node))))


@router.put("/runs/{run}/nodes/{node}/checkpoints", Right.SERVE_AS_NODE, SavedCheckpoints)
def save_checkpoints(run: str, node: int, body: Checkpoints, services: ServicesOf) -> Response:
    """Replace the saved checkpoints of a node by these files, whose blobs are in the store, all at once."""
    return answer(SavedCheckpoints(tuple(services.files.save_checkpoints(run, node, body.files, body.attempt))))


@router.post("/runs/{run}/nodes/{node}/uploads", Right.SERVE_AS_NODE, DirectUpload)
def upload_directly(run: str, node: int, body: Upload, services: ServicesOf) -> Response:
    """Return the parts of a blob that the object store lacks, with signed URLs; record it if it lacks none."""
    services.nodes.record(run, node)
    return answer(services.object_blobs.upload(body.digest, body.size))


@router.post("/runs/{run}/nodes/{node}/handovers", Right.SERVE_AS_NODE, Handover)
def hand_over(run: str, node: int, body: PlacedFile, services: ServicesOf) -> Response:
    """Take a file that the node has placed in the shared directory of its target, if the server sees it."""
    services.nodes.record(run, node)
    return answer(Handover(services.handovers.take(run, node, body.digest, body.size, body.probe)))


@router.post("/runs/{run}/nodes/{node}/stacks", Right.SERVE_AS_NODE, status_code=204)
def show_stacks(run: str, node: int, body: NodeStacks, services: ServicesOf) -> None:
    """Answer a request for stack traces."""
    services.stacks.answer(run, node, body.key, body.processes)


@router.post("/agent-tools/{module}", Right.FETCH_AGENT, AgentTool)
def prepare_agent_tool(module: str, body: Machine, services: ServicesOf) -> Response:
    """Return the archive of a package that an agent imports and that its node lacks."""
    return answer(AgentTool(services.archives.tool(module, NodePlatform(body.python, body.machine, body.libc))))


@router.get("/agent-archives/{digest}", Right.FETCH_AGENT, response_class=StreamingResponse, responses=BYTES_OUT)
def fetch_agent_archive(digest: str, services: ServicesOf) -> Response:
    """Return an archive that an agent on another machine is started from."""
    return StreamingResponse(services.archives.read(digest), media_type="application/zip")
