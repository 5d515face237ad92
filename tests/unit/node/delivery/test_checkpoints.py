"""The server always has a complete version of ./checkpoints, whenever the ranks, the agent or the server stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from footplate.content.blobs import BlobFolder
from footplate.domain.orders import Lock, NodeOrders, Program
from footplate.domain.records import FileView
from footplate.errors import Unavailable
from footplate.node.delivery.checkpoints import CheckpointSaver, restore
from footplate.node.node_directory import NodeFolder
from footplate.testing.waiting import wait_until

HERE = [os.getpid()]


class Server:
    """The part of the link that checkpoints use. While `away`, nothing is published."""

    def __init__(self) -> None:
        self.saved: dict[str, FileView] = {}
        self.published = 0
        self.away = False

    def save_checkpoints(self, files: Sequence[FileView]) -> Sequence[str]:
        if self.away:
            raise Unavailable("away", "wait")
        owners = {file.path.partition("/")[0] for file in files}
        self.saved = {path: file for path, file in self.saved.items() if path.partition("/")[0] not in owners}
        self.saved.update({file.path: file for file in files})
        self.published += 1
        return ()

    def files(self, prefix: str) -> list[FileView]:
        return [file for path, file in self.saved.items() if path.startswith(prefix)]

    def retry(self, call: Callable[[], Any], enough: Callable[[], bool] = lambda: False) -> Any:
        return call()

    def warn(self, message: str) -> None:
        raise AssertionError(message)


class Arena:
    """One node of a run that shares the server's home."""

    def __init__(self, home: Path, server: Server, node: int = 0, nodes: int = 1, attempt: int = 1) -> None:
        self.home, self.server = home, server
        self.folder = NodeFolder(str(home), "r", node, attempt)
        self.folder.make()
        self.path = Path(self.folder.wd) / "checkpoints"
        self.path.mkdir(exist_ok=True)
        lock = Lock("d", "existing", {})
        self.orders = NodeOrders("r", node, attempt, True, False, Program("s.py"), lock, None, {}, nodes=nodes)
        self.link: Any = server
        self.saver = self.open()

    def open(self, look_seconds: float = 1.0, patience: float = 60.0, **more: Any) -> CheckpointSaver:
        return CheckpointSaver(
            self.link, self.folder, self.orders, str(self.home), lambda: HERE, print, look_seconds, patience, **more
        )

    def restore(self) -> dict[str, str]:
        return restore(self.link, str(self.home), self.folder, self.orders)

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text)

    def at_server(self) -> dict[str, str]:
        blobs = BlobFolder(str(self.home / "blobs"))
        return {path: b"".join(blobs.read(file.digest or "")).decode() for path, file in self.server.saved.items()}

    def content(self) -> dict[str, str]:
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        return {str(path.relative_to(self.path)): path.read_text() for path in files}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def node(tmp_path: Path, server: Server) -> Arena:
    made = Arena(tmp_path, server)
    made.saver.begin({})
    return made


def test_a_file_is_saved_when_a_second_look_finds_it_unchanged(node: Arena) -> None:
    node.write("step_1/model.pt", "weights")
    assert not node.saver.save()
    assert node.saver.save()
    assert node.at_server() == {"checkpoints/step_1/model.pt": "weights"}
    assert not node.saver.save()
    assert node.server.published == 1


def test_a_file_that_is_open_for_writing_is_not_saved(node: Arena) -> None:
    with open(node.path / "model.pt", "w") as file:
        file.write("half")
        file.flush()
        assert [node.saver.save() for _ in range(3)] == [False, False, False]
        file.write(" and half")
    assert [node.saver.save() for _ in range(3)] == [False, True, False]
    assert node.at_server() == {"checkpoints/model.pt": "half and half"}


def test_a_file_that_changes_before_each_look_is_saved_after_a_while(node: Arena) -> None:
    node.saver = node.open(patience=60.0)
    for step in ("1", "22"):
        node.write("model.pt", step)
        assert not node.saver.save_in_time()
    node.saver = node.open(patience=0.0)
    for step in ("333", "4444"):
        node.write("model.pt", step)
        assert node.saver.save_in_time()
        assert node.at_server() == {"checkpoints/model.pt": step}


def test_files_that_belong_together_are_saved_together(node: Arena) -> None:
    node.write("model.pt", "1")
    node.write("optimizer.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    node.write("model.pt", "2")
    with open(node.path / "optimizer.pt", "w") as file:
        file.write("2")
        file.flush()
        assert [node.saver.save() for _ in range(3)] == [False, False, False]
        assert set(node.at_server().values()) == {"1"}
    assert node.saver.save()
    assert set(node.at_server().values()) == {"2"}


def test_a_removed_file_stays_saved_until_another_takes_its_place(node: Arena) -> None:
    node.write("step_1.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    (node.path / "step_1.pt").unlink()
    assert [node.saver.save() for _ in range(3)] == [False, False, False]
    assert node.at_server() == {"checkpoints/step_1.pt": "1"}
    node.write("step_2.pt", "2")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    assert node.at_server() == {"checkpoints/step_2.pt": "2"}


def test_after_an_orderly_end_everything_is_saved(node: Arena) -> None:
    node.write("model.pt", "last")
    node.saver.finish(trusts=True)
    assert node.at_server() == {"checkpoints/model.pt": "last"}


def test_the_saver_settles_before_the_writers_are_killed(node: Arena) -> None:
    node.write("model.pt", "last")
    node.saver.settle()  # nothing to wait for: the thread does not run
    node.saver = node.open(look_seconds=0.01)
    node.saver.begin({})
    node.saver.start()
    node.server.away = True
    node.write("model.pt", "the very last")
    node.saver.settle()
    node.server.away = False
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/model.pt": "the very last"}


def test_after_a_kill_only_files_that_were_complete_are_saved(node: Arena) -> None:
    node.write("step_1.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    node.write("step_2.pt", "2")
    node.saver.save()
    with open(node.path / "step_3.pt", "w") as file:
        file.write("half")
        file.flush()
        node.saver.save()
    (node.path / "step_1.pt").unlink()
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/step_2.pt": "2"}


def test_a_kill_right_after_a_delete_keeps_the_last_version(node: Arena) -> None:
    node.write("model.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    (node.path / "model.pt").unlink()
    node.write("model.pt", "ha")
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/model.pt": "1"}


def test_a_server_that_dies_during_a_save_keeps_the_version_before(node: Arena) -> None:
    node.write("model.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    node.write("model.pt", "2")
    node.saver.save()
    node.server.away = True
    with pytest.raises(Unavailable):
        node.saver.save()
    assert node.at_server() == {"checkpoints/model.pt": "1"}
    node.server.away = False
    assert node.saver.save()
    assert node.at_server() == {"checkpoints/model.pt": "2"}


def test_another_agent_reads_no_file_again(node: Arena) -> None:
    node.write("model.pt", "1")
    assert [node.saver.save() for _ in range(2)] == [False, True]
    next_agent = node.open()
    assert [next_agent.save() for _ in range(3)] == [False, False, False]
    assert node.server.published == 1


def test_files_of_the_snapshot_are_saved_only_when_they_change(tmp_path: Path, server: Server) -> None:
    node = Arena(tmp_path, server)
    node.write("pretrained.pt", "from the source directory")
    node.saver.begin({})
    node.saver.finish(trusts=True)
    assert (server.saved, server.published) == ({}, 0)


def test_the_next_attempt_finds_the_checkpoints(node: Arena) -> None:
    node.write("a/model.pt", "weights")
    node.saver.finish(trusts=True)
    again = Arena(node.home, node.server, attempt=2)
    again.saver.begin(again.restore())
    assert again.content() == {"a/model.pt": "weights"}
    again.write("b.pt", "more")
    again.saver.finish(trusts=True)
    assert again.at_server() == {"checkpoints/a/model.pt": "weights", "checkpoints/b.pt": "more"}


def test_every_node_gets_the_files_of_all_and_saves_its_own(tmp_path: Path, server: Server) -> None:
    """Rank 0 writes model.pt; every rank writes its shard. Both find everything again, on whichever node."""
    for number in range(2):
        node = Arena(tmp_path, server, number, nodes=2)
        node.saver.begin({})
        node.write(f"shard_{number}.pt", f"{number}")
        if number == 0:
            node.write("model.pt", "old")
        node.saver.finish(trusts=True)
    nodes = [Arena(tmp_path, server, number, nodes=2, attempt=2) for number in range(2)]
    for node in nodes:
        node.saver.begin(node.restore())
        assert node.content() == {"model.pt": "old", "shard_0.pt": "0", "shard_1.pt": "1"}
    nodes[0].write("model.pt", "newer")
    for node in nodes:
        node.saver.finish(trusts=True)
    assert nodes[1].at_server() == {
        "checkpoints/model.pt": "newer", "checkpoints/shard_0.pt": "0", "checkpoints_node_1/shard_1.pt": "1",
    }  # fmt: skip


# ── What the kernel reports ───────────────────────────────────────────────────────────────────────────────────────────


def replace(node: Arena, name: str, text: str) -> None:
    node.write(f"{name}.new", text)
    os.replace(node.path / f"{name}.new", node.path / name)


def test_a_file_that_replaced_another_is_saved_though_the_run_dies(node: Arena) -> None:
    node.saver.watch()
    replace(node, "state.json", "4")
    replace(node, "state.json", "5")
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/state.json": "5"}


def test_a_directory_that_was_moved_is_saved_though_the_run_dies(node: Arena) -> None:
    node.saver.watch()
    node.write("step_5.new/model.pt", "weights")
    node.saver.save()
    (node.path / "step_5.new").rename(node.path / "step_5")
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/step_5/model.pt": "weights"}


def test_checkpoints_begun_before_a_death_are_not_saved(node: Arena) -> None:
    """A kill, and an error inside of `with`, close a file as its writer would."""
    replace(node, "state.json", "4")
    node.saver.watch()
    node.write("state.json", "5, but only ha")
    with open(node.path / "model.pt", "w") as file:
        file.write("half")
        file.flush()
        os.replace(node.path / "model.pt", node.path / "moved.pt")
        node.saver.save()
    node.saver.finish(trusts=False)
    assert node.at_server() == {}


def test_a_file_closed_as_a_rank_fails_is_not_saved(tmp_path: Path, server: Server) -> None:
    """Another rank may go on for a while: the file does not change any more, and is not complete."""
    node, failed = Arena(tmp_path, server), list[int]()
    node.saver = node.open(has_failed=lambda: bool(failed))
    node.saver.begin({})
    node.saver.watch()
    replace(node, "moved.pt", "whole")
    node.write("model.pt", "ha")
    failed.append(1)
    assert not node.saver.save()
    assert node.saver.save() is False
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/moved.pt": "whole"}


def test_files_are_saved_one_by_one_while_others_take_their_places(tmp_path: Path, server: Server) -> None:
    """A file is replaced all the time. What is saved is always one of its versions, and a new one every second."""
    node = Arena(tmp_path, server)
    node.saver = node.open(look_seconds=0.1)
    node.saver.begin({})
    node.saver.start()
    step = 0

    def is_published_after_a_replacement() -> bool:
        nonlocal step
        step += 1
        replace(node, "state.json", f"{step}" * 1000)
        return server.published >= 3

    wait_until(is_published_after_a_replacement, interval=0.005)
    node.saver.finish(trusts=False)
    assert node.at_server() == {"checkpoints/state.json": f"{step}" * 1000}


class ReplacingServer(Server):
    """Replaces a file while it is being sent."""

    def __init__(self) -> None:
        super().__init__()
        self.path, self.content = Path(), b""

    def missing(self, digests: Sequence[str]) -> set[str]:
        return set(digests)

    def put_blob(self, _digest: str, file: BinaryIO) -> None:
        first = file.read(5)
        (self.path / "new").write_text("the newer one")
        os.replace(self.path / "new", self.path / "state.json")
        self.content = first + file.read()


def test_a_file_replaced_while_it_is_sent_is_saved_whole(tmp_path: Path) -> None:
    server = ReplacingServer()
    node = Arena(tmp_path, server)
    server.path = node.path
    saver = CheckpointSaver(node.link, node.folder, node.orders, None, lambda: HERE, print)
    node.write("state.json", "the first one")
    assert [saver.save() for _ in range(2)] == [False, True]
    assert server.content == b"the first one"
    assert server.saved["checkpoints/state.json"].digest == sha256(b"the first one").hexdigest()
    assert not list(tmp_path.rglob("checkpoint_links"))
