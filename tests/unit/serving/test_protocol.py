"""Frames: what goes in comes out, and bytes that are not a frame are refused."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.serving.protocol import HEADER, BadFrame, pack, read_frame, split


@given(st.lists(st.binary(max_size=50), max_size=5), st.dictionaries(st.text(), st.integers()))
def test_a_frame_comes_out_as_it_went_in(parts: list[bytes], extra: dict[str, int]) -> None:
    meta: dict[str, Any] = {**extra, "items": [{"n": len(part)} for part in parts]}
    stream = io.BytesIO(b"".join([*pack(meta, parts), *pack({"next": 1})]))
    found = read_frame(stream)
    assert found is not None
    assert found[0] == meta
    assert [bytes(part) for part in split(found[1], meta["items"])] == parts
    assert read_frame(stream) == ({"next": 1}, memoryview(b""))
    assert read_frame(stream) is None


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        HEADER.pack(2**31, 0),
        HEADER.pack(4, 0) + b"nope",
        HEADER.pack(2, 0) + b"[]",
        HEADER.pack(2, 9) + b"{}" + b"short",
    ],
)
def test_bytes_that_are_not_a_frame_are_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(data))


def test_items_longer_than_their_bytes_are_refused() -> None:
    with pytest.raises(BadFrame):
        list(split(memoryview(b"ab"), [{"n": 3}]))
