"""Shipments of node agents: events and pieces of files that arrive in one request."""

from __future__ import annotations

from collections.abc import Sequence

from footplate.domain.replies import ShipmentReply
from footplate.domain.shipments import LOG, FilePiece, NodeReport, Shipment
from footplate.errors import FootplateError, OutOfSpace, Unavailable
from footplate.services.files import FileService
from footplate.services.metrics import MetricService
from footplate.services.nodes import NodeService

_DONE = NodeReport("done")


class ShipmentService:
    def __init__(self, nodes: NodeService, files: FileService, metrics: MetricService) -> None:
        self._nodes = nodes
        self._files = files
        self._metrics = metrics

    def take(self, run: str, node: int, shipment: Shipment) -> ShipmentReply:
        """Take the pieces, then the reports. It may be repeated: each part changes nothing when it is known already."""
        self._nodes.heartbeat(run, node, shipment.attempt)
        stored = 0
        done = (_DONE,) if shipment.is_last else ()
        try:
            stored = self._store_pieces(run, shipment.pieces)
        finally:  # what has happened is recorded also if the disk is full
            reports = (*shipment.reports, *(done if stored == len(shipment.pieces) else ()))
            stop = self._nodes.report_all(run, node, reports, shipment.attempt)
        return ShipmentReply(stop, stored)

    def _store_pieces(self, run: str, pieces: Sequence[FilePiece]) -> int:
        """Store pieces up to the first that is refused; return how many."""
        for number, piece in enumerate(pieces):
            if not self._store(run, piece):
                return number
        return len(pieces)

    def _store(self, run: str, piece: FilePiece) -> bool:
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
