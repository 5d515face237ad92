from __future__ import annotations

import os

import pytest

from footplate.job.journal_format import Decoder, Point, everything, read_text, writers


def read_points(folder, writer: str | None = None) -> list[Point]:
    """Return everything in the journals of a folder whose writers are dead."""
    found: list[Point] = []
    for name in [writer] if writer else writers(str(folder)):
        path = os.path.join(str(folder), name)
        decoder = Decoder(lambda offset, length, path=path: read_text(path + ".text", offset, length))
        offset = 0
        while piece := everything(path + ".slots", offset):
            found += decoder.feed(piece)
            offset += len(piece)
        assert decoder.damaged == 0
    return found


@pytest.fixture
def points():
    return read_points
