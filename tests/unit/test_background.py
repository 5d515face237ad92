"""Loops of background threads: pauses, wakes, errors and ends."""

from __future__ import annotations

import threading

import pytest

from footplate.background import Loop
from footplate.testing.waiting import wait_until


def test_a_step_is_repeated_after_the_pause_that_it_returns() -> None:
    steps: list[float] = []
    loop = Loop("test", lambda: steps.append(0) or 0.001)
    loop.start()
    loop.start()
    wait_until(lambda: len(steps) >= 3)
    assert loop.is_running and [thread.name for thread in threading.enumerate()].count("test") == 1
    loop.stop()
    assert loop.is_stopping and not loop.is_running and "test" not in [t.name for t in threading.enumerate()]


def test_a_sleeping_loop_waits_until_it_is_woken_or_stopped() -> None:
    steps: list[float] = []
    loop = Loop("test", lambda: steps.append(0), first=None)
    loop.start()
    loop.wake()
    wait_until(lambda: len(steps) == 1)
    loop.wake()
    wait_until(lambda: len(steps) == 2)
    loop.stop()
    assert len(steps) == 2


def test_a_loop_outlives_an_error_of_its_step(caplog: pytest.LogCaptureFixture) -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 1:
            raise ValueError("the disk is on fire")

    loop = Loop("test", step)
    loop.start()
    wait_until(lambda: loop.wake() or len(steps) > 1)  # do not wait for the next try
    loop.stop()
    assert "the disk is on fire" in caplog.text


def test_a_step_may_stop_its_loop_which_may_start_again() -> None:
    steps: list[int] = []

    def step() -> float:
        steps.append(1)
        loop.stop()
        return 0.0

    loop = Loop("test", step)
    for count in (1, 2):
        loop.start()
        wait_until(lambda: not loop.is_running)
        assert len(steps) == count


def test_only_a_stop_ends_the_sleep_of_a_step() -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        loop.sleep(600)

    loop = Loop("test", step)
    loop.start()
    wait_until(lambda: bool(steps))
    loop.wake()
    loop.stop()
    assert steps == [1]
