"""Free ports that stay reserved until somebody binds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from footplate.node.ports import HeldPorts, interface_of


@contextmanager
def holding(count: int, within: Sequence[int] | None = None) -> Iterator[HeldPorts]:
    held = HeldPorts(count, within)
    try:
        yield held
    finally:
        held.close()


def test_zero_ports_are_allowed() -> None:
    with holding(0) as held:
        assert held.numbers == ()


@pytest.mark.skipif(sys.platform != "linux", reason="interfaces are found on Linux only")
def test_the_interface_of_an_address_is_found() -> None:
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("192.0.2.1") is None
