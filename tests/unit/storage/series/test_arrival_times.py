"""Arrival times: one line per second, torn lines, and disks that cannot take them."""

from __future__ import annotations

from pathlib import Path

from footplate.storage.series.arrival_times import ArrivalTimes, first_offset, mark


def test_at_most_one_line_a_second(tmp_path: Path) -> None:
    times = tmp_path / "deep" / "log.txt"
    for tenth in range(35):
        mark(times, tenth, 1000 + tenth / 10)
    assert [line.split()[1] for line in times.read_text().split("\n")[1:]] == ["0", "10", "20", "30"]


def test_a_clock_that_was_set_back_is_followed(tmp_path: Path) -> None:
    times = tmp_path / "log.txt"
    mark(times, 0, 5000.0)
    mark(times, 10, 1000.0)
    assert first_offset(times, 990.0) == 0
    assert first_offset(times, 4000.0) == 0
    assert first_offset(times, 6000.0) is None


def test_a_torn_line_is_skipped(tmp_path: Path) -> None:
    times = tmp_path / "log.txt"
    times.write_text("\n1000.000 70 ;\n1060.000 1")
    mark(times, 150, 2000.0)
    assert first_offset(times, 999.0) == 70
    assert first_offset(times, 1030.0) == 150


def test_a_log_survives_times_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    mark(tmp_path / "file" / "log.txt", 0, 1000.0)
    assert first_offset(tmp_path / "file" / "log.txt", 0.0) is None


def test_a_log_that_arrives_within_a_second_has_no_file(tmp_path: Path) -> None:
    times, marks = tmp_path / "log.txt", ArrivalTimes()
    marks.mark(times, 0, 1000.0, 0.0)
    marks.mark(times, 10, 1000.9, 1000.0)
    assert not times.exists()
    marks.mark(times, 20, 1060.0, 1000.9)
    assert [first_offset(times, moment) for moment in (999.0, 1030.0, 1100.0)] == [0, 20, None]


def test_a_log_that_grows_without_a_pause_has_its_times(tmp_path: Path) -> None:
    times, marks = tmp_path / "log.txt", ArrivalTimes()
    for tenth in range(35):
        marks.mark(times, tenth, 1000 + tenth / 10, 1000 + (tenth - 1) / 10)
    assert [line.split()[1] for line in times.read_text().split("\n")[1:]] == ["0", "10", "20", "30"]


def test_a_forgotten_beginning_is_as_old_as_the_last_change(tmp_path: Path) -> None:
    times, marks = tmp_path / "log.txt", ArrivalTimes(limit=1)
    marks.mark(times, 0, 1000.0, 0.0)
    marks.mark(tmp_path / "other.txt", 0, 1000.0, 0.0)
    marks.mark(times, 10, 1060.0, 1010.0)
    assert [first_offset(times, moment) for moment in (1005.0, 1030.0)] == [0, 10]
