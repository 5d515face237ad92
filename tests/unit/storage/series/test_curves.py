"""Curves read from journals, beside the series that the store reads."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from footplate.job.slots import FLOAT, FLOAT_SLOT, MARK, SERIES, TEXT_SLOT
from footplate.storage.series.curves import RecentCurves

NAN = float("nan")


def definition(text: bytes, number: int) -> bytes:
    return TEXT_SLOT.pack(0, len(text), 0.0, NAN, number, SERIES, MARK)


class Folder:
    """Journals of one metric, `loss`, written slot by slot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file_of(self, run: str, writer: str) -> Path:
        return self._folder / f"{run}-{writer}.slots"

    def log(self, writer: str, points: list[tuple[float, float, float]]) -> None:
        file = self.file_of("r", writer)
        text = b'{"name":"loss","description":""}'
        if not file.exists():
            file.with_suffix(".text").write_bytes(text)
            file.write_bytes(definition(text, 1))
        with file.open("ab") as stream:
            for time, step, value in points:
                stream.write(FLOAT_SLOT.pack(value, time, step, 1, FLOAT, MARK))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def read(curves: RecentCurves, *writers: str, axis: str = "step") -> tuple[list[float], list[float]]:
    curve = curves.read("r", writers, ["loss"], axis)["loss"].curve
    return list(curve.xs), list(curve.values)


def test_points_that_arrive_extend_a_curve(folder: Folder) -> None:
    curves = RecentCurves(folder.file_of)
    folder.log("a", [(1.0, 0.0, 5.0)])
    assert read(curves, "a") == ([0.0], [5.0])
    folder.log("a", [(2.0, 1.0, 4.0)])
    assert read(curves, "a") == ([0.0, 1.0], [5.0, 4.0])
    assert read(curves, "a", axis="relative") == ([0.0, 1.0], [5.0, 4.0])
    assert read(curves, "a", axis="time") == ([1.0, 2.0], [5.0, 4.0])


def test_points_without_a_step_count_up(folder: Folder) -> None:
    folder.log("a", [(1.0, NAN, 5.0), (2.0, NAN, 6.0)])
    assert read(RecentCurves(folder.file_of), "a") == ([0.0, 1.0], [5.0, 6.0])


def test_writers_are_merged_by_time_and_steps_are_ordered(folder: Folder) -> None:
    folder.log("a", [(1.0, 0.0, 1.0), (3.0, 2.0, 3.0)])
    folder.log("b", [(2.0, 1.0, 2.0)])
    assert read(RecentCurves(folder.file_of), "a", "b") == ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_later_attempt_replaces_the_steps_that_it_repeats(folder: Folder) -> None:
    folder.log("rank_0", [(1.0, 0.0, 1.0), (2.0, 1.0, 2.0), (3.0, 2.0, 3.0)])
    folder.log("rank_0_attempt_2_7_x", [(9.0, 1.0, 20.0)])
    joined = RecentCurves(folder.file_of).read("r", ["rank_0", "rank_0_attempt_2_7_x"], ["loss"], "step")["loss"]
    assert (list(joined.curve.xs), list(joined.curve.values)) == ([0.0, 1.0], [1.0, 20.0])
    assert joined.starts == ((2, 1.0),)


def test_values_that_are_not_finite_stay_what_they_are(folder: Folder) -> None:
    folder.log("a", [(1.0, 0.0, math.inf), (2.0, 1.0, NAN), (3.0, 2.0, 1.0)])
    curve = RecentCurves(folder.file_of).read("r", ["a"], ["loss"], "step")["loss"].curve
    assert not curve.is_finite
    assert curve.values[0] == math.inf and curve.values[1] != curve.values[1] and curve.values[2] == 1.0


def test_an_unknown_metric_has_no_curve_and_memory_is_bounded(folder: Folder) -> None:
    curves = RecentCurves(folder.file_of, limit=1)
    folder.log("a", [(1.0, 0.0, 1.0), (2.0, 1.0, 2.0)])
    assert curves.read("r", ["a"], ["other"], "step") == {}
    assert read(curves, "a") == ([0.0, 1.0], [1.0, 2.0])


def test_each_rank_may_have_a_curve_of_its_own(folder: Folder) -> None:
    curves = RecentCurves(folder.file_of)
    folder.log("rank_0_7_ab", [(1.0, 0.0, 5.0)])
    folder.log("rank_1_8_cd", [(1.0, 0.0, 7.0)])
    folder.log("extra", [(2.0, 1.0, 9.0)])
    by_rank = curves.read_by_rank("r", ["rank_0_7_ab", "rank_1_8_cd", "extra"], ["loss", "none"], "step")
    assert {key: list(joined.curve.values) for key, joined in by_rank.items()} == {
        ("loss", None): [9.0],
        ("loss", 0): [5.0],
        ("loss", 1): [7.0],
    }


def test_a_metric_may_be_the_axis_of_another(folder: Folder) -> None:
    curves = RecentCurves(folder.file_of)
    folder.log("a", [(1.0, 0.0, 5.0), (2.0, 1.0, 3.0), (3.0, 2.0, 4.0)])
    assert read(curves, "a", axis="metric:loss") == ([3.0, 4.0, 5.0], [3.0, 4.0, 5.0])
    assert curves.read("r", ["a"], ["loss"], "metric:none") == {}
