"""The gateway as its clients see it: over real sockets, with real workers that are killed."""

from __future__ import annotations

from pathlib import Path

from footplate.domain.serving.routes import OLDER
from footplate.serving.gateway.collection import append


def test_a_full_file_of_samples_replaces_the_one_before_it(tmp_path: Path) -> None:
    path = str(tmp_path / "c.jsonl")
    for number in range(7):
        append(path, f"line {number}\n", most=21)
    assert Path(path).read_text() == "line 6\n"
    assert Path(path + OLDER).read_text() == "line 3\nline 4\nline 5\n"
