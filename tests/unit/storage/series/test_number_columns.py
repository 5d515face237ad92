"""Curves decoded many points at once are those that the journal's own decoder reads, value by value."""

from __future__ import annotations

import json
import math
import random
from array import array
from pathlib import Path

import pytest

from footplate.job.slots import FLOAT, FLOAT_SLOT, INT, INT_SLOT, MARK, SCALAR, SERIES, SLOT, TEXT_SLOT
from footplate.storage.series import append_files
from footplate.storage.series.curves import Column, RecentCurves
from footplate.storage.series.journals import JournalDecoder
from footplate.storage.series.number_columns import plain_start
from footplate.storage.series.summaries import WORDS

NAN = float("nan")


class Writer:
    """A journal of random slots."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.file = folder / "r-a.slots"
        self._dice = random.Random(seed)
        self._text = b""
        self._slots: list[bytes] = []

    def define(self, number: int, name: str) -> None:
        self._slots.append(
            TEXT_SLOT.pack(*self._place({"name": name, "description": ""}), 0.0, NAN, number, SERIES, MARK)
        )

    def log(self, count: int, kinds: str) -> None:
        for at in range(count):
            dice, number = self._dice, self._dice.randrange(1, 4)
            step = dice.choice((float(at), float(at), NAN))
            value = dice.choice((dice.gauss(0, 1), NAN, math.inf, -math.inf, 1e308))
            kind = dice.choice(kinds)
            if kind == "f":
                self._slots.append(FLOAT_SLOT.pack(value, float(at), step, number, FLOAT, MARK))
            elif kind == "i":
                self._slots.append(INT_SLOT.pack(dice.randrange(-(2**62), 2**62), at, step, number + 3, INT, MARK))
            elif kind == "m":  # integers of a series that has floats, too
                self._slots.append(INT_SLOT.pack(at, at, step, number, INT, MARK))
            elif kind == "s":
                self._slots.append(TEXT_SLOT.pack(*self._place(str(at)), at, step, number, SCALAR, MARK))
            elif kind == "u":  # of an unknown series
                self._slots.append(FLOAT_SLOT.pack(value, float(at), step, 99, FLOAT, MARK))
            else:
                self._slots.append(bytes(SLOT))

    def flush(self) -> None:
        self.file.with_suffix(".text").write_bytes(self._text)
        with self.file.open("ab") as out:
            out.write(b"".join(self._slots))
        self._slots.clear()

    def _place(self, value: object) -> tuple[int, int]:
        data = json.dumps(value).encode()
        self._text += data
        return len(self._text) - len(data), len(data)

    def expected(self) -> dict[str, Column]:
        decoder = JournalDecoder(self.file.with_suffix(".text"))
        columns: dict[str, Column] = {}
        with decoder.text:
            for (name, kind), column in decoder.columns(append_files.read(self.file, 0, 1 << 30)).items():
                if WORDS[kind] == "scalar":
                    columns.setdefault(name, Column()).extend(column)
        return columns


@pytest.mark.parametrize("kinds", ["f", "i", "fi", "ffffffi_", "fs", "fu_", "fffm"])
@pytest.mark.parametrize("seed", range(4))
def test_points_are_those_of_the_decoder(tmp_path: Path, kinds: str, seed: int) -> None:
    """Only the order among points of one name and kind is compared: the decoder groups by kind."""
    writer = Writer(tmp_path, seed)
    curves = RecentCurves(lambda run, name: writer.file)
    for number, name in enumerate(("a", "b", "c", "d", "e", "f"), 1):
        writer.define(number, name)
        writer.log(50, kinds)
        writer.flush()
        curves.read("r", ["w"], [], "step")
    columns = writer.expected()
    assert columns
    for axis in ("time", "step"):
        joined = curves.read("r", ["w"], [*columns], axis)
        assert {*joined} == {*columns}
        for name, column in columns.items():
            assert joined[name].curve.is_finite == column.is_finite
            assert sorted(map(repr, joined[name].curve.values)) == sorted(map(repr, points_on(column, axis)))


def points_on(column: Column, axis: str) -> list[float]:
    """Return the values that are drawn: points without an x are left out where others have one."""
    if axis == "time" or column.steps[0] != column.steps[0] or column.is_ordered:
        return list(column.values)
    return [value for value, step in zip(column.values, column.steps, strict=True) if step == step]


def test_a_million_points_arrive_in_order(tmp_path: Path) -> None:
    writer = Writer(tmp_path, 1)
    writer.define(1, "loss")
    writer.flush()
    slots = b"".join(FLOAT_SLOT.pack(at / 7, at, at, 1, FLOAT, MARK) for at in range(300_000))
    with writer.file.open("ab") as out:
        out.write(slots)
    curve = RecentCurves(lambda run, name: writer.file).read("r", ["w"], ["loss"], "step")["loss"].curve
    assert array("d", curve.values) == array("d", (at / 7 for at in range(300_000)))
    assert array("d", curve.xs) == array("d", range(300_000))


def test_the_plain_part_begins_after_the_last_other_slot() -> None:
    floats = FLOAT_SLOT.pack(1.0, 0.0, 0.0, 1, FLOAT, MARK)
    other = bytes(SLOT)
    assert plain_start(floats * 3, {1: "a"}) == 0
    assert plain_start(floats + other + floats * 2, {1: "a"}) == 2 * SLOT
    assert plain_start(floats, {}) == SLOT


def test_series_that_take_turns_keep_their_points(tmp_path: Path) -> None:
    writer = Writer(tmp_path, 1)
    for number, name in enumerate(("loss", "epoch", "rate"), 1):
        writer.define(number, name)
    writer.flush()
    with writer.file.open("ab") as out:
        for at in range(1001):
            out.write(FLOAT_SLOT.pack(at / 7, at, at, 1, FLOAT, MARK))
            out.write(INT_SLOT.pack(-at, at + 0.1, NAN, 2, INT, MARK))
            if at < 1000:  # the last round is cut short
                out.write(FLOAT_SLOT.pack(at / 3, at + 0.2, at, 3, FLOAT, MARK))
    curves = RecentCurves(lambda run, name: writer.file).read("r", ["w"], ["loss", "epoch", "rate"], "time")
    assert list(curves["loss"].curve.values) == [at / 7 for at in range(1001)]
    assert list(curves["epoch"].curve.values) == [-at for at in range(1001)]
    assert list(curves["epoch"].curve.xs) == [at + 0.1 for at in range(1001)]
    assert list(curves["rate"].curve.values) == [at / 3 for at in range(1000)]
