from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from footplate.job.journal_format import Decoder, Point, everything, read_text, writers

SOURCE = str(Path(__file__).parents[3] / "src")


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


@pytest.fixture
def python(tmp_path):
    """Run code in a new process, in the test's folder."""

    def run(code: str, interpreter: str = sys.executable, **options) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PYTHONPATH": SOURCE, **options.pop("env", {})}
        command = [interpreter, "-c", textwrap.dedent(code)]
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, **options
        )

    return run
