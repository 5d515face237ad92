"""Files that grow by offset, even when the disk fills up in the middle of a piece."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.errors import Conflict
from footplate.storage.series import append_files
from footplate.storage.series.append_files import KeyedLocks


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=20))
def test_the_file_is_always_a_prefix_of_the_data(
    tmp_path_factory: pytest.TempPathFactory, truth: bytes, pieces: list[tuple[int, int]]
) -> None:
    file = tmp_path_factory.mktemp("g") / "deep" / "file"
    for start, length in pieces:
        before = append_files.size_of(file)
        try:
            size = append_files.append(file, start, truth[start : start + length], same=True)
        except Conflict as refused:
            assert start > before
            assert refused.details["size"] == before == append_files.size_of(file)
        else:
            assert size == max(before, start + len(truth[start : start + length])) == append_files.size_of(file)
        assert truth.startswith(append_files.read(file, 0, 1000))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "log").symlink_to(tmp_path / "secret")
    with pytest.raises(Exception, match="log"):
        append_files.append(tmp_path / "log", 0, b"x")
    assert (tmp_path / "secret").read_text() == "secret"


def test_locks_of_different_keys_are_independent() -> None:
    locks, order, inside = KeyedLocks(), list[str](), threading.Event()

    def second() -> None:
        inside.set()
        with locks.hold("a"):
            order.append("second")

    with locks.hold("a"):
        with locks.hold("b"):
            thread = threading.Thread(target=second)
            thread.start()
            inside.wait(10)
            order.append("first")
    thread.join(120)
    assert order == ["first", "second"]
    assert locks._locks == {}
