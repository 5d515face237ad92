"""A full disk of the home folder, reported with every active run while it lasts.

Nothing is written: on a full disk the database accepts no warning. Agents keep logs, metrics and outputs in files and
send them when there is space again; then they also record how long they waited (`node.delivery.disk_wait`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from footplate.disk import LITTLE_SPACE, free_bytes
from footplate.domain.records import RunView, StoryLine
from footplate.domain.runs.run_status import TERMINAL


class DiskSpace:
    def __init__(self, home: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self._home = home
        self._free = free

    def warning(self) -> str | None:
        """Return the warning for active runs while the disk is full."""
        free = self._free(self._home)
        if free >= LITTLE_SPACE:
            return None
        return (
            f"the disk of {self._home} is full ({free // 1024} KiB are free): logs, metrics and outputs of this run "
            "wait until there is space; free some"
        )

    def with_warning(self, view: RunView) -> RunView:
        if view.status in TERMINAL or (warning := self.warning()) is None:
            return view
        return replace(view, warnings=(*view.warnings, warning))

    def with_line(self, status: str, story: list[StoryLine]) -> list[StoryLine]:
        if status in TERMINAL or (warning := self.warning()) is None:
            return story
        number = story[-1].seq if story else 0
        return [*story, StoryLine(number, time.time(), "WarningAdded", status, f"warning: {warning}")]
