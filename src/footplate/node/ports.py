"""Free ports that stay reserved until a rank binds them.

The kernel hands out ports of its ephemeral range to outgoing connections and to everyone who asks for any port. A rank
binds its port only seconds after the agent has released it, when its framework is loaded: such a port may be taken by
then. So ports come from below that range, where a program must name the port it wants. Until the start the agent keeps
them bound. From then on a name in the abstract socket namespace, which dies with its process, keeps other agents away.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import struct
import sys
from collections.abc import Sequence

from footplate.errors import Unavailable

_LOWEST, _BELOW = 20000, 32768
_ATTEMPTS = 2000
_SIOCGIFADDR = 0x8915  # Linux: the address of an interface


class HeldPorts:
    """`count` ports, bound on all addresses: two nodes of one machine never get the same. `within` is for tests."""

    def __init__(self, count: int, within: Sequence[int] | None = None) -> None:
        self.numbers: tuple[int, ...] = ()
        self._claims: list[socket.socket] = []
        self._bound: list[socket.socket] = []
        possible = within or _range()
        choices = iter(random.SystemRandom().sample(possible, min(_ATTEMPTS, len(possible))) if count else [])
        while len(self.numbers) < count:
            port = next(choices, None)
            if port is None:
                self.close()
                raise Unavailable(f"no {count} free ports were found on this machine", "see what listens: ss -ltn")
            if self._take(port):
                self.numbers = (*self.numbers, port)

    def let_go(self) -> None:
        """Release the ports for the ranks, which start now; other agents still keep off."""
        for listener in self._bound:
            listener.close()
        self._bound.clear()

    def close(self) -> None:
        self.let_go()
        for claim in self._claims:
            claim.close()
        self._claims.clear()

    def _take(self, port: int) -> bool:
        claim = _claim(port)
        if claim is None:
            return False
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind(("0.0.0.0", port))
        except OSError:
            listener.close()
            claim.close()
            return False
        self._claims.append(claim)
        self._bound.append(listener)
        return True


def _claim(port: int) -> socket.socket | None:
    """Return None if another agent has claimed the port. Without abstract sockets only the bound port protects it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sys.platform == "linux":
        try:
            claim.bind(f"\0footplate-port-{port}")
        except OSError:
            claim.close()
            return None
    return claim


def _range() -> range:
    """Return the ports below the kernel's ephemeral range; its whole range if that begins too low."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            lowest = int(file.read().split()[0])
    except (OSError, ValueError):
        lowest = _BELOW
    return range(_LOWEST, min(lowest, _BELOW)) if lowest > _LOWEST + 1000 else range(max(lowest, 1024), 61000)


def resolve_address(address: str) -> str:
    """Return the address if this machine has it: Linux has all of 127.0.0.0/8, other systems only assigned ones."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return "127.0.0.1"
    return address


def interface_of(address: str) -> str | None:
    """Return the network interface that has this address; None if it cannot be found."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                reply = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", os.fsencode(name)[:15]))
            except OSError:  # it has none, or this is not Linux
                continue
            if socket.inet_ntoa(reply[20:24]) == address:
                return name
    return None
