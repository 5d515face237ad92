"""Shipments of node agents: events and pieces of files that arrive in one request."""

from __future__ import annotations

from footplate.domain.replies import ShipmentReply
from footplate.domain.shipments import LOG, FilePiece, Shipment
from footplate.errors import FootplateError, OutOfSpace, Unavailable
from footplate.services.files import FileService
from footplate.services.metrics import MetricService
from footplate.services.nodes import NodeService


class ShipmentService:
    def __init__(self, nodes: NodeService, files: FileService, metrics: MetricService) -> None:
        self._nodes = nodes
        self._files = files
        self._metrics = metrics

    def take(self, run: str, node: int, shipment: Shipment) -> ShipmentReply:
        """Take everything in order. It may be repeated: each part changes nothing when it is known already."""
        stop = self._nodes.heartbeat(run, node, shipment.attempt)
        for report in shipment.reports:
            stop = self._nodes.report(run, node, report.event, report.message, report.cause, shipment.attempt)
        stored = 0
        for piece in shipment.pieces:
            if not self._is_stored(run, piece):
                return ShipmentReply(stop, stored)
            stored += 1
        if shipment.is_last:
            stop = self._nodes.report(run, node, "done", None, None, shipment.attempt)
        return ShipmentReply(stop, stored)

    def _is_stored(self, run: str, piece: FilePiece) -> bool:
        """Store a piece; return False if it is refused: sent by itself, it gets the error as its response."""
        try:
            if piece.stream == LOG:
                self._files.append_log(run, piece.path, piece.offset, piece.content, piece.replace)
            else:
                self._metrics.append(run, piece.path, piece.stream, piece.offset, piece.content, piece.system)
        except (Unavailable, OutOfSpace):
            raise
        except FootplateError:
            return False
        return True
