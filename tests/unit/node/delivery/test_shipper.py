"""The node's shipper, against a server that is a few dictionaries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Lock, NodeOrders, Program
from footplate.domain.shipments import LARGEST_PIECE, MOST_PIECES
from footplate.errors import Conflict, InvalidInput, Unavailable
from footplate.growing_files import PIECE
from footplate.job.journal import Journal
from footplate.node.delivery.shipper import NodeShipper
from footplate.node.node_directory import NodeFolder


class Server:
    """Applies the offset rule of the real server, and remembers the order of the requests."""

    def __init__(self) -> None:
        self.logs: dict[str, bytes] = {}
        self.journals: dict[str, bytes] = {}
        self.calls: list[str] = []
        self.away = False
        self.refuses: set[str] = set()

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        if replace:
            self.logs[path] = b""
        return self._grow(self.logs, path, offset, data)

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        return self._grow(self.journals, f"{run}/{writer}.{part}", offset, data)

    def _grow(self, table: dict[str, bytes], name: str, offset: int, data: bytes) -> int:
        self.calls.append(name)
        if self.away:
            raise Unavailable("away")
        if name in self.refuses:
            raise InvalidInput(f"{name} is not wanted")
        have = table.get(name, b"")
        if offset > len(have):
            raise Conflict("a gap", size=len(have))
        assert len(data) <= PIECE
        table[name] = have + data[len(have) - offset :]
        return len(table[name])


class World:
    def __init__(self, home: Path) -> None:
        self.folder = NodeFolder(str(home), "run_1", 0)
        self.folder.make()
        self.logs, self.watched = Path(self.folder.logs), Path(self.folder.wd, "logs")
        self.watched.mkdir()
        self.server = Server()
        self.said: list[str] = []
        self.now = 100.0

    def shipper(self, log_limit: int | None = None, **shipped: Any) -> NodeShipper:
        orders = NodeOrders(
            run="run_1", node=0, attempt=1, ready=True, stop=False, program=Program(), lock=Lock("", "", {}),
            snapshot=None, variables={}, watch=("logs",), shipped=shipped,
            log_limit=log_limit,
        )  # fmt: skip
        return NodeShipper(self.server, self.folder, orders, self.said.append, clock=lambda: self.now)

    def ship_all(self, shipper: NodeShipper, dead: bool = False) -> None:
        while shipper.ship(dead):
            pass


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_only_new_bytes_are_shipped(world: World) -> None:
    (world.logs / "user_logs").mkdir()
    out = world.logs / "user_logs" / "std_log.txt"
    out.write_bytes(b"one\n")
    shipper = world.shipper()
    assert shipper.ship() and not shipper.ship()
    with open(out, "ab") as file:
        file.write(b"two\n")
    assert shipper.ship() and not shipper.ship()
    assert world.server.logs == {"user_logs/std_log.txt": b"one\ntwo\n"}
    assert len(world.server.calls) == 2


def test_a_new_shipper_resumes_at_the_known_size(world: World) -> None:
    (world.logs / "a").write_bytes(b"0123456789")
    world.server.logs["a"] = b"0123"
    world.ship_all(world.shipper(logs={"a": 4}))
    assert world.server.logs["a"] == b"0123456789"
    assert world.server.calls == ["a"]


def test_large_files_do_not_starve_small_ones(world: World) -> None:
    (world.logs / "big").write_bytes(os.urandom(3 * PIECE + 5))
    (world.logs / "small").write_bytes(b"s")
    shipper = world.shipper()
    shipper.ship()
    assert sorted(world.server.logs) == ["big", "small"]
    world.ship_all(shipper)
    assert world.server.logs["big"] == (world.logs / "big").read_bytes()


@pytest.mark.parametrize("how", ["rename", "truncate", "same length"])
def test_a_rewritten_file_replaces_the_log(world: World, how: str) -> None:
    path = world.watched / "state"
    path.write_bytes(b"before")
    shipper = world.shipper()
    world.ship_all(shipper)
    if how == "rename":
        (world.watched / "new").write_bytes(b"before and after")
        os.replace(world.watched / "new", path)
    elif how == "truncate":
        path.write_bytes(b"x")
    else:
        path.write_bytes(b"AFTER!")
        os.utime(path, ns=(1, 1))
    world.ship_all(shipper)
    assert world.server.logs["logs/state"] == path.read_bytes()


def test_a_rotated_log_is_shipped_under_both_names(world: World) -> None:
    path = world.watched / "x.log"
    path.write_bytes(b"old")
    shipper = world.shipper()
    world.ship_all(shipper)
    path.rename(world.watched / "x.log.1")
    path.write_bytes(b"new one")
    world.ship_all(shipper)
    assert world.server.logs == {"logs/x.log": b"new one", "logs/x.log.1": b"old"}


def test_files_outside_the_folder_are_not_shipped(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (world.watched / "link").symlink_to(tmp_path / "secret")
    world.ship_all(world.shipper())
    assert world.server.logs == {}


def test_holes_are_shipped_only_after_the_writer_died(world: World) -> None:
    journal = Journal(os.path.join(world.folder.journals, "run_1"), "rank_0")
    for value in range(4):
        journal.log("x", float(value))
    path = Path(world.folder.journals, "run_1", "rank_0.slots")
    with open(path, "r+b") as file:  # the writer died half-way through a slot: no mark
        file.seek(2 * 32 + 30)
        file.write(b"\0\0")
    shipper = world.shipper()
    world.ship_all(shipper)
    assert len(world.server.journals["run_1/rank_0.slots"]) == 2 * 32
    world.ship_all(shipper, dead=True)
    assert len(world.server.journals["run_1/rank_0.slots"]) == 5 * 32
    journal.close()


def test_machine_samples_are_shipped_every_six_seconds_and_at_the_end(world: World) -> None:
    journal = Journal(os.path.join(world.folder.journals, "run_1"), "node_0")
    shipper, shipped = world.shipper(), list[int]()
    for now, dead in ((100.0, False), (105.9, False), (106.0, False), (107.0, False), (107.0, True)):
        world.now = now
        journal.log("cpu", now)
        world.ship_all(shipper, dead)
        shipped.append(len(world.server.journals["run_1/node_0.slots"]) // 32 - 1)  # the first slot defines the series
    journal.close()
    assert shipped == [1, 1, 3, 3, 5]


def test_a_refused_file_does_not_delay_the_others(world: World) -> None:
    for name in ("a", "b"):
        (world.logs / name).write_bytes(b"x")
    world.server.refuses = {"a"}
    world.ship_all(world.shipper())
    assert world.server.logs == {"b": b"x"}
    assert len(world.said) == 1 and "a is not wanted" in world.said[0]


def test_an_unavailable_server_is_not_a_refusal(world: World) -> None:
    (world.logs / "a").write_bytes(b"x")
    world.server.away = True
    shipper = world.shipper()
    with pytest.raises(Unavailable):
        shipper.ship()
    world.server.away = False
    world.ship_all(shipper)
    assert world.server.logs == {"a": b"x"}


# ── Small pieces together ─────────────────────────────────────────────────────────────────────────────────────────────


def journal_of(world: World) -> Journal:
    return Journal(os.path.join(world.folder.journals, "run_1"), "rank_0")


def test_small_pieces_are_gathered_with_text_before_slots(world: World) -> None:
    (world.logs / "a").write_bytes(b"one\n")
    with journal_of(world) as journal:
        journal.log("loss", 0.5)
    shipper = world.shipper()
    found = shipper.gather()
    assert found.complete and found.has_news
    assert [(piece.path, piece.stream) for piece in found.pieces] == [
        ("a", "log"), ("rank_0", "text"), ("rank_0", "slots"),
    ]  # fmt: skip
    assert found.confirm(3)
    again = shipper.gather()
    assert again.complete and not again.pieces
    assert not world.server.calls


def test_pieces_that_were_not_stored_are_gathered_again(world: World) -> None:
    (world.logs / "a").write_bytes(b"one\n")
    (world.logs / "b").write_bytes(b"two\n")
    shipper = world.shipper()
    first = shipper.gather()
    assert len(first.pieces) == 2 and not first.confirm(1)
    rest = first.pieces[1].path
    assert [piece.path for piece in shipper.gather().pieces] == [rest]
    world.ship_all(shipper)
    assert world.server.calls == [rest]


def test_a_replaced_log_stays_replaced_when_its_piece_was_lost(world: World) -> None:
    out = world.logs / "a"
    out.write_bytes(b"a long first text\n")
    shipper = world.shipper()
    world.ship_all(shipper)
    out.write_bytes(b"new\n")
    assert [piece.replace for piece in shipper.gather().pieces] == [True]
    assert [piece.replace for piece in shipper.gather().pieces] == [True]
    world.ship_all(shipper)
    assert world.server.logs == {"a": b"new\n"}


def test_large_pieces_and_odd_names_are_left_to_requests_of_their_own(world: World) -> None:
    (world.logs / "large").write_bytes(b"x" * LARGEST_PIECE)
    with open(os.fsencode(world.logs) + b"/\xff", "wb") as file:
        file.write(b"odd\n")
    child = Journal(os.path.join(world.folder.journals, "child_1"), "rank_0")
    child.log("loss", 0.5)
    child.close()
    shipper = world.shipper()
    found = shipper.gather()
    assert not found.complete and not found.pieces
    world.ship_all(shipper)
    assert {"large", "\udcff"} <= set(world.server.logs)
    assert "child_1/rank_0.slots" in world.server.journals


def test_more_pieces_than_a_shipment_holds_wait_for_the_next(world: World) -> None:
    for number in range(MOST_PIECES + 1):
        (world.logs / f"log_{number:03}").write_bytes(b"one\n")
    shipper = world.shipper()
    found = shipper.gather()
    assert len(found.pieces) == MOST_PIECES and not found.complete
    found.confirm(MOST_PIECES)
    assert len(shipper.gather().pieces) == 1


@pytest.mark.parametrize("limit", [None, 1 << 20])
def test_logs_of_ranks_are_cut_at_the_limit_and_others_are_not(world: World, limit: int | None) -> None:
    for folder in (world.logs, world.watched):
        (folder / "log.txt").write_bytes(b"some line\n" * 200_000)
    shipper = world.shipper(limit)
    shipper.gather()
    world.ship_all(shipper)
    assert world.server.logs["log.txt"].startswith("──── cut: 1,".encode()) == (limit is not None)
    assert (len(world.server.logs["log.txt"]) < 1 << 20) == (limit is not None)
    assert world.server.logs["log.txt"] == (world.logs / "log.txt").read_bytes()
    assert len(world.server.logs["logs/log.txt"]) == 2_000_000
