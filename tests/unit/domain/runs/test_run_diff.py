from __future__ import annotations

from footplate.domain.locks import Change
from footplate.domain.runs.run_diff import RunDiff, changes, file_changes


def test_only_different_values_are_changes():
    assert changes({"lr": "1", "same": 2.0, "gone": "x"}, {"lr": "2", "same": 2.0, "new": 0.123456789}) == (
        Change("lr", "1", "2"),
        Change("gone", "x", None),
        Change("new", None, "0.123457"),
    )


def test_files_differ_by_size_or_digest():
    before = {"a": (1, "d1" * 32), "b": (2, "d2" * 32), "c": (3, "d3" * 32)}
    after = {"a": (1, "d4" * 32), "b": (5, "d5" * 32), "d": (4, "d6" * 32)}
    assert file_changes(before, after) == (
        Change("a", "d1" * 6, "d4" * 6),
        Change("b", "2 bytes", "5 bytes"),
        Change("c", "3 bytes", None),
        Change("d", None, "4 bytes"),
    )


def test_a_diff_without_changes_is_false():
    assert not RunDiff("a", "b")
    assert RunDiff("a", "b", data=(Change("read x", "1", "2"),))
