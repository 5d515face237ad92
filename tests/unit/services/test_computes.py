"""Clusters and their nodes, over a real store and with a clock of our own."""

from __future__ import annotations

import time

import pytest

from footplate.domain.records import ComputeView
from footplate.domain.specs import Distribution
from footplate.errors import Conflict, InvalidInput
from footplate.services.computes import ComputeService
from footplate.services.orchestration.queues import QueueReader

from .conftest import House

PAIR = Distribution("torch", node_count=2)


def later(house: House, seconds: float) -> ComputeView:
    services, load_engine = house.services, lambda name: house.engine
    lines = QueueReader(house.store, load_engine)
    clock = lambda: time.time() + seconds  # noqa: E731
    computes = ComputeService(house.store, services.orchestrator, lines, house.home, load_engine, clock)
    return computes.get(house.workspace, "warm")


def nodes(view: ComputeView) -> tuple[int, int, int, int, int]:
    return view.busy_nodes, view.preparing_nodes, view.idle_nodes, view.current_nodes, view.target_nodes


def test_nodes_stay_idle_for_a_while_and_min_nodes_for_ever(house: House) -> None:
    made = house.services.computes.put(house.workspace, "warm", max_nodes=4, min_nodes=1, idle_seconds=600)
    assert nodes(made) == (0, 0, 1, 1, 1)
    house.submit("pair", target="warm", distribution=PAIR)
    house.until_launched("pair")
    assert nodes(later(house, 0)) == (2, 1, 0, 1, 2), "one was there, and one comes"
    for node in (0, 1):
        house.services.nodes.join("pair", node, 1, "gandalf", "127.0.0.1", {})
    assert nodes(later(house, 0)) == (2, 2, 0, 2, 2)
    for event in ("started", "exited", "done"):
        for node in (0, 1):
            house.services.nodes.report("pair", node, event, None, None)
    assert house.status("pair") == "Completed"
    ended = house.store.runs.record("pair").ended
    view = later(house, 500)
    assert nodes(view) == (0, 0, 2, 2, 2)
    assert made.modified < view.resized < (ended or 0.0)
    view = later(house, 700)
    assert nodes(view) == (0, 0, 1, 1, 1)
    assert view.resized == (ended or 0.0) + 600
    assert nodes(house.services.computes.change(house.workspace, "warm", idle_seconds=0, min_nodes=0)) == (0,) * 5


def test_the_history_of_an_earlier_cluster_of_the_name_is_forgotten(house: House) -> None:
    computes = house.services.computes
    computes.put(house.workspace, "warm", max_nodes=1)
    house.submit("run", target="warm")
    house.until_launched("run")
    house.services.nodes.join("run", 0, 1, "gandalf", "127.0.0.1", {})
    for event in ("started", "exited", "done"):
        house.services.nodes.report("run", 0, event, None, None)
    assert computes.get(house.workspace, "warm").idle_nodes == 1
    computes.delete(house.workspace, "warm")
    assert computes.put(house.workspace, "warm", max_nodes=1).idle_nodes == 0


def test_a_cluster_with_active_runs_cannot_be_deleted(house: House) -> None:
    house.services.computes.put(house.workspace, "warm", max_nodes=1)
    house.submit("first", target="warm")
    house.submit("second", target="warm")
    with pytest.raises(Conflict, match="first and 1 more have not ended"):
        house.services.computes.delete(house.workspace, "warm")


def test_a_cluster_made_smaller_lets_its_runs_finish_first(house: House) -> None:
    house.services.computes.put(house.workspace, "warm", max_nodes=2)
    house.submit("pair", target="warm", distribution=PAIR)
    house.until_launched("pair")
    house.services.computes.change(house.workspace, "warm", max_nodes=1)
    house.submit("next", target="warm")
    house.bulletin.until(lambda: house.services.orchestrator.waiting("next") is not None)
    waiting = house.services.orchestrator.waiting("next")
    assert waiting is not None
    assert waiting.reason == "2 nodes of 'warm' are busy, and it may have no more than 1"


@pytest.mark.parametrize(("least", "most"), [(0, 0), (-1, 1), (2, 1), (0, 10**6)])
def test_sizes_have_bounds(house: House, least: int, most: int) -> None:
    with pytest.raises(InvalidInput, match=f"max_nodes={most} is not a size"):
        house.services.computes.put(house.workspace, "warm", max_nodes=most, min_nodes=least)


@pytest.mark.parametrize("idle", [-1.0, float("nan"), float("inf")])
def test_idle_seconds_must_be_a_time(house: House, idle: float) -> None:
    with pytest.raises(InvalidInput, match="idle_seconds is"):
        house.services.computes.put(house.workspace, "warm", max_nodes=2, idle_seconds=idle)
