"""Pages and searches of a run's logs, with line numbers and times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.domain.records import RunRecord, Stage, WorkspaceView
from footplate.domain.replies import LogMatch
from footplate.domain.specs import RunSpec
from footplate.errors import NotFound
from footplate.storage import Storage
from footplate.storage.log_reading.log_reader import LogPlace

LOG = "user_logs/std_log.txt"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Storage]:
    store = Storage.open(tmp_path)
    store.workspaces.create(WorkspaceView("w", "ws", "sub", "group", "local", 1.0))
    store.runs.create(RunRecord("r", "w", RunSpec(experiment="e"), Stage.RUNNING, 1.0), "", [])
    for second in range(10):
        before = store.logs.size("r", LOG)
        lines = b"".join(b"line %d\n" % (second * 10 + i) for i in range(10))
        store.logs.append("r", LOG, before, lines, now=1000.0 + 10 * second)
    yield store
    store.close()


def test_a_page_begins_at_a_line_an_offset_or_a_time(store: Storage) -> None:
    page = store.log_reader.page("r", LOG, LogPlace(line=42), 3)
    assert (page.first, page.texts, page.lines) == (42, ["line 42", "line 43", "line 44"], 100)
    assert page.times == [1040.0] * 3
    assert store.log_reader.page("r", LOG, LogPlace(offset=page.offset + 2), 3) == page
    at_time = store.log_reader.page("r", LOG, LogPlace(time=1035.0), 2)
    assert (at_time.first, at_time.times) == (40, [1040.0, 1040.0])


def test_a_page_may_end_at_a_place(store: Storage) -> None:
    assert store.log_reader.page("r", LOG, LogPlace(), 2).texts == ["line 98", "line 99"]
    page = store.log_reader.page("r", LOG, LogPlace(line=42), 2, back=True)
    assert (page.first, page.texts) == (40, ["line 40", "line 41"])
    following = store.log_reader.page("r", LOG, LogPlace(offset=page.end), 1)
    assert following.texts == ["line 42"]
    assert store.log_reader.page("r", LOG, LogPlace(line=0), 2, back=True).texts == []
    beyond = store.log_reader.page("r", LOG, LogPlace(line=1000), 2)
    assert (beyond.texts, beyond.first, beyond.offset) == ([], 100, beyond.size)


def test_a_search_names_lines(store: Storage) -> None:
    found = store.log_reader.search("r", LOG, "text", "NE 7", False, 0, 2)
    assert found.matches == (LogMatch(7, 51, "line 7", 2, 6), LogMatch(70, found.matches[1].offset, "line 70", 2, 6))
    assert found.next is not None
    rest = store.log_reader.search("r", LOG, "text", "NE 7", False, found.next, 100)
    assert ([match.line for match in rest.matches], rest.next) == ([*range(71, 80)], None)


def test_a_match_shows_the_part_of_a_progress_bar(store: Storage) -> None:
    size = store.logs.size("r", LOG)
    store.logs.append("r", LOG, size, b"\r10 % slow\r20 % fast\r30 % slow\n", now=1200.0)
    [match] = store.log_reader.search("r", LOG, "text", "fast", False, 0, 10).matches
    assert (match.line, match.text, match.text[match.start : match.end]) == (100, "20 % fast", "fast")


def test_a_rewritten_log_has_new_lines(store: Storage) -> None:
    store.logs.append("r", LOG, 0, b"x" * 600_000 + b"\n", replace=True, now=1300.0)
    assert store.log_reader.page("r", LOG, LogPlace(), 5).lines == 1
    store.logs.append("r", LOG, 0, b"y\n" * 300_000, replace=True, now=1301.0)
    assert store.log_reader.page("r", LOG, LogPlace(), 1).lines == 300_000


def test_an_unknown_log_is_not_found(store: Storage) -> None:
    with pytest.raises(NotFound, match="no log 'nothing'"):
        store.log_reader.page("r", "nothing", LogPlace(), 5)
