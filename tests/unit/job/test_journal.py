from __future__ import annotations

import enum
import json
import math
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from footplate.job import slots
from footplate.job.journal import Journal
from footplate.job.journal_format import Decoder, everything, finished_prefix, read_text, writers

FLOAT, INT, SCALAR, LIST, ROW, TABLE, ARTIFACT = range(1, 8)


class Colour(enum.IntEnum):
    RED = 3


class Tensor:
    def __init__(self, value):
        self._value = value

    def item(self):
        return self._value


@pytest.mark.parametrize(
    ("logged", "kind", "read"),
    [
        (0.5, FLOAT, 0.5),
        (-0.0, FLOAT, -0.0),
        (math.inf, FLOAT, math.inf),
        (-math.inf, FLOAT, -math.inf),
        (5e-324, FLOAT, 5e-324),
        (7, INT, 7),
        (-(2**63), INT, -(2**63)),
        (2**63 - 1, INT, 2**63 - 1),
        (2**63, SCALAR, 2**63),
        (-(10**40), SCALAR, -(10**40)),
        (True, SCALAR, True),
        (None, SCALAR, None),
        ("text ☃ \udcff\n", SCALAR, "text ☃ \udcff\n"),
        (np.float64(1.5), FLOAT, 1.5),
        (np.float32(1.5), FLOAT, 1.5),
        (np.int64(9), INT, 9),
        (np.uint64(2**64 - 1), SCALAR, 2**64 - 1),
        (np.bool_(True), SCALAR, True),
        (np.array(2.5), FLOAT, 2.5),
        (np.str_("s"), SCALAR, "s"),
        (Tensor(4), INT, 4),
        (Colour.RED, INT, 3),
    ],
)
def test_a_value_is_read_as_it_was_logged(tmp_path, points, logged, kind, read):
    with Journal(str(tmp_path)) as journal:
        journal.log("name", logged, 3)
    (point,) = points(tmp_path)
    assert (point.name, point.kind, point.step) == ("name", kind, 3.0)
    assert (point.value, type(point.value)) == (read, type(read))
    assert math.copysign(1, point.value) == math.copysign(1, read) if kind == FLOAT else True
    assert time.time() - 60 < point.time <= time.time()


def test_nan_is_kept(tmp_path, points):
    with Journal(str(tmp_path)) as journal:
        journal.log("x", math.nan)
        journal.log_list("l", [math.nan, math.inf, np.float32(1)])
    single, several = points(tmp_path)
    assert math.isnan(single.value)
    assert single.step is None
    assert math.isnan(several.value[0])
    assert several.value[1:] == [math.inf, 1.0]


def test_lists_rows_tables_and_artifacts_are_kept(tmp_path, points):
    with Journal(str(tmp_path)) as journal:
        journal.log_list("list", (1, 2.5, "x"), "a description")
        journal.log_row("row", {"a": 1, "b": None})
        journal.log_table("table", {"a": [1, 2]})
        journal.log_artifact("image", "plots/a.png", "image")
    assert [(p.name, p.kind, p.value) for p in points(tmp_path)] == [
        ("list", LIST, [1, 2.5, "x"]),
        ("row", ROW, {"a": 1, "b": None}),
        ("table", TABLE, {"a": [1, 2]}),
        ("image", ARTIFACT, {"path": "plots/a.png", "type": "image"}),
    ]


@pytest.mark.parametrize("text", ["val/loss", 'a "quote"', "back\\slash", "new\nline", "\x7f", "Größe ☃", "{}%s", ""])
def test_names_and_descriptions_are_read_as_they_were_written(tmp_path, text):
    with Journal(str(tmp_path), "w") as journal:
        journal.log(text, 1.0, description=text[::-1])
    stored = (tmp_path / "w.text").read_bytes()
    decoder = Decoder(lambda offset, length: stored[offset : offset + length])
    assert [point.name for point in decoder.feed(finished_prefix(str(tmp_path / "w.slots"), 0))] == [text]
    assert decoder.descriptions == {text: text[::-1]}


def test_the_description_of_a_series_is_the_first_one(tmp_path):
    journal = Journal(str(tmp_path), "w")
    journal.log("a", 1.0, None, "first")
    journal.log("a", 2.0, None, "second")
    journal.log("b", 1)
    text = (tmp_path / "w.text").read_bytes()
    decoder = Decoder(lambda offset, length: text[offset : offset + length])
    assert len(list(decoder.feed(finished_prefix(str(tmp_path / "w.slots"), 0)))) == 3
    assert decoder.descriptions == {"a": "first", "b": ""}
    journal.close()


def test_the_bytes_have_the_documented_format(tmp_path):
    with Journal(str(tmp_path), "w") as journal:
        journal.log("n", 1.5, 2)
        journal.log("n", 7)
    data = (tmp_path / "w.slots").read_bytes()
    assert len(data) == 3 * 32
    definition, number, whole = (data[at : at + 32] for at in (0, 32, 64))
    offset, length, _, step, series, kind, mark = slots.TEXT_SLOT.unpack(definition)
    assert json.loads((tmp_path / "w.text").read_bytes()[offset : offset + length]) == {"name": "n", "description": ""}
    assert (math.isnan(step), kind, mark) == (True, 15, 0xF0F0)
    value, _, step, again, kind, mark = slots.FLOAT_SLOT.unpack(number)
    assert (value, step, again, kind, mark) == (1.5, 2.0, series, 1, 0xF0F0)
    value, _, step, again, kind, mark = slots.INT_SLOT.unpack(whole)
    assert (value, again, kind, mark) == (7, series, 2, 0xF0F0)


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, 1j, np.array([1, 2]), Tensor(object())])
def test_a_refused_value_leaves_no_hole(tmp_path, points, value):
    with Journal(str(tmp_path)) as journal:
        journal.log("ok", 1.0)
        with pytest.raises((TypeError, ValueError)):
            journal.log("x", value)
        for bad in ("one", object()):
            with pytest.raises((TypeError, ValueError)):
                journal.log("ok", 2.0, bad)
        with pytest.raises(TypeError, match="name"):
            journal.log(5, 1.0)
        journal.log("ok", 3.0)
        path = os.path.join(journal.folder, journal.writer + ".slots")
        assert finished_prefix(path, 0) == everything(path, 0)
    assert [p.value for p in points(tmp_path)] == [1.0, 3.0]


def test_a_journal_without_values_has_no_files(tmp_path):
    Journal(str(tmp_path / "j")).close()
    assert not (tmp_path / "j").exists()
    assert writers(str(tmp_path / "j")) == []


def test_a_closed_journal_refuses_values(tmp_path):
    journal = Journal(str(tmp_path))
    journal.log("a", 1.0)
    kept = journal.log
    journal.close()
    journal.close()
    for log in (kept, journal.log):
        for value in (1.0, 1, "x"):
            with pytest.raises(ValueError, match="closed"):
                log("a", value)
            with pytest.raises(ValueError, match="closed"):
                log("new", value)


def test_growing_over_many_segments_keeps_everything(tmp_path, points):
    count = 200_000
    journal = Journal(str(tmp_path))
    kept = journal.log  # a caller that keeps the first function is served as well
    for number in range(count):
        (kept if number % 1000 == 0 else journal.log)("x", float(number))
    path = os.path.join(journal.folder, journal.writer + ".slots")
    assert os.path.getsize(path) > 32 * (count + 1)
    journal.close()
    assert os.path.getsize(path) == 32 * (count + 1)
    assert [p.value for p in points(tmp_path)] == [float(number) for number in range(count)]


def test_eight_threads_lose_and_repeat_nothing(tmp_path, points):
    journal, each = Journal(str(tmp_path)), 20_000
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait()
        for number in range(each):
            journal.log(f"shared{number % 7}", float(thread * each + number))
            if number % 500 == 0:
                journal.log(f"new{thread}.{number}", number)
                journal.log("text", f"{thread}.{number}")

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    path = os.path.join(journal.folder, journal.writer + ".slots")
    assert os.path.getsize(path) > 0
    journal.close()
    found = points(tmp_path)
    assert sorted(p.value for p in found if p.kind == FLOAT) == [float(n) for n in range(8 * each)]
    assert len({p.name for p in found if p.kind == INT}) == 8 * each // 500
    assert len({p.value for p in found if p.kind == SCALAR}) == 8 * each // 500
    for name in {p.name for p in found if p.kind == FLOAT}:
        for thread in range(8):
            mine = [p.value for p in found if p.name == name and thread * each <= p.value < (thread + 1) * each]
            assert mine == sorted(mine), "each thread's values are in the order logged"


class Interrupted(Exception):
    pass


def interrupt_the_journal(_, frame) -> None:
    if frame.f_code.co_filename == sys.modules[Journal.__module__].__file__:
        raise Interrupted


@pytest.mark.skipif(sys.version_info < (3, 10), reason="older interpreters may run a signal handler anywhere")
def test_signals_that_raise_leave_no_hole(tmp_path):
    """Otherwise no value behind the hole would be seen before the run ends."""
    journal, raised = Journal(str(tmp_path)), 0
    journal.log("x", 1.0)
    old = signal.signal(signal.SIGALRM, interrupt_the_journal)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    try:
        for number in range(200_000):
            try:
                journal.log("x", 1.0 if number % 10 else 1)
            except Interrupted:
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    path = os.path.join(journal.folder, journal.writer + ".slots")
    assert raised > 10
    assert len(finished_prefix(path, 0, 1 << 30)) == len(everything(path, 0, 1 << 30)) > 32 * 190_000
    journal.close()


def test_names_of_writers_are_unique_and_contain_the_rank(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_RANK", "3")
    one, two = Journal(str(tmp_path)), Journal(str(tmp_path))
    assert one.writer != two.writer
    assert one.writer.startswith(f"rank_3_{os.getpid()}_")


def test_an_existing_journal_is_not_overwritten(tmp_path):
    Journal(str(tmp_path), "w").log("x", 1.0)
    with pytest.raises(FileExistsError):
        Journal(str(tmp_path), "w").log("x", 1.0)


def test_a_reader_sees_complete_values_while_writing(tmp_path):
    journal, stop = Journal(str(tmp_path), "w"), threading.Event()
    path = str(tmp_path / "w")

    def write() -> None:
        number = 0
        while not stop.is_set():
            journal.log("x", float(number))
            number += 1
            if number % 100 == 0:
                journal.log("t", str(number))

    journal.log("x", -1.0)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        slots_seen = text_seen = b""
        found = []
        decoder = Decoder(lambda offset, length: text_seen[offset : offset + length])
        while len(found) < 100_000:
            piece = finished_prefix(path + ".slots", len(slots_seen))
            text_seen += read_text(path + ".text", len(text_seen))
            slots_seen += piece
            found += decoder.feed(piece)
    finally:
        stop.set()
        writer.join()
    journal.close()
    numbers = [p.value for p in found if p.kind == FLOAT]
    assert numbers == [float(number) for number in range(-1, len(numbers) - 1)]
    assert decoder.damaged == 0


@pytest.mark.parametrize("first", ["text", "float", "int"])
def test_a_text_file_that_is_full_is_followed_by_another(tmp_path, points, first):
    """Offsets in slots have 32 bits."""
    with Journal(str(tmp_path), "w") as journal:
        journal.log("a", 1.0)
        os.truncate(tmp_path / "w.text", 2**32 - 10)  # sparse: it takes no space
        if first == "text":
            journal.log("a", "some words that are too long")
        else:
            journal.log("a new name", 2.0 if first == "float" else 2)
        journal.log("a", 3.0)
        journal.log("b", "words")
    assert len(writers(str(tmp_path))) == 2
    found = points(tmp_path)
    assert sorted(p.name for p in found) == (["a", "a", "a", "b"] if first == "text" else ["a", "a", "a new name", "b"])
