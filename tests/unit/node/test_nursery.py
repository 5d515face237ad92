"""Agents that wait for another node, from the side of the nursery and from their own."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path

import pytest

from footplate.node import nursery


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@pytest.fixture
def idle() -> nursery.IdleAgents:
    return nursery.IdleAgents(select.poll())


def test_a_request_goes_to_the_agent_that_began_to_wait_last(idle: nursery.IdleAgents, tmp_path: Path) -> None:
    ends = []
    for pid in (11, 12, 13):
        ours, theirs = pair()
        idle.add(pid, ours)
        ends.append((ours.fileno(), theirs))
    for number, theirs in ends[:2]:
        theirs.send(b".")
        idle.note(number)
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert [idle.hand_over(b"one", lock), idle.hand_over(b"two", lock), idle.hand_over(b"three", lock)] == [
        12,
        11,
        None,
    ]
    message, files, _, _ = socket.recv_fds(ends[1][1], 100, 1)
    assert (message, os.fstat(files[0]).st_ino) == (b"one", os.fstat(lock).st_ino)
    assert not idle.exist
    for number, theirs in ends:
        theirs.close()
        idle.note(number)
    for file in (lock, *files):
        os.close(file)


@pytest.mark.parametrize("is_noticed", [True, False])
def test_an_agent_that_died_while_it_waited_gets_no_request(idle: nursery.IdleAgents, is_noticed: bool) -> None:
    ours, theirs = pair()
    number = ours.fileno()
    idle.add(11, ours)
    theirs.send(b".")
    idle.note(number)
    theirs.close()
    if is_noticed:
        idle.note(number)
    assert idle.hand_over(b"request", 0) is None
    assert ours.fileno() == -1


def test_dismissed_agents_read_the_end_of_their_socket(idle: nursery.IdleAgents) -> None:
    ours, theirs = pair()
    with theirs:
        idle.add(11, ours)
        theirs.send(b".")
        idle.note(ours.fileno())
        assert idle.exist
        idle.dismiss()
        assert not idle.exist
        assert theirs.recv(1) == b""
