"""A moment of a run: what was written, measured, decided and saved around it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.domain.records import FileView, RunRecord, Stage, StoryLine, WorkspaceView
from footplate.domain.replies import CheckpointFile, HardwareSample
from footplate.domain.specs import RunSpec
from footplate.errors import NotFound
from footplate.job.slots import FLOAT, FLOAT_SLOT, MARK, SERIES, TEXT_SLOT
from footplate.services.telemetry.moment import MomentService
from footplate.storage import Storage

NAN = float("nan")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Storage]:
    """A store with a run of two ranks that wrote, sampled and saved once every ten seconds."""
    store = Storage.open(tmp_path)
    store.workspaces.create(WorkspaceView("w", "ws", "sub", "group", "local", 1.0))
    events = [StoryLine(at, 1000.0 + 200 * at, "NodeJoined", "Running", f"event {at}", {}) for at in range(1, 6)]
    store.runs.create(RunRecord("r", "w", RunSpec(experiment="e"), Stage.RUNNING, 1.0), "", events)
    for rank in range(2):
        path = f"user_logs/std_log_process_{rank:02d}.txt"
        for second in range(100):
            line = b"rank %d line %d\n" % (rank, second)
            store.logs.append("r", path, store.logs.size("r", path), line, now=1000.0 + 10 * second)
    text = b'{"name":"system/cpu_percent","description":""}'
    slots = TEXT_SLOT.pack(0, len(text), 0.0, NAN, 1, SERIES, MARK)
    slots += b"".join(FLOAT_SLOT.pack(at, 1000.0 + 10 * at, NAN, 1, FLOAT, MARK) for at in range(50))
    store.metrics.append("r", "node_0", "text", 0, text, system=True)
    store.metrics.append("r", "node_0", "slots", 0, slots, system=True)
    digest = hashlib.sha256(b"weights").hexdigest()
    store.blobs.put_stream(digest, [b"weights"])
    for at in (1, 2):
        file = FileView(f"checkpoints/{at}.pt", 7, digest)
        store.files.add("r", [file], True, 1000.0 + 300 * at, None, 1)
    yield store
    store.close()


def test_a_moment_has_all_that_is_known_about_it(store: Storage) -> None:
    moment = MomentService(store).at("r", 1404.0, 2)
    assert [log.rank for log in moment.logs] == [0, 1]
    page = moment.logs[1].page
    assert (page.texts, page.first) == ([f"rank 1 line {at}" for at in range(39, 43)], 39)
    assert page.times == [1390.0, 1400.0, 1410.0, 1420.0]
    assert moment.hardware == (HardwareSample("system/cpu_percent", 1400.0, 40.0),)
    assert [line.text for line in moment.events] == ["event 1", "event 2", "event 3"]
    assert moment.checkpoint == CheckpointFile("checkpoints/1.pt", 1300.0)


def test_a_moment_outside_the_run_has_the_ends_of_its_logs(store: Storage) -> None:
    before, after = MomentService(store).at("r", 5.0, 2), MomentService(store).at("r", 9000.0, 2)
    assert [log.page.texts[0] for log in before.logs] == ["rank 0 line 0", "rank 1 line 0"]
    assert [log.page.texts[-1] for log in after.logs] == ["rank 0 line 99", "rank 1 line 99"]
    assert before.hardware == after.hardware == before.events == ()
    assert before.checkpoint is None
    assert after.checkpoint == CheckpointFile("checkpoints/2.pt", 1600.0)


def test_an_unknown_run_has_no_moment(store: Storage) -> None:
    with pytest.raises(NotFound):
        MomentService(store).at("ghost", 1.0, 1)
