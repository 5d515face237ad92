"""Limit the logs of runs that never end: replicas of web services print for as long as the service exists.

A log that is too large loses its beginning, and starts with a line that says how much. The ranks append to the file
and notice nothing; output that they write at that very moment can be lost.
"""

from __future__ import annotations

import os
import re
import time
from typing import Protocol

from footplate.disk import CHUNK
from footplate.domain.orders import CUT_MARK, NodeOrders

_LINE = re.compile(CUT_MARK + rb"([\d,]+) bytes .*\n")
_LONGEST_LINE = 64 * 1024  # bytes to look ahead for the end of a line
_KEPT_OF_EARLIER = 512 * 1024
_HEAD = 512  # bytes that hold the line about an earlier cut


class LogLink(Protocol):
    """The part of an agent's link that cuts logs at the server."""

    def orders(self, wait: float) -> NodeOrders: ...
    def read_log(self, path: str, offset: int, limit: int) -> bytes: ...
    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int: ...


def cut(path: str, limit: int, base: int = 0) -> bool:
    """Keep the last part of a log if it is too large; return whether it was. The server has `base` bytes before it."""
    room = max(limit - base, limit // 2)
    if os.stat(path).st_size <= room:
        return False
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        begin = os.fstat(file).st_size - room // 2
        begin += _to_next_line(os.pread(file, _LONGEST_LINE, begin))
        end = os.pwrite(file, _cut_line(os.pread(file, _HEAD, 0), begin, limit), 0)
        while data := os.pread(file, CHUNK, begin):  # also what is appended meanwhile
            end, begin = end + os.pwrite(file, data, end), begin + len(data)
        os.ftruncate(file, end)
    finally:
        os.close(file)
    return True


def orders_after_cut(link: LogLink) -> NodeOrders:
    """Return the orders of a node; before, cut logs of earlier attempts, which only the server has, if too large."""
    orders = link.orders(0.0)
    limit = orders.log_limit
    sizes: dict[str, int] = orders.shipped.get("logs") or {}
    large = [name for name, size in sizes.items() if limit is not None and size > limit // 2]
    for name in large:
        head = link.read_log(name, 0, _HEAD)
        begin = max(0, sizes[name] - _KEPT_OF_EARLIER)
        tail = link.read_log(name, begin, _KEPT_OF_EARLIER)
        skipped = _to_next_line(tail[:_LONGEST_LINE])
        link.append_log(orders.run, name, 0, _cut_line(head, begin + skipped, limit or 0) + tail[skipped:], True)
    return link.orders(0.0) if large else orders


def _to_next_line(data: bytes) -> int:
    """Return the bytes up to the start of the next line; 0 if none begins here."""
    return data.find(b"\n") + 1


def _cut_line(head: bytes, removed: int, limit: int) -> bytes:
    """Return the first line of a log that begins with `head` and loses `removed` bytes, those cut earlier included."""
    earlier = _LINE.match(head)
    total = removed + (int(earlier[1].replace(b",", b"")) - len(earlier[0]) if earlier else 0)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    words = f"{total:,} bytes of earlier output: the limit [services] log_size is {limit / 2**20:g} MiB"
    return CUT_MARK + f"{words} · {stamp} ────\n".encode()
