from __future__ import annotations

import pytest

from footplate.errors import NotAllowed, TooManyRequests, from_wire
from footplate.server.sign_in_limit import MOST_FAILURES, WINDOW_SECONDS, SignInLimit


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_failures_of_one_address_stop_its_attempts_for_a_while():
    clock = Clock()
    limit = SignInLimit(clock)
    for _ in range(MOST_FAILURES):
        limit.check("10.0.0.1")
        limit.note_failure("10.0.0.1")
        clock.now += 1
    with pytest.raises(TooManyRequests, match=r"10 attempts") as refused:
        limit.check("10.0.0.1")
    assert refused.value.hint == "try again in 50 s"
    limit.check("10.0.0.2")
    clock.now = WINDOW_SECONDS
    limit.check("10.0.0.1")


def test_a_flood_of_addresses_takes_no_more_memory():
    limit = SignInLimit(Clock())
    for number in range(20_000):
        limit.note_failure(str(number))
    assert len(limit._failures) <= 10_000


def test_clients_recognize_the_error():
    error = from_wire(TooManyRequests("m", "h").to_wire())
    assert isinstance(error, TooManyRequests) and isinstance(error, NotAllowed)
