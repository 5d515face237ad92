"""Resumption of large uploads to object stores after cut connections and killed senders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.data.stores.registry import open_store
from footplate.data.transfer.batch import upload
from footplate.data.transfer.multipart import PART, Parts, multipart_for, upload_parts
from footplate.domain.codec import to_json
from footplate.domain.data import StoreSpec
from footplate.errors import Conflict, NotFound, Unavailable
from support.cutting_proxy import CuttingProxy
from support.servers import Azurite, MotoS3, RcloneS3

SIZE = 4 * PART + 7

KILLED = """
import json, os, pathlib, signal, sys
from footplate.data.stores.registry import open_store
from footplate.domain.codec import from_json
from footplate.domain.data import StoreSpec
spec, source, notes, enough = sys.argv[1:]
sent = 0
def count(more):
    global sent
    sent += more
    if sent >= int(enough):
        os.kill(os.getpid(), signal.SIGKILL)
open_store(from_json(StoreSpec, json.loads(spec))).put("deep/x y", pathlib.Path(source), count=count, notes=notes)
"""


class Line:
    """A store behind a connection that can be cut."""

    def __init__(self, port: int, spec: StoreSpec, keeps_parts: bool) -> None:
        self.proxy = CuttingProxy(port)
        self.keeps_parts = keeps_parts
        endpoint = spec.location["endpoint"].replace(f":{port}", f":{self.proxy.port}")
        self.near = spec
        self.spec = replace(spec, location={**spec.location, "endpoint": endpoint})


@pytest.fixture(scope="module", params=["azurite", "moto", "rclone"])
def new_line(request: pytest.FixtureRequest) -> Callable[[], Line]:
    server: Azurite | MotoS3 | RcloneS3 = request.getfixturevalue(request.param)
    return lambda: Line(server.port, server.new_store(), keeps_parts=request.param != "rclone")


@pytest.fixture
def line(new_line: Callable[[], Line]) -> Iterator[Line]:
    made = new_line()
    yield made
    made.proxy.stop()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(SIZE))
    return path


def kill_midway(line: Line, source: Path, notes: Path) -> None:
    argv = [sys.executable, "-c", KILLED, json.dumps(to_json(line.spec)), str(source), str(notes), str(2 * PART)]
    assert subprocess.run(argv, check=False).returncode == -9
    with pytest.raises(NotFound):
        open_store(line.near).stat("deep/x y")


def test_an_upload_survives_repeated_cuts(line: Line, source: Path) -> None:
    line.proxy.limit = int(1.5 * PART)
    counted = list[int]()
    entry = open_store(line.spec).put("deep/x y", source, count=counted.append)
    assert entry.size == sum(counted) == SIZE
    assert open_store(line.near).read("deep/x y") == source.read_bytes()


def test_an_upload_of_a_killed_sender_is_resumed(line: Line, source: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    kill_midway(line, source, notes)
    with notes.open("a") as file:
        file.write('[4, "')  # the sender died in the middle of a line
    line.proxy.sent = 0
    counted = list[int]()
    open_store(line.spec).put("deep/x y", source, count=counted.append, notes=str(notes))
    if line.keeps_parts:  # rclone then refuses to combine the parts, whatever their tags, and all are sent again
        assert line.proxy.sent < SIZE - PART + 100_000, "it started over"
        assert sum(counted) == SIZE, "parts sent before count as progress too"
    assert open_store(line.near).read("deep/x y") == source.read_bytes()
    assert not notes.exists()


class Tired:
    """Parts of a store that becomes unreachable after the first two."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._sent, self._turn = parts, 0, threading.Lock()
        self.begin, self.check, self.finish, self.abort = parts.begin, parts.check, parts.finish, parts.abort

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        with self._turn:
            if self._sent == 2:
                raise Unavailable("unreachable", "try again")
            tag = self._parts.send(path, upload, number, data)
            self._sent += 1
            return tag


def test_only_missing_parts_are_sent_after_a_failure(line: Line, source: Path, tmp_path: Path) -> None:
    parts, notes = multipart_for(line.spec), str(tmp_path / "notes")
    assert parts is not None
    with pytest.raises(Unavailable):
        upload_parts(Tired(parts), "x", source, lambda _: None, notes)
    line.proxy.sent = 0
    counted = list[int]()
    open_store(line.spec).put("x", source, count=counted.append, notes=notes)
    assert line.proxy.sent < SIZE - PART + 100_000, "it started over"
    assert sum(counted) == SIZE, "parts sent before count as progress too"
    assert open_store(line.near).read("x") == source.read_bytes()


def test_a_source_that_changed_in_between_is_sent_again(line: Line, source: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    kill_midway(line, source, notes)
    source.write_bytes(os.urandom(SIZE))
    open_store(line.spec).put("deep/x y", source, notes=str(notes))
    assert open_store(line.near).read("deep/x y") == source.read_bytes()


def test_a_source_that_changes_during_the_upload_is_refused(line: Line, source: Path) -> None:
    with pytest.raises(Conflict, match="changed during the upload"):
        open_store(line.spec).put("deep/x y", source, count=lambda _: os.utime(source, (5, 5)))
    with pytest.raises(NotFound):
        open_store(line.near).stat("deep/x y")


def test_parts_that_the_store_has_forgotten_are_sent_again(line: Line, source: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    info = source.stat()
    lines = [
        f'["aaaabbbbccccdddd", {PART}, {info.st_size}, {info.st_mtime_ns}]',
        '[1, "YWFhYWJiYmJjY2NjZGRkZC0wMDAwMDE="]',
    ]
    notes.write_text("\n".join(lines) + "\n")
    open_store(line.spec).put("deep/x y", source, notes=str(notes))
    assert open_store(line.near).read("deep/x y") == source.read_bytes()


@pytest.mark.parametrize("left", [b"\0\0\0\n", b"[1]\n", b'["upload", 8, 9, 10]\n7\n'])
def test_unreadable_notes_are_ignored(line: Line, source: Path, tmp_path: Path, left: bytes) -> None:
    """A power failure may leave such notes."""
    notes = tmp_path / "notes"
    notes.write_bytes(left)
    open_store(line.spec).put("deep/x y", source, notes=str(notes))
    assert open_store(line.near).stat("deep/x y").size == SIZE
    assert not notes.exists()


def test_a_failed_upload_of_many_files_is_reported_and_resumed(line: Line, source: Path, tmp_path: Path) -> None:
    files = [(source, "large"), *[(tmp_path / f"f{n}", f"f{n}") for n in range(20)]]
    for path, _ in files[1:]:
        path.write_text(path.name)
    line.proxy.limit = PART // 2
    with pytest.raises(Unavailable):
        upload(files, open_store(line.spec), notes=tmp_path / "going")
    line.proxy.limit = None
    done = upload(files, open_store(line.spec), notes=tmp_path / "going")
    assert len(done.stored) + len(done.skipped) == 21 and "large" not in done.skipped
    assert open_store(line.near).read("large") == source.read_bytes()
    assert list((tmp_path / "going").iterdir()) == []
