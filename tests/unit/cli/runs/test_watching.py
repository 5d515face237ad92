"""The screen of `footplate runs watch`: it never has more lines than the terminal."""

from __future__ import annotations

import pytest

from footplate.cli.runs.watching import screen
from footplate.domain.records import RunView, Stage


def views(count: int) -> list[RunView]:
    return [
        RunView(
            id=f"train_{at:08}_abcdefgh", workspace="w", experiment="e", experiment_id="x", number=at, kind="job",
            type=None, status="Running", stage=Stage.RUNNING, version=9, attempt=1, created=1.0, metrics={"loss": 0.5},
        )
        for at in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [30, 44, 80, 140])
@pytest.mark.parametrize("height", [4, 7, 24])
@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_the_screen_fits(columns: int, height: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = screen(views(count), height)
    assert len(lines) <= height
    shown = sum("train_" in line for line in lines)
    if shown < count:
        assert lines[-1] == f"… and {count - shown} more" or height < 6
    else:
        assert shown == count
