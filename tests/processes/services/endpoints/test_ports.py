from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from footplate.errors import Conflict
from footplate.services.endpoints import ports
from footplate.services.endpoints.ports import choose_port


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_of_another_program_is_refused(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "CLOSING_SECONDS", 0.0)
    with pytest.raises(Conflict, match=f"port {taken} of the server's machine cannot be opened") as caught:
        choose_port(taken, None, {})
    assert "leave it out" in str(caught.value.hint)


def test_a_port_of_another_service_is_refused(taken: int) -> None:
    with pytest.raises(Conflict, match=f"port {taken} belongs to service 'iris'"):
        choose_port(taken, None, {taken: "iris"})


def test_a_service_keeps_its_own_port_while_it_is_open(taken: int) -> None:
    assert choose_port(taken, taken, {}) == choose_port(None, taken, {}) == taken


def test_without_a_port_a_free_one_is_chosen(taken: int) -> None:
    free = choose_port(None, None, {})
    assert free not in (0, taken)
    assert choose_port(free, None, {taken: "iris"}) == free
