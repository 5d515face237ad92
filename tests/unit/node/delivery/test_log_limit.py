"""Logs that are too large: what stays, what the first line says, and what the server has of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.domain.orders import Lock, NodeOrders, Program
from footplate.growing_files import PIECE
from footplate.node.delivery.log_limit import cut, orders_after_cut

LIMIT = 1 << 20


class EarlierLogs:
    """The link of an agent whose run has written before: the logs that the server has."""

    def __init__(self, limit: int | None = LIMIT, **logs: bytes) -> None:
        self.limit, self.logs = limit, logs

    def orders(self, wait: float) -> NodeOrders:
        return NodeOrders(
            run="r", node=0, attempt=2, ready=True, stop=False, program=Program(), lock=Lock("", "", {}), snapshot=None,
            variables={}, shipped={"logs": {name: len(log) for name, log in self.logs.items()}}, log_limit=self.limit,
        )  # fmt: skip

    def read_log(self, path: str, offset: int, limit: int) -> bytes:
        return self.logs[path][offset : offset + limit]

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        assert offset == 0 and replace and len(data) <= PIECE
        self.logs[path] = data
        return len(data)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "std_log.txt"


def numbered(begin: int, end: int) -> bytes:
    return b"".join(b"%019d\n" % number for number in range(begin, end))


@pytest.fixture
def writer(log: Path) -> Iterator[int]:
    """Open the log as a rank has it."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    yield file
    os.close(file)


def removed(content: bytes) -> int:
    """Return how many bytes the first line says were cut."""
    found = re.match("──── cut: ([\\d,]+) bytes of earlier output: .*log_size is 1 MiB · .* ────\n", content.decode())
    assert found is not None, content[:200]
    return int(found[1].replace(",", ""))


def test_a_log_within_the_limit_stays_as_it_is(log: Path) -> None:
    log.write_bytes(b"x" * LIMIT)
    assert not cut(str(log), LIMIT)
    assert log.read_bytes() == b"x" * LIMIT


def test_a_large_log_keeps_its_last_lines_and_says_what_it_lost(log: Path) -> None:
    log.write_bytes(numbered(0, 100_000))
    assert cut(str(log), LIMIT)
    content = log.read_bytes()
    rest = content.partition(b"\n")[2]
    assert len(content) <= LIMIT // 2 + 200
    assert numbered(0, 100_000).endswith(b"\n" + rest) and len(rest) > LIMIT // 2 - 100, "whole lines"
    assert removed(content) == 20 * 100_000 - len(rest)


def test_a_rank_goes_on_after_each_cut_and_the_bytes_add_up(log: Path, writer: int) -> None:
    for part in range(20):
        os.write(writer, numbered(part * 10_000, (part + 1) * 10_000))
        cut(str(log), LIMIT)
    content = log.read_bytes()
    rest = content[content.index(b"\n") + 1 :]
    assert numbered(0, 200_000).endswith(rest)
    assert removed(content) + len(rest) == 20 * 200_000


def test_earlier_attempts_leave_less_room(log: Path) -> None:
    log.write_bytes(numbered(0, 30_000))
    assert cut(str(log), LIMIT, base=LIMIT // 2)
    assert len(log.read_bytes()) < LIMIT // 4 + 200


def test_a_line_without_an_end_is_cut_anywhere(log: Path) -> None:
    log.write_bytes(b"x" * (3 * LIMIT))
    cut(str(log), LIMIT)
    assert removed(log.read_bytes()) == 3 * LIMIT - LIMIT // 2


def test_large_logs_of_earlier_attempts_keep_their_last_lines() -> None:
    link = EarlierLogs(large=numbered(0, 50_000), small=numbered(0, 100))
    orders = orders_after_cut(link)
    rest = link.logs["large"].partition(b"\n")[2]
    assert numbered(0, 50_000).endswith(b"\n" + rest) and len(rest) > 500_000
    assert removed(link.logs["large"]) + len(rest) == 20 * 50_000
    assert link.logs["small"] == numbered(0, 100)
    assert orders.shipped["logs"] == {"large": len(link.logs["large"]), "small": 2000}
    assert orders_after_cut(link) == orders, "once is enough"


def test_logs_of_runs_that_end_are_kept_whole() -> None:
    link = EarlierLogs(None, large=numbered(0, 100_000))
    assert orders_after_cut(link).shipped["logs"] == {"large": 2_000_000}
