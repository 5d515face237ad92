"""Pauses that grow, without a real sleep."""

from __future__ import annotations

import pytest

from footplate.backoff import Backoff, retry


def test_pauses_double_up_to_the_longest() -> None:
    slept: list[float] = []
    backoff = Backoff(0.2, 1.0, sleep=slept.append)
    for _ in range(5):
        backoff.wait()
    assert slept == [0.2, 0.4, 0.8, 1.0, 1.0]


def test_progress_starts_again_from_the_first_pause() -> None:
    backoff = Backoff(1.0, 100.0, factor=3.0)
    assert [backoff.next(), backoff.next()] == [1.0, 3.0]
    backoff.reset()
    assert backoff.next() == 1.0


def test_jitter_spreads_the_pauses() -> None:
    pauses = {Backoff(1.0, 1.0, jitter=0.5).next() for _ in range(200)}
    assert len(pauses) > 10
    assert min(pauses) >= 0.5 and max(pauses) == pytest.approx(1.0, abs=0.5)


def test_a_call_is_retried_until_it_succeeds() -> None:
    slept, answers = list[float](), iter([OSError("one"), OSError("two"), "done"])

    def call() -> str:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    assert retry(call, 5, Backoff(1.0, 9.0, sleep=slept.append), OSError) == "done"
    assert slept == [1.0, 2.0]


def test_the_error_of_the_last_attempt_is_raised() -> None:
    calls, slept = list[int](), list[float]()

    def call() -> None:
        calls.append(1)
        raise OSError(f"attempt {len(calls)}")

    with pytest.raises(OSError, match="attempt 3"):
        retry(call, 3, Backoff(1.0, 9.0, sleep=slept.append), OSError)
    assert slept == [1.0, 2.0]
