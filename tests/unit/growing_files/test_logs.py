"""Logs that grow, shrink and are replaced."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from footplate.errors import Conflict
from footplate.growing_files import PIECE, LogShipper
from footplate.node.delivery.log_limit import cut


def ship(shipper: LogShipper, path: Path) -> int:
    """Ship until nothing is left; return the number of pieces."""
    pieces = 0
    while shipper.ship("log", str(path)):
        pieces += 1
    return pieces


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_only_new_bytes_are_sent(server: Any, path: Path) -> None:
    shipper = LogShipper(server, "r", lambda _: 0)
    path.write_bytes(b"one\n")
    assert ship(shipper, path) == 1
    with path.open("ab") as file:
        file.write(b"two\n")
    assert ship(shipper, path) == 1
    assert server.files == {"r/log": b"one\ntwo\n"}


def test_a_new_shipper_resumes_at_the_known_size(server: Any, path: Path) -> None:
    path.write_bytes(b"0123456789")
    server.files["r/log"] = b"0123"
    assert ship(LogShipper(server, "r", lambda _: 4), path) == 1
    assert server.files["r/log"] == b"0123456789"


def test_a_server_that_lost_bytes_gets_them_again(server: Any, path: Path) -> None:
    path.write_bytes(b"0123456789")
    server.files["r/log"] = b"01"
    ship(LogShipper(server, "r", lambda _: 4), path)
    assert server.files["r/log"] == b"0123456789"


def test_a_large_file_goes_in_pieces(server: Any, path: Path) -> None:
    path.write_bytes(os.urandom(2 * PIECE + 5))
    assert ship(LogShipper(server, "r", lambda _: 0), path) == 3
    assert server.files["r/log"] == path.read_bytes()


@pytest.mark.parametrize("after", [b"x", b"AFTER!", b"longer than before", b""])
def test_a_rewritten_file_replaces_the_log(server: Any, path: Path, after: bytes) -> None:
    shipper = LogShipper(server, "r", lambda _: 0)
    path.write_bytes(b"before")
    ship(shipper, path)
    path.write_bytes(after)
    os.utime(path, ns=(1, 1))
    ship(shipper, path)
    assert server.files["r/log"] == after


def test_an_attempt_appends_to_the_logs_of_earlier_ones(server: Any, path: Path) -> None:
    server.files["r/log"] = b"first attempt\n"
    shipper = LogShipper(server, "r", lambda _: 14, {"log": 14})
    path.write_bytes(b"second")
    ship(shipper, path)
    path.write_bytes(b"anew")
    ship(shipper, path)
    assert server.files["r/log"] == b"first attempt\nanew"


def test_a_conflict_that_is_not_a_gap_is_raised(path: Path) -> None:
    class Refusing:
        def append_log(self, *_: Any) -> int:
            raise Conflict("the log is closed")

    refusing: Any = Refusing()
    path.write_bytes(b"x")
    with pytest.raises(Conflict, match="closed"):
        LogShipper(refusing, "r", lambda _: 0).ship("log", str(path))


@pytest.mark.parametrize("known", [0, 300_000, 2_000_000])
def test_the_server_gets_a_cut_log_whole_whatever_it_had(server: Any, path: Path, known: int) -> None:
    """Also from a new agent, which knows only how much the server has; two attempts have written before."""
    path.write_bytes(b"".join(b"%019d\n" % number for number in range(100_000)))
    server.files["r/log"] = b"before\n" + path.read_bytes()[:known]
    cut(str(path), 1 << 20)
    shipper = LogShipper(server, "r", lambda _: 7 + known, {"log": 7})
    ship(shipper, path)
    assert server.files["r/log"] == b"before\n" + path.read_bytes()


def test_a_log_that_is_cut_while_it_is_shipped_is_sent_anew(server: Any, path: Path) -> None:
    shipper = LogShipper(server, "r", lambda _: 0)
    path.write_bytes(b"the same line\n" * 100_000)
    shipper.ship("log", str(path))
    cut(str(path), 1 << 20)
    shipper.forget("log")
    ship(shipper, path)
    assert server.files["r/log"] == path.read_bytes()
