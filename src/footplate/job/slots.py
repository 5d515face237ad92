"""The layout of a journal's slots, which the writer and the readers share.

A script that only logs loads this and the writer: neither imports `typing`, which takes longer than both together.
"""

from __future__ import annotations

import os
import struct

SLOT = 32
MARK = 0xF0F0
FLOAT, INT, SCALAR, LIST, ROW, TABLE, ARTIFACT, SERIES = 1, 2, 3, 4, 5, 6, 7, 15

FLOAT_SLOT = struct.Struct("<dddIHH")  # value, time, step, series, kind, mark
INT_SLOT = struct.Struct("<qddIHH")
TEXT_SLOT = struct.Struct("<IIddIHH")  # offset, length, time, step, series, kind, mark
NO_STEP = float("nan")
MARK_BYTE = b"\xf0"
CHUNK = 2 * 1024 * 1024


def end_of_slots(fd: int, floor: int) -> int:
    """Return the end of the last finished slot at or after `floor`; `floor` when there is none. Searches backwards."""
    size = os.fstat(fd).st_size
    top = size - size % SLOT
    while top > floor:
        start = max(floor, top - CHUNK)
        seen = os.pread(fd, top - start, start)
        low, high = seen[30::SLOT], seen[31::SLOT]
        last = high.rfind(MARK_BYTE)
        while last >= 0 and low[last] != MARK_BYTE[0]:
            last = high.rfind(MARK_BYTE, 0, last)
        if last >= 0:
            return start + (last + 1) * SLOT
        top = start
    return floor
