"""Frames between the gateway and a worker: a header, a JSON object, and raw bytes behind it.

The header is `<IQ`: the length of the JSON text and the length of the bytes. Bodies of requests and responses travel
as those bytes, one after the other, and `n` of each item says how long its part is.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

HEADER = struct.Struct("<IQ")
TUNNEL = "footplate-worker"
"""The protocol to which a worker on another machine switches its connection to the server (HTTP's `Upgrade`)."""

PING_SECONDS = 5.0
"""How often the gateway checks an idle connection from another machine."""

SILENT_SECONDS = 3 * PING_SECONDS
"""Seconds without a frame after which a worker takes such a connection for dead."""

MAX_META = 16 << 20
MAX_PAYLOAD = 1 << 32


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OF_THE_CONNECTION = frozenset(
    ("connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that the gateway sets itself: it sends each response in one piece, on a connection that it manages."""


class BadFrame(Exception):
    """Bytes that are not a frame: the connection cannot be used any more."""


def pack(meta: dict[str, Any], parts: Sequence[bytes] = ()) -> list[bytes]:
    """Return the pieces of one frame, ready for `writelines`."""
    text = json.dumps(meta, separators=(",", ":")).encode()
    return [HEADER.pack(len(text), sum(map(len, parts))), text, *parts]


def unpack_header(data: bytes) -> tuple[int, int]:
    """Return the two lengths of a header, or raise BadFrame if they cannot be right."""
    meta, payload = HEADER.unpack(data)
    if meta > MAX_META or payload > MAX_PAYLOAD:
        raise BadFrame(f"a frame of {meta} and {payload} bytes")
    return meta, payload


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], memoryview] | None:
    """Read one frame from a blocking stream that buffers; None at its end."""
    header = _read(stream, HEADER.size)
    if header is None:
        return None
    meta_length, payload_length = unpack_header(header)
    meta, payload = _read(stream, meta_length), _read(stream, payload_length)
    if meta is None or payload is None:
        raise BadFrame("the connection ended inside a frame")
    return parse_meta(meta), memoryview(payload)


def parse_meta(text: bytes) -> dict[str, Any]:
    """Return the JSON object of a frame."""
    try:
        meta: Any = json.loads(text)
    except ValueError as error:
        raise BadFrame(f"the text of a frame is not JSON: {error}") from None
    if not isinstance(meta, dict):
        raise BadFrame("the text of a frame is not an object")
    return cast("dict[str, Any]", meta)


def split(payload: memoryview, items: Iterable[dict[str, Any]]) -> Iterator[memoryview]:
    """Yield the part of each item."""
    start = 0
    for item in items:
        try:
            end = start + int(item["n"])
        except (KeyError, TypeError, ValueError):
            raise BadFrame(f"{item!r:.100} is not an item of a frame") from None
        if not start <= end <= len(payload):
            raise BadFrame("the items of a frame are longer than its bytes")
        yield payload[start:end]
        start = end


def _read(stream: BinaryIO, length: int) -> bytes | None:
    data = stream.read(length)
    if 0 < len(data) < length:
        raise BadFrame("the connection ended inside a frame")
    return data if len(data) == length else None


def check_status(status: Any) -> int:
    """Return the status of a final response, or raise ValueError: a script may set anything."""
    if type(status) is int and 200 <= status <= 599:
        return status
    raise ValueError(f"the status of the response is {status!r}, not a whole number from 200 to 599")


def check_headers(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return the headers of a response without those of the connection; raise ValueError for one that is not HTTP."""
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a header")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name} has the value {value!r}, which is not one line of Latin-1 text")
    return {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}


def detect_loss(connection: socket.socket) -> None:
    """Have the kernel report a connection to another machine as broken when nothing arrives there for a while."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 10_000)):
        option = getattr(socket, name, None)  # they are Linux's
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
