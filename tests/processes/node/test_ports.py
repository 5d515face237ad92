"""Free ports that stay reserved until somebody binds them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from footplate.errors import Unavailable
from footplate.node.ports import resolve_address

from ...unit.node.test_ports import holding


def listens(port: int, address: str = "127.0.0.2") -> bool:
    """Bind as a rank does, without any option."""
    with socket.socket() as rank:
        try:
            rank.bind((address, port))
            rank.listen()
        except OSError:
            return False
    return True


def test_ports_are_reserved_until_the_start_and_free_for_ranks_after() -> None:
    with holding(3) as held:
        assert len(set(held.numbers)) == 3
        assert not any(listens(port) for port in held.numbers)
        held.let_go()
        assert all(listens(port) for port in held.numbers)


def test_the_kernel_never_hands_them_out() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with holding(20) as held:
        assert max(held.numbers) < lowest


def test_other_agents_keep_off_after_the_start() -> None:
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


def test_an_address_of_another_machine_is_replaced() -> None:
    assert resolve_address("127.0.0.9") == "127.0.0.9"
    assert resolve_address("192.0.2.1") == "127.0.0.1"
