"""Clusters and their nodes, over a real store and with a clock of our own."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from footplate.domain.orders import Program
from footplate.domain.records import ComputeView
from footplate.domain.specs import ControllerSpec, Distribution, RunSpec
from footplate.errors import Conflict, InvalidInput
from footplate.services.capacity import capacity_of
from footplate.services.computes import ComputeService
from footplate.services.orchestration.agent_jobs import Listeners
from footplate.services.orchestration.queues import QueueReader

from .conftest import House

PAIR = Distribution("torch", node_count=2)


def later(house: House, seconds: float) -> ComputeView:
    services, load_engine = house.services, lambda name: house.engine
    queues = QueueReader(house.store, load_engine)
    clock = lambda: time.time() + seconds  # noqa: E731
    listeners = Listeners("unix:///nowhere.sock")
    computes = ComputeService(house.store, services.orchestrator, queues, house.home, listeners, load_engine, clock)
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


CLUSTER = {"partition": "queue of the cluster", "host": "login node"}


@pytest.fixture
def cluster(house: House) -> House:
    """A house whose engine is a cluster: a run may override its partition, but not its host."""
    house.engine.options, house.engine.run_options = CLUSTER, ("partition",)
    return house


def test_adding_the_same_target_again_changes_nothing(cluster: House) -> None:
    computes = cluster.services.computes
    made = computes.put(cluster.workspace, "gpu", 4, options={"partition": "gpu"})
    cluster.engine.away = "connection refused"
    assert computes.put(cluster.workspace, "gpu", 4, options={"partition": "gpu"}).modified == made.modified
    with pytest.raises(Conflict, match=r"'gpu' exists, with other settings \(max_nodes, options\)"):
        computes.put(cluster.workspace, "gpu", 5, options={"partition": "cpu"})


def test_a_cluster_that_does_not_answer_is_added_only_without_check(cluster: House) -> None:
    computes, cluster.engine.away = cluster.services.computes, "connection refused"
    with pytest.raises(InvalidInput, match="the cluster of 'gpu' does not answer: connection refused") as refused:
        computes.put(cluster.workspace, "gpu", 4)
    assert "--no-check" in str(refused.value.hint) and computes.list(cluster.workspace) == []
    assert computes.put(cluster.workspace, "gpu", 4, check=False).name == "gpu"


def test_an_engine_elsewhere_cannot_be_added_to_a_server_on_its_socket(cluster: House) -> None:
    cluster.engine.shares_home = False
    with pytest.raises(InvalidInput, match="this server listens only on its socket"):
        cluster.services.computes.put(cluster.workspace, "gpu", 4)


def test_the_engine_refuses_bad_values_of_a_target_and_of_a_run(cluster: House) -> None:
    computes, cluster.engine.bad_value = cluster.services.computes, "tomorrow"
    with pytest.raises(InvalidInput, match="an option is 'tomorrow'"):
        computes.put(cluster.workspace, "gpu", 4, options={"partition": "tomorrow"})
    computes.put(cluster.workspace, "gpu", 4)
    with pytest.raises(InvalidInput, match="an option is 'tomorrow'"):
        computes.change(cluster.workspace, "gpu", options={"partition": "tomorrow"})
    with pytest.raises(InvalidInput, match="an option is 'tomorrow'"):
        cluster.submit("r1", target="gpu", engine_options={"partition": "tomorrow"})


def test_a_run_overrides_options_of_its_target_for_itself(cluster: House) -> None:
    cluster.services.computes.put(cluster.workspace, "gpu", 4, options={"partition": "gpu", "host": "login"})
    cluster.submit("r1", target="gpu", engine_options={"partition": "long"})
    cluster.until_launched("r1")
    assert cluster.engine.jobs[-1].options == {"partition": "long", "host": "login"}
    assert cluster.services.computes.get(cluster.workspace, "gpu").options["partition"] == "gpu"


def test_a_run_cannot_redirect_its_target(cluster: House) -> None:
    cluster.services.computes.put(cluster.workspace, "gpu", 4, options={"host": "login"})
    with pytest.raises(InvalidInput, match="the option 'host' of 'gpu' is fixed"):
        cluster.submit("r1", target="gpu", engine_options={"host": "mine"})
    trials = ControllerSpec("completes_with_children", children={"trial": _child(engine_options={"host": "mine"})})
    with pytest.raises(InvalidInput, match="the option 'host' of 'gpu' is fixed"):
        cluster.submit("r2", kind="group", program=None, controller=trials)


def test_a_target_that_no_longer_allows_an_override_fails_the_launch(cluster: House) -> None:
    cluster.services.computes.put(cluster.workspace, "gpu", 1)
    cluster.submit("first", target="gpu")
    cluster.until_launched("first")
    cluster.submit("second", target="gpu", engine_options={"partition": "long"})
    cluster.engine.run_options = ()
    for event in ("started", "exited", "done"):
        if event == "started":
            cluster.services.nodes.join("first", 0, 1, "gandalf", "127.0.0.1", {})
        cluster.services.nodes.report("first", 0, event, None, None)
    cluster.until_status("second", "Failed")
    outcome = cluster.services.runs.view("second").outcome
    assert outcome is not None and outcome.cause is not None
    assert outcome.cause.code == "launch_failed" and "'partition' of 'gpu' is fixed" in outcome.cause.message


def _child(**changes: Any) -> RunSpec:
    return replace(RunSpec("lab", program=Program(script="train.py"), target="gpu"), **changes)


def test_engines_are_described_with_their_options(cluster: House) -> None:
    (local,) = [engine for engine in cluster.services.computes.engines() if engine.name == "local"]
    assert local.options["partition"] == "queue of the cluster" and "cpus" in local.options
    assert (local.run_options, local.problem) == (("partition",), None)


def test_needs_of_a_node_come_before_its_machine_size(cluster: House) -> None:
    options = {"vm_size": "STANDARD_D2_V2", "cpus": 3, "gpus": 1}
    cluster.services.computes.put(cluster.workspace, "gpu", 4, options=options)
    found = capacity_of(cluster.store, cluster.workspace, "gpu")
    assert (found.cpus, found.memory, found.gpus) == (3, 7, 1)
    (warning,) = cluster.services.computes.fit(cluster.services.computes.get(cluster.workspace, "gpu"))
    assert "does not have 1 GPU" in warning
