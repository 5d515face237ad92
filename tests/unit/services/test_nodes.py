"""The orders of node agents, over a real store."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.orders import Cause
from footplate.domain.shapes import Shape
from footplate.domain.specs import Distribution
from footplate.domain.values import replace
from footplate.errors import Conflict, InvalidInput
from footplate.services.endpoints.version_runs import RUN_TYPE
from footplate.services.settings import NAME, read_settings

from .conftest import House


def test_a_finished_node_does_not_join_again(house: House) -> None:
    """Its ranks may end before those of a node whose agent died: the engine starts all agents that are gone."""
    nodes = house.services.nodes
    house.submit("pair", distribution=Distribution("torch", node_count=2))
    house.until_launched("pair")
    for node in (0, 1):
        nodes.join("pair", node, 1, "gandalf", "127.0.0.1", {})
        nodes.note_prepared("pair", node, (6105, 6106) if node == 0 else ())
    for event in ("started", "exited", "done"):
        nodes.report("pair", 1, event, None, None)
    assert nodes.join("pair", 0, 1, "gandalf", "127.0.0.1", {}).ready
    with pytest.raises(Conflict, match="node 1 of run pair is done"):
        nodes.join("pair", 1, 1, "gandalf", "127.0.0.1", {})


def test_a_single_node_on_this_machine_gets_its_orders_at_the_launch(house: House) -> None:
    house.submit("one")
    house.submit("two", distribution=Distribution(node_count=2))
    house.until_launched("one")
    house.until_launched("two")
    orders = {job.run: job.orders for job in house.engine.jobs}
    given, joined = orders["one"], house.services.nodes.join("one", 0, 1, "gandalf", "127.0.0.1", {})
    assert given is not None and orders["two"] is None
    expires = {"AZUREML_RUN_TOKEN_EXPIRY": joined.variables["AZUREML_RUN_TOKEN_EXPIRY"]}
    assert replace(given, variables={**given.variables, **expires}) == joined


@pytest.mark.parametrize("change", [{"shares_home": False}, {"shape": None}, {"shape": Shape(4, 16.0, 1)}])
def test_nodes_of_which_too_little_is_known_request_their_orders(house: House, change: dict[str, Any]) -> None:
    house.submit("one")
    house.until_launched("one")
    record = house.store.runs.record("one")
    assert house.services.nodes.orders_at_launch(record) is not None
    vars(house.engine).update(change)
    assert house.services.nodes.orders_at_launch(record) is None


@pytest.mark.parametrize(
    ("wanted", "ports"),
    [
        (Distribution("torch", node_count=2), ()),
        (Distribution("mpi", node_count=2), (6105, 6106)),
        (Distribution("tensorflow", 2, worker_count=2), (6105,)),
        (Distribution(node_count=2), ()),
    ],
)
def test_a_node_whose_peer_failed_early_is_told_to_stop(
    house: House, wanted: Distribution, ports: tuple[int, ...]
) -> None:
    """The first node held no ports yet, so there was no plan for the second, and its join raised IndexError."""
    nodes, cause = house.services.nodes, Cause("environment_failed", "no such package", node=0)
    house.submit("pair", distribution=wanted)
    house.until_launched("pair")
    nodes.join("pair", 0, 1, "gandalf", "127.0.0.1", {})
    nodes.report("pair", 0, "exited", None, cause)
    assert nodes.join("pair", 1, 1, "frodo", "127.0.0.2", {}).stop
    nodes.note_prepared("pair", 1, ports)
    record = nodes.record("pair", 1)
    assert nodes.is_due(record, 1, "ready") and nodes.orders_of(record, 1).stop
    for node in (1, 0):
        nodes.report("pair", node, "exited", None, None)
        nodes.report("pair", node, "done", None, None)
    house.until_status("pair", "Failed")
    ended = house.store.runs.record("pair").outcome
    assert ended is not None and ended.cause == cause


@pytest.mark.parametrize(("value", "seconds"), [(None, 3600.0), ("90", 90.0), ("none", None), ("soon", 3600.0)])
def test_orders_have_the_limit_for_full_disks(house: House, value: str | None, seconds: float | None) -> None:
    house.submit("r1")
    house.until_launched("r1")
    if value is not None:
        (house.home / NAME).write_text(f"[jobs]\nfull_disk_seconds = {value}\n")
    assert house.services.nodes.join("r1", 0, 1, "gandalf", "127.0.0.1", {}).full_disk_seconds == seconds


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf", ""])
def test_a_limit_for_full_disks_that_is_no_duration_is_refused(house: House, value: str) -> None:
    (house.home / NAME).write_text(f"[jobs]\nfull_disk_seconds = {value}\n")
    with pytest.raises(InvalidInput, match="full_disk_seconds") as refused:
        read_settings(house.home)
    assert refused.value.hint is not None and "none" in refused.value.hint


@pytest.mark.parametrize(
    ("value", "type", "size"),
    [
        (None, RUN_TYPE, 100 << 20), ("2 MiB", RUN_TYPE, 2 << 20), ("none", RUN_TYPE, None), (None, "other", None),
        ("damaged", RUN_TYPE, 100 << 20),
    ],
)  # fmt: skip
def test_orders_limit_the_logs_of_services_alone(house: House, value: str | None, type: str, size: int | None) -> None:
    house.submit("r1", type=type)
    house.until_launched("r1")
    if value is not None:
        (house.home / NAME).write_text(f"[services]\nlog_size = {value}\n")
    assert house.services.nodes.join("r1", 0, 1, "gandalf", "127.0.0.1", {}).log_limit == size


@pytest.mark.parametrize("value", ["0", "1 KiB", "much", ""])
def test_a_limit_for_logs_that_is_no_size_is_refused(house: House, value: str) -> None:
    (house.home / NAME).write_text(f"[services]\nlog_size = {value}\n")
    with pytest.raises(InvalidInput, match="log_size") as refused:
        read_settings(house.home)
    assert refused.value.hint is not None and "100 MiB" in refused.value.hint


@pytest.mark.parametrize("cause", [None, Cause("exit_code", "exited with 3")])
def test_a_node_that_cannot_deliver_fails_its_run(house: House, cause: Cause | None) -> None:
    nodes, full = house.services.nodes, Cause("disk_full", "no disk space", node=0)
    house.submit("r1")
    house.until_launched("r1")
    nodes.join("r1", 0, 1, "gandalf", "127.0.0.1", {})
    nodes.report("r1", 0, "started", None, None)
    nodes.report("r1", 0, "exited", None, cause)
    nodes.report("r1", 0, "lost", None, full)
    house.until_status("r1", "Failed")
    view, outcome = house.services.runs.view("r1"), house.store.runs.record("r1").outcome
    assert outcome is not None and outcome.cause == (cause or full)
    assert ("no disk space" in view.warnings) == (cause is not None), "the first cause stays, and this is a warning"
    with pytest.raises(InvalidInput, match=r"'lost'"):
        nodes.report("r1", 0, "lost", None, None)
