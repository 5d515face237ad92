from __future__ import annotations

import math

import pytest

from footplate.job import journal_format, slots
from footplate.job.journal_format import Decoder, MetricColumn, everything, finished_prefix, read_text, writers

MARK = 0xF0F0
TEXT = b'{"name":"a","description":"d"}\n{"name":"b","description":""}\n"words"\n'
DEFINE_A = slots.TEXT_SLOT.pack(0, 30, 1.0, math.nan, 1, 15, MARK)
DEFINE_B = slots.TEXT_SLOT.pack(31, 29, 1.0, math.nan, 2, 15, MARK)
WORDS = slots.TEXT_SLOT.pack(61, 7, 5.0, math.nan, 1, 3, MARK)
HOLE = bytes(32)


def number(value: float, series: int = 1, mark: int = MARK) -> bytes:
    return slots.FLOAT_SLOT.pack(value, 2.0, 3.0, series, 1, mark)


def decoder() -> Decoder:
    return Decoder(lambda offset, length: TEXT[offset : offset + length])


@pytest.fixture
def path(tmp_path):
    def write(data: bytes) -> str:
        (tmp_path / "w.slots").write_bytes(data)
        return str(tmp_path / "w.slots")

    return write


def test_the_finished_prefix_ends_at_the_first_hole(path):
    data = DEFINE_A + number(1) + HOLE + number(2) + bytes(1000)
    assert finished_prefix(path(data), 0) == data[:64]
    assert finished_prefix(path(data), 32) == data[32:64]
    assert finished_prefix(path(data), 64) == b""
    assert finished_prefix(path(data), 96) == data[96:128]


@pytest.mark.parametrize("mark", [0x00F0, 0xF000, 0xF0F1])
def test_half_a_mark_does_not_count(path, mark):
    data = number(1) + number(2, mark=mark)
    assert finished_prefix(path(data), 0) == data[:32]
    assert everything(path(data), 0) == data[:32]


def test_everything_ends_at_the_last_finished_slot(path):
    data = number(1) + HOLE + number(2)
    for tail in (b"", HOLE * 100, b"\xf0" * 31, number(3, mark=0xF000) * 3):
        assert everything(path(data + tail), 0) == data
        assert everything(path(data + tail), 32) == data[32:]
    assert everything(path(data), 96) == b""
    assert everything(path(HOLE * 10), 0) == b""
    assert everything(path(b""), 0) == b""


def test_a_long_file_is_read_in_pieces(path):
    data = b"".join(number(n) for n in range(1000)) + HOLE * 200_000 + number(5)
    for read in (everything, finished_prefix):
        found, offset = b"", 0
        while piece := read(path(data), offset, 1000):
            assert len(piece) <= 1000
            assert len(piece) % 32 == 0
            found += piece
            offset += len(piece)
            if offset > 64_000:
                break
        assert data.startswith(found)
        assert len(found) >= 32_000
    assert everything(path(data), len(data) - 64) == data[-64:]


def test_pieces_of_any_size_give_the_same_points():
    data = DEFINE_A + number(1) + HOLE + DEFINE_B + number(2, series=2) + WORDS + number(3)
    whole = list(decoder().feed(data))
    assert [(p.name, p.kind, p.value) for p in whole] == [
        ("a", 1, 1.0),
        ("b", 1, 2.0),
        ("a", 3, "words"),
        ("a", 1, 3.0),
    ]
    assert (whole[0].time, whole[0].step, whole[2].step) == (2.0, 3.0, None)
    for size in (32, 64, 96):
        one = decoder()
        assert [p for at in range(0, len(data), size) for p in one.feed(data[at : at + size])] == whole


def test_columns_hold_the_same_points():
    data = DEFINE_A + DEFINE_B + number(1) + number(9, series=2) + WORDS + number(2) + HOLE
    one = decoder()
    assert one.columns(data) == {
        ("a", 1): MetricColumn([2.0, 2.0], [3.0, 3.0], [1.0, 2.0]),
        ("b", 1): MetricColumn([2.0], [3.0], [9.0]),
        ("a", 3): MetricColumn([5.0], [None], ["words"]),
    }
    assert list(one.columns(number(4))) == [("a", 1)], "series stay known"


@pytest.mark.parametrize(
    "slot",
    [
        number(1, series=7),
        slots.TEXT_SLOT.pack(1000, 5, 1.0, math.nan, 1, 3, MARK),
        slots.TEXT_SLOT.pack(61, 6, 1.0, math.nan, 1, 3, MARK),
        slots.TEXT_SLOT.pack(61, 7, 1.0, math.nan, 9, 15, MARK),
        slots.FLOAT_SLOT.pack(1.0, 1.0, 1.0, 1, 12, MARK),
    ],
)
def test_damaged_slots_are_counted_and_skipped(slot):
    for read in (
        lambda one, data: [p.value for p in one.feed(data)],
        lambda one, data: one.columns(data)["a", 1].values,
    ):
        one = decoder()
        assert read(one, DEFINE_A + number(1) + slot + number(2)) == [1.0, 2.0]
        assert one.damaged == 1


def test_missing_writers_and_text_are_empty(tmp_path):
    assert writers(str(tmp_path / "absent")) == []
    assert read_text(str(tmp_path / "absent.text"), 0) == b""
    for name in ("b.slots", "a.slots", "a.text", "other"):
        (tmp_path / name).touch()
    assert writers(str(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize(
    ("writer", "attempt"),
    [("rank_0_77_ab12", 1), ("rank_0_attempt_3_77_ab12", 3), ("node_1_attempt_12", 12), ("my_attempt_at", 1)],
)
def test_the_name_of_a_writer_tells_the_attempt(writer: str, attempt: int) -> None:
    assert journal_format.attempt_of(writer) == attempt
