"""News of a node in one request: its events, and small pieces of files that grow.

A short run has little to ship, and for a small piece the request costs far more than the bytes. Large pieces, and files
whose names are not text, have requests of their own.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from footplate.domain.orders import Cause
from footplate.errors import InvalidInput

LOG = "log"
LARGEST_PIECE = 64 << 10
MOST_PIECES = 32


@dataclass(frozen=True)
class NodeHost:
    """The machine of a node, as its agent describes it."""

    name: str
    address: str
    info: Dict[str, Any]


@dataclass(frozen=True)
class NodeReport:
    """An event of a node, as `POST …/events` takes it. `joined` comes only in shipments, and with the host."""

    event: str
    message: Optional[str] = None
    cause: Optional[Cause] = None
    age: float = 0.0  # seconds since it happened
    host: Optional[NodeHost] = None


@dataclass(frozen=True)
class FilePiece:
    """Bytes that belong at `offset` of a log, or of the stream `slots` or `text` of the journal of a writer."""

    path: str  # of a journal, the name of its writer
    stream: str
    offset: int
    data: str  # in base 64
    replace: bool = False  # of a log: drop everything behind the piece
    system: bool = False  # of a journal: samples of the machine

    @property
    def content(self) -> bytes:
        try:
            return binascii.a2b_base64(self.data)
        except ValueError:
            raise InvalidInput(f"the piece of {self.path!r} is not in base 64", "encode its bytes") from None


@dataclass(frozen=True)
class Shipment:
    """Reports and pieces, in order. With `is_last`, the node is done once all of it is stored."""

    attempt: int
    reports: Tuple[NodeReport, ...] = ()
    pieces: Tuple[FilePiece, ...] = ()
    is_last: bool = False


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def handover_name(run: str, node: int, digest: str) -> str:
    """Return the name, below a directory that a node shares with the server, of a file that the server is to take."""
    return f"handover/{run}-{node}-{digest}"
