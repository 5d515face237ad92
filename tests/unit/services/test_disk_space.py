from __future__ import annotations

from pathlib import Path

from footplate.disk import LITTLE_SPACE
from footplate.services.disk_space import DiskSpace

from .conftest import House, run_through


def test_active_runs_report_a_full_disk_while_it_lasts(house: House) -> None:
    free, runs = [LITTLE_SPACE], house.services.runs
    disk = DiskSpace(house.home, lambda _: free[0])
    house.submit("r1")
    house.until_launched("r1")
    view, story = runs.view("r1"), runs.story("r1")
    assert disk.with_warning(view) == view and disk.with_line(view.status, story) == story
    free[0] = LITTLE_SPACE - 1
    assert f"the disk of {house.home} is full (8191 KiB are free)" in disk.with_warning(view).warnings[-1]
    assert "is full" in disk.with_line(view.status, story)[-1].text


def test_runs_that_have_ended_wait_for_no_space(house: House) -> None:
    house.submit("r1")
    run_through(house, "r1")
    house.until_status("r1", "Completed")
    disk, view = DiskSpace(house.home, lambda _: 0), house.services.runs.view("r1")
    assert disk.with_warning(view) == view
    assert disk.with_line(view.status, []) == []


def test_space_of_a_real_disk_is_measured(tmp_path: Path) -> None:
    assert DiskSpace(tmp_path).warning() is None
