"""Ports that are free, and stay ours until somebody binds them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from footplate.errors import Unavailable
from footplate.node.ports import HeldPorts, own_address


@contextmanager
def holding(count: int, within: Sequence[int] | None = None) -> Iterator[HeldPorts]:
    held = HeldPorts(count, within)
    try:
        yield held
    finally:
        held.close()


def listens(port: int, address: str = "127.0.0.2") -> bool:
    """As a rank does it, without any option."""
    with socket.socket() as rank:
        try:
            rank.bind((address, port))
            rank.listen()
        except OSError:
            return False
    return True


def test_nobody_else_gets_them_before_the_start_and_a_rank_gets_them_after_it() -> None:
    with holding(3) as held:
        assert len(set(held.numbers)) == 3
        assert not any(listens(port) for port in held.numbers)
        held.let_go()
        assert all(listens(port) for port in held.numbers)


def test_the_kernel_never_gives_them_away_by_itself() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with holding(20) as held:
        assert max(held.numbers) < lowest


def test_other_agents_stay_away_after_the_start_too() -> None:
    with holding(6) as found:
        few = found.numbers
    with holding(3, few) as one, holding(3, few) as two:
        one.let_go()
        two.let_go()
        assert not set(one.numbers) & set(two.numbers)
        with pytest.raises(Unavailable, match="no 1 free ports"), holding(1, few):
            pass
    with holding(6, few) as again:
        assert set(again.numbers) == set(few)


def test_none_are_none() -> None:
    with holding(0) as held:
        assert held.numbers == ()


def test_an_address_that_this_machine_does_not_have() -> None:
    assert own_address("127.0.0.9") == "127.0.0.9"
    assert own_address("192.0.2.1") == "127.0.0.1"
