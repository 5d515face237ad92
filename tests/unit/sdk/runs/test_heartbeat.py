from __future__ import annotations

import logging

import pytest

from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.runs.heartbeat import Heartbeats
from footplate.testing.waiting import wait_until


def test_heartbeats_continue_after_errors_until_the_run_is_removed() -> None:
    heartbeats, beats = Heartbeats(interval=0.001), list[str]()

    def beat() -> bool:
        beats.append("r")
        if len(beats) == 1:
            raise AzureMLException("the server is away")
        return False

    heartbeats.add("r", beat)
    wait_until(lambda: len(beats) >= 3)
    heartbeats.remove("r")
    wait_until(lambda: not heartbeats._loop.is_running)
    heartbeats.add("r", beat)
    seen = len(beats)
    wait_until(lambda: len(beats) > seen)
    heartbeats.remove("r")


def test_a_run_that_the_server_has_ended_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    heartbeats = Heartbeats(interval=0.001)
    heartbeats.add("r", lambda: True)
    heartbeats.add("other", lambda: False)
    wait_until(lambda: "run r has ended at the server" in caplog.text)
    heartbeats.remove("other")
    wait_until(lambda: not heartbeats._loop.is_running)
    assert caplog.text.count("has ended") == 1
