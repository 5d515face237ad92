"""The server as a shipper sees it, and how both sides agree on an offset."""

from __future__ import annotations

from typing import Protocol

from footplate.errors import Conflict

PIECE = 1 << 20
"""Bytes in one request, at most."""


class GrowingFiles(Protocol):
    """The server's growing files. Each call returns the size of the file after it."""

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        """Write `data` at `offset` of a log; `replace` drops everything behind it."""
        ...

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        """Write `data` at `offset` of a journal; `system` marks samples of the machine."""
        ...


def agree_on_offset(error: Conflict, ours: int) -> int:
    """Return the smaller size that a server reports which has lost its last writes; raise any other conflict."""
    size = error.details.get("size")
    if not isinstance(size, int) or size >= ours:
        raise error
    return size
