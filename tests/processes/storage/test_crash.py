"""A server that is killed at any moment loses and repeats nothing."""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.process
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from footplate.errors import OutOfSpace
from footplate.job.journal import Journal
from footplate.storage import Storage
from support.storage_parts.fixtures import journal, record, workspace

FORK = multiprocessing.get_context("fork")
POINTS = 4000


def write(j: Journal) -> None:
    for i in range(POINTS // 4):
        j.log("loss", float(i))
        j.log("count", i)
        j.log("word", f"w{i}")
        j.log(f"series-{i % 50}", math.nan if i % 3 else float(i))


def ship(home: Path, streams: dict[str, bytes], pipe: Connection, seed: int) -> None:
    """Act as a node agent: ask for the sizes, and send the next pieces, with repetitions."""
    chance, store = random.Random(seed), Storage.open(home)
    sizes = store.metrics.sizes("r-1")
    at = {
        "text": sizes.get("rank_0.text", 0),
        "slots": sizes.get("rank_0.slots", 0),
        "log": store.logs.size("r-1", "log"),
    }
    while any(at[name] < len(streams[name]) for name in streams):
        for name in ("text", "slots", "log"):
            if name == "slots" and at["text"] < len(streams["text"]):
                continue  # text goes first
            start = max(0, at[name] - chance.randrange(200))
            piece = streams[name][start : at[name] + chance.randrange(1, 3000)]
            if name == "log":
                at[name] = store.logs.append("r-1", "log", start, piece)
            else:
                at[name] = store.metrics.append("r-1", "rank_0", name, start, piece)
            pipe.send(name)
    pipe.send("done")


def until_killed(start: Callable[[Connection], multiprocessing.process.BaseProcess], messages: int) -> bool:
    """Start it and kill it after so many messages; return whether it was done before."""
    here, there = FORK.Pipe(duplex=False)
    child = start(there)
    there.close()
    done = False
    try:
        for _ in range(messages):
            if here.recv() == "done":
                done = True
                break
    except EOFError:
        pytest.fail(f"the child ended by itself: {child.exitcode}")
    child.kill()
    child.join(120)
    here.close()
    return done


def test_repeated_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    slots, words = journal(tmp_path / "spool", write)
    streams = {"slots": slots, "text": words, "log": bytes(random.Random(1).randbytes(60_000))}
    store = Storage.open(home)
    store.workspaces.create(workspace())
    store.runs.create(record("r-1"), "", [])
    store.close()
    chance, done, kills = random.Random(7), False, 0
    while not done:

        def start(pipe: Connection, seed: int = kills) -> multiprocessing.process.BaseProcess:
            child = FORK.Process(target=ship, args=(home, streams, pipe, seed))
            child.start()
            return child

        done = until_killed(start, chance.randrange(1, 40))
        kills += not done
    assert kills >= 3
    store = Storage.open(home)
    assert store.logs.read("r-1", "log", 0, 10**6) == streams["log"]
    assert (home / "runs/r-1/journals/rank_0.slots").read_bytes() == slots
    summary = {item["name"]: item for item in store.metrics.summary("r-1")}
    assert sum(item["count"] for item in summary.values()) == POINTS
    assert (summary["loss"]["last"], summary["loss"]["min"]) == (POINTS / 4 - 1, 0.0)
    assert [p[2] for p in store.metrics.read("r-1", "count")[0]["points"]] == list(range(POINTS // 4))
    store.close()


def create_runs(home: Path, pipe: Connection, first: int) -> None:
    store = Storage.open(home)
    for i in range(first, first + 1000):
        store.runs.create(record(f"r-{i}", tags={"n": str(i)}, properties={"p": "1"}), "ann", [])
        pipe.send(f"r-{i}")


def test_an_acknowledged_run_is_complete(tmp_path: Path) -> None:
    home, answered = tmp_path / "home", set[str]()
    store = Storage.open(home)
    store.workspaces.create(workspace())
    for attempt in range(5):
        here, there = FORK.Pipe(duplex=False)
        child = FORK.Process(target=create_runs, args=(home, there, attempt * 1000))
        child.start()
        there.close()
        answered |= {here.recv() for _ in range(10 + attempt)}
        child.kill()
        child.join(120)
    views = {view.id: view for view in store.runs.views([f"r-{i}" for i in range(5000)])}
    assert answered <= set(views)
    assert all((len(v.tags), v.properties) == (1, {"p": "1"}) for v in views.values())
    assert sorted(v.number for v in views.values()) == list(range(1, len(views) + 1))
    assert all(store.runs.record(run).spec.tags for run in views)
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    shutil.rmtree(folder)


@pytest.mark.root
def test_a_full_disk_does_not_break_the_store(small_disk: Path, tmp_path: Path) -> None:
    store = Storage.open(small_disk / "home")
    store.workspaces.create(workspace())
    store.runs.create(record("r-1", tags={"a": "1"}), "", [])
    store.logs.append("r-1", "log", 0, b"kept")
    slots, words = journal(tmp_path / "spool", write)
    store.metrics.append("r-1", "rank_0", "text", 0, words)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    with pytest.raises(OutOfSpace):
        store.logs.append("r-1", "log", 4, bytes(100_000))
    with pytest.raises(OutOfSpace):
        store.metrics.append("r-1", "rank_0", "slots", 0, slots)
    with pytest.raises(OutOfSpace):
        for i in range(1000):
            store.runs.change("r-1", tags={f"t-{i}": "x" * 1000})
    kept = len(store.runs.view("r-1").tags)
    with pytest.raises(OutOfSpace):
        store.runs.create(record("r-2", definition={"x": "y" * 100_000}), "", [])
    store.close()
    filler.unlink()
    again = Storage.open(small_disk / "home")
    with again.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    assert len(again.runs.view("r-1").tags) == kept
    assert again.runs.views(["r-2"]) == []
    assert again.logs.read("r-1", "log", 0, 10**6) == b"kept"
    assert again.metrics.append("r-1", "rank_0", "slots", again.metrics.sizes("r-1")["rank_0.slots"], slots) == len(
        slots
    )
    assert sum(item["count"] for item in again.metrics.summary("r-1")) == POINTS
    again.runs.create(record("r-2"), "", [])
    assert again.runs.view("r-2").number == 2
    again.close()
