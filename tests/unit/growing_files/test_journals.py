"""Journals: text before slots, holes only after the writer's death."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footplate.errors import Conflict
from footplate.growing_files import PIECE, JournalShipper
from footplate.job.journal import Journal
from footplate.job.journal_format import SLOT


def ship(shipper: JournalShipper, directory: Path, finished: bool = False) -> None:
    while shipper.ship(str(directory), "r", "w", finished):
        pass


def test_text_goes_before_the_slots_that_point_to_it(server: Any, tmp_path: Path) -> None:
    shipper = JournalShipper(server, lambda *_: 0)
    with Journal(str(tmp_path), "w") as journal:
        for _ in range(2):
            journal.log_list("values", [1, 2, 3])
            ship(shipper, tmp_path)
    assert server.calls == ["r/w.text", "r/w.slots"] * 2
    assert server.files["r/w.slots"] == (tmp_path / "w.slots").read_bytes()
    assert server.files["r/w.text"] == (tmp_path / "w.text").read_bytes()


def test_nothing_new_costs_no_request(server: Any, tmp_path: Path) -> None:
    with Journal(str(tmp_path), "w") as journal:
        journal.log("x", 1.0)
        shipper = JournalShipper(server, lambda *_: 0)
        ship(shipper, tmp_path)
        before = list(server.calls)
        ship(shipper, tmp_path)
    assert server.calls == before


def test_a_journal_longer_than_a_piece_goes_in_pieces(server: Any, tmp_path: Path) -> None:
    with Journal(str(tmp_path), "w") as journal:
        for value in range(PIECE // SLOT + 7):
            journal.log("x", float(value))
    ship(JournalShipper(server, lambda *_: 0), tmp_path)
    assert server.calls == ["r/w.text", "r/w.slots", "r/w.slots"]
    assert server.files["r/w.slots"] == (tmp_path / "w.slots").read_bytes()


def test_holes_wait_until_the_writer_is_dead(server: Any, tmp_path: Path) -> None:
    with Journal(str(tmp_path), "w") as journal:
        for value in range(4):
            journal.log("x", float(value))
    with (tmp_path / "w.slots").open("r+b") as file:  # the writer died half-way through a slot: no mark
        file.seek(2 * SLOT + 30)
        file.write(b"\0\0")
    shipper = JournalShipper(server, lambda *_: 0)
    ship(shipper, tmp_path)
    assert len(server.files["r/w.slots"]) == 2 * SLOT
    ship(shipper, tmp_path, finished=True)
    assert len(server.files["r/w.slots"]) == 5 * SLOT


@pytest.mark.parametrize("part", ["text", "slots"])
def test_a_server_that_lost_bytes_gets_them_again(server: Any, tmp_path: Path, part: str) -> None:
    shipper = JournalShipper(server, lambda *_: 0)
    with Journal(str(tmp_path), "w") as journal:
        journal.log_list("x", [1])
        ship(shipper, tmp_path)
        server.files[f"r/w.{part}"] = server.files[f"r/w.{part}"][:SLOT]
        journal.log_list("x", [2])
        ship(shipper, tmp_path)
    assert server.files[f"r/w.{part}"] == (tmp_path / f"w.{part}").read_bytes()


def test_bytes_that_another_process_shipped_are_not_sent_again(server: Any, tmp_path: Path) -> None:
    with Journal(str(tmp_path), "w") as journal:
        journal.log("x", 1.0)
        ours, other = JournalShipper(server, lambda *_: 0), JournalShipper(server, lambda *_: 0)
        ship(ours, tmp_path)
        journal.log("x", 2.0)
        ship(other, tmp_path)
        journal.log("x", 3.0)
        ship(ours, tmp_path)
    assert server.files["r/w.slots"] == (tmp_path / "w.slots").read_bytes()


def test_a_conflict_that_is_not_a_gap_is_raised(tmp_path: Path) -> None:
    class Refusing:
        def append_journal(self, *_: Any) -> int:
            raise Conflict("the bytes differ", size=9)

    refusing: Any = Refusing()
    with Journal(str(tmp_path), "w") as journal:
        journal.log("x", 1.0)
    with pytest.raises(Conflict, match="differ"):
        JournalShipper(refusing, lambda *_: 0).ship(str(tmp_path), "r", "w", finished=True)
