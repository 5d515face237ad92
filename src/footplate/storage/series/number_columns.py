"""Numbers of a journal, decoded many at once: slots are copied as columns, without a step of Python for each.

It takes slots that hold nothing but floats and integers of known series, each name in one kind; a piece with anything
else is for the journal's own decoder, which both agree with.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from footplate.job.slots import FLOAT, INT, MARK, SLOT

_WORDS = SLOT // 8  # value, time, step, and the tag: series, kind and mark


class Numbers(NamedTuple):
    """Points in the order logged. A point without a step has NaN."""

    times: array[float]
    steps: array[float]
    values: array[float]


def plain_start(slots: bytes, names: Mapping[int, str]) -> int:
    """Return the offset from which on all slots are numbers of known series."""
    if sys.byteorder != "little":
        return len(slots)
    tags = memoryview(slots).cast("Q")[_WORDS - 1 :: _WORDS].tolist()
    others = [tag for tag in set(tags) if not _is_plain(tag, names)]
    if not others:
        return 0
    backwards = tags[::-1]
    return (len(tags) - min(backwards.index(tag) for tag in others)) * SLOT


def numbers(slots: bytes, names: Mapping[int, str]) -> dict[str, Numbers] | None:
    """Return the points of each name; None if a name has numbers of two kinds, whose order would be lost."""
    tags = memoryview(slots).cast("Q")[_WORDS - 1 :: _WORDS].tolist()
    counts = Counter(tags)
    by_name = [names[_series(tag)] for tag in counts]
    if len(set(by_name)) < len(by_name):
        return None
    round_of_tags = tags[: len(counts)]
    is_regular = tags == (round_of_tags * (len(tags) // len(counts) + 1))[: len(tags)]
    columns = _regular(slots, round_of_tags) if is_regular else _irregular(slots, tags, counts)
    return {names[_series(tag)]: points for tag, points in columns.items()}


def _regular(slots: bytes, tags: list[int]) -> dict[int, Numbers]:
    """Copy columns of slots whose series take turns, as those of a script that logs all metrics at each step."""
    words = memoryview(slots)
    doubles, integers = words.cast("d"), words.cast("q")
    stride = _WORDS * len(tags)

    def column(word: int) -> array[float]:
        copied = array("d")
        copied.frombytes(doubles[word::stride].tobytes())
        return copied

    return {
        tag: Numbers(
            column(at + 1),
            column(at + 2),
            array("d", integers[at::stride].tolist()) if _kind(tag) == INT else column(at),
        )
        for at, tag in zip(range(0, stride, _WORDS), tags, strict=True)
    }


def _irregular(slots: bytes, tags: list[int], counts: Mapping[int, int]) -> dict[int, Numbers]:
    """Sort the slots by series, each in the order logged."""
    words = memoryview(slots)
    times, steps = (words.cast("d")[word::_WORDS].tolist() for word in (1, 2))
    floats, integers = words.cast("d")[::_WORDS].tolist(), words.cast("q")[::_WORDS].tolist()
    order = sorted(range(len(tags)), key=tags.__getitem__)
    columns: dict[int, Numbers] = {}
    at = 0
    for tag in sorted(counts):
        places = order[at : at + counts[tag]]
        at += counts[tag]
        values = integers if _kind(tag) == INT else floats
        columns[tag] = Numbers(*(array("d", map(column.__getitem__, places)) for column in (times, steps, values)))
    return columns


def _is_plain(tag: int, names: Mapping[int, str]) -> bool:
    return tag >> 48 == MARK and _kind(tag) in (FLOAT, INT) and _series(tag) in names


def _kind(tag: int) -> int:
    return tag >> 32 & 0xFFFF


def _series(tag: int) -> int:
    return tag & 0xFFFFFFFF
