"""Everything that is known about one moment of a run: lines of logs, samples of machines, events, checkpoint."""

from __future__ import annotations

import re
from bisect import bisect_right

from footplate.domain.orders import CHECKPOINTS
from footplate.domain.records import StoryLine
from footplate.domain.replies import CheckpointFile, HardwareSample, LogPage, Moment, RankLog
from footplate.storage import Storage
from footplate.storage.log_reading.log_reader import LogPlace

SAMPLE_SECONDS = 60.0
EVENT_SECONDS = 300.0
_MOST_EVENTS = 20
_MOST_LOGS = 64
_RANK = re.compile(r"user_logs/std_log(?:_process_(\d+))?\.txt")


class MomentService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def at(self, run: str, time: float, lines: int) -> Moment:
        """Return what happened at a time: in each log, `lines` lines before it and as many after it."""
        self._store.runs.record(run)
        return Moment(
            time,
            logs=self._logs(run, time, lines),
            hardware=self._hardware(run, time),
            events=self._events(run, time),
            checkpoint=self._checkpoint(run, time),
        )

    def _logs(self, run: str, time: float, lines: int) -> tuple[RankLog, ...]:
        logs = [file.path for file in self._store.logs.list(run) if file.size and file.path.endswith(".txt")]
        return tuple(RankLog(_rank_of(path), self._around(run, path, time, lines)) for path in logs[:_MOST_LOGS])

    def _around(self, run: str, path: str, time: float, lines: int) -> LogPage:
        reader = self._store.log_reader
        before = reader.page(run, path, LogPlace(time=time), lines, back=True)
        return reader.page(run, path, LogPlace(offset=before.offset), len(before.texts) + lines)

    def _hardware(self, run: str, time: float) -> tuple[HardwareSample, ...]:
        names = [each["name"] for each in self._store.metrics.summary(run) if each["system"]]
        samples: list[HardwareSample] = []
        for name, joined in sorted(self._store.metrics.curves(run, names, "time", system=True).items()):
            times = joined.curve.xs
            at = bisect_right(times, time)
            near = [place for place in (at - 1, at) if 0 <= place < len(times)]
            place = min(near, key=lambda each: abs(times[each] - time), default=None)
            if place is not None and abs(times[place] - time) <= SAMPLE_SECONDS:
                samples.append(HardwareSample(name, times[place], joined.curve.values[place]))
        return tuple(samples)

    def _events(self, run: str, time: float) -> tuple[StoryLine, ...]:
        near = [line for line in self._store.runs.story(run) if abs(line.time - time) <= EVENT_SECONDS]
        nearest = sorted(near, key=lambda line: abs(line.time - time))[:_MOST_EVENTS]
        return tuple(sorted(nearest, key=lambda line: line.seq))

    def _checkpoint(self, run: str, time: float) -> CheckpointFile | None:
        files = self._store.files.list(run, CHECKPOINTS)
        saved = [(file.modified, file.path) for file in files if file.modified is not None and file.modified <= time]
        return CheckpointFile(max(saved)[1], max(saved)[0]) if saved else None


def _rank_of(path: str) -> int | None:
    match = _RANK.fullmatch(path)
    return None if match is None else int(match[1] or 0)
