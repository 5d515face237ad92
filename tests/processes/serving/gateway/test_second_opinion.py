"""Failures of a version that may be rolled back: only those that a version from before does not have count."""

from __future__ import annotations

from footplate.testing.waiting import wait_until

from .conftest import GatewayProcess

SCRIPT = """
import os, time
VERSION = {version}
def run(data):
    if 'poison' in data:
        os._exit(1)
    if 'bad' in data or (VERSION == 2 and 'broken' in data):
        raise ValueError(data)
    time.sleep(1.0 if 'large' in data or (VERSION == 2 and 'lazy' in data) else 0.0)
    return 1
"""


def compare(gateway: GatewayProcess, replicas: int = 1) -> None:
    """Serve version 2, which may be rolled back to version 1, after version 1 had a request."""
    old, new = ([gateway.worker(f"v{number}-{n}", SCRIPT.format(version=number)) for n in range(replicas)]
                for number in (1, 2))  # fmt: skip
    gateway.route("s", old)
    assert gateway.score("s")[0] == 200
    wait_until(lambda: gateway.status("s")["1"]["requests"] == 1)
    gateway.route("s", {"1": old, "2": new}, version_1={"weight": 0}, version_2={"rivals": ["1"]})


def held_against(gateway: GatewayProcess) -> tuple[int, int, int]:
    """Return errors, faults and slow answers of version 2, when version 1 has answered all copies but the last."""
    found = gateway.status("s")["2"]
    return found["errors"], found["faults"], found["slow"]


def test_only_failures_that_the_old_version_does_not_have_are_faults(gateway: GatewayProcess) -> None:
    compare(gateway)
    assert [gateway.score("s", b"bad")[0] for _ in range(3)] == [500] * 3
    assert [gateway.score("s")[0] for _ in range(3)] == [200] * 3
    assert gateway.score("s", b"broken")[0] == 500
    wait_until(lambda: gateway.status("s")["2"]["faults"] > 0)  # copies are answered in order: the others were before
    assert held_against(gateway) == (4, 1, 0)
    assert gateway.status("s")["1"]["requests"] == 1, "copies do not count as requests"


def test_only_answers_that_the_old_version_gives_faster_are_slow(gateway: GatewayProcess) -> None:
    compare(gateway)
    assert [gateway.score("s", body)[0] for body in (b"large", b"lazy")] == [200, 200]
    wait_until(lambda: gateway.status("s")["2"]["slow"] > 0)
    assert held_against(gateway) == (0, 0, 1)


def test_a_request_that_kills_workers_of_both_versions_is_not_a_fault(gateway: GatewayProcess) -> None:
    compare(gateway, replicas=3)
    assert gateway.score("s", b"poison")[0] == 503
    wait_until(lambda: gateway.healthy("s") == {"1": 1, "2": 1})
    assert gateway.score("s", b"broken")[0] == 500
    wait_until(lambda: gateway.status("s")["2"]["faults"] > 0)
    assert held_against(gateway) == (2, 1, 0)
