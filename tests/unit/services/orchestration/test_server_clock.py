from __future__ import annotations

from pathlib import Path

from footplate.services.orchestration.alarms import FILE, ServerClock


class Times:
    """A machine's two clocks."""

    def __init__(self) -> None:
        self.monotonic, self.wall = 50.0, 1000.0

    def open(self, home: Path) -> ServerClock:
        return ServerClock(home, lambda: self.monotonic, lambda: self.wall)


def test_a_jump_of_the_wall_clock_changes_nothing(tmp_path: Path) -> None:
    times = Times()
    clock = times.open(tmp_path)
    assert clock() == 1000.0
    times.wall += 3600
    times.monotonic += 5
    assert clock() == 1005.0


def test_the_time_without_a_server_does_not_count(tmp_path: Path) -> None:
    times = Times()
    clock = times.open(tmp_path)
    times.monotonic += 5
    clock.save()
    times.monotonic, times.wall = 2.0, 90_000.0  # the machine was off for a day
    assert times.open(tmp_path)() == 1005.0


def test_a_damaged_file_begins_again(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no number")
    assert Times().open(tmp_path)() == 1000.0
