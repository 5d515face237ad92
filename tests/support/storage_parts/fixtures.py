"""Shared by the storage suites: a store that can be reopened, and small values to put into it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Program
from footplate.domain.records import (
    RunRecord,
    RunView,
    Stage,
    StoryLine,
    WorkspaceView,
)
from footplate.domain.specs import RunSpec
from footplate.domain.targets import LOCAL
from footplate.job.journal import Journal
from footplate.storage import Storage

WORKSPACE = "w-1"
ODD = "a'b\"c;--\\\n%_é漢😀 "
"""A name with every character that a careless statement handles wrongly."""


def workspace(id: str = WORKSPACE, name: str = "trains", created: float = 1.0) -> WorkspaceView:
    return WorkspaceView(id, name, "sub", "group", LOCAL, created, None, {"team": None, ODD: ODD})


def record(id: str, experiment: str = "steam", stage: Stage = Stage.LOCKING, **spec: Any) -> RunRecord:
    asked = RunSpec(experiment=experiment, program=Program(script="train.py"), **spec)
    return RunRecord(id, WORKSPACE, asked, stage, 100.0)


def created(store: Storage, made: RunRecord, by: str = "", lines: Sequence[StoryLine] = ()) -> RunView:
    """Store a new run; return its view."""
    store.runs.create(made, by, list(lines))
    return store.runs.view(made.id)


def line(seq: int, text: str = "something happened") -> StoryLine:
    return StoryLine(seq, float(seq), "Something", "Running", text, {"seq": seq})


def journal(folder: Path, write: Callable[[Journal], None], writer: str = "rank_0") -> tuple[bytes, bytes]:
    """Return the files of a job's writer: (slots, text)."""
    with Journal(str(folder), writer) as opened:
        write(opened)
    text_file = folder / f"{writer}.text"
    return (folder / f"{writer}.slots").read_bytes(), text_file.read_bytes() if text_file.exists() else b""


def log_all(j: Journal, values: Sequence[Any], name: str = "loss") -> None:
    for value in values:
        j.log(name, value)


def ids(page: tuple[list[RunView], str | None]) -> list[str]:
    return [view.id for view in page[0]]


class StorageFixtures:
    @pytest.fixture
    def address(self) -> str | None:
        raise NotImplementedError("define a fixture `address` with the database to test")

    @pytest.fixture
    def open_store(self, tmp_path: Path, address: str | None) -> Generator[Callable[[], Storage], None, None]:
        """Open the same store repeatedly, as restarts of a server do."""
        opened: list[Storage] = []

        def open_one() -> Storage:
            opened.append(Storage.open(tmp_path / "home", address))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, open_store: Callable[[], Storage]) -> Storage:
        store = open_store()
        store.workspaces.create(workspace())
        return store
