"""The GPU allocator over a real store, with nodes that only claim to have GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.codec import to_json
from footplate.domain.orders import ASSIGNED, INFO, Gpu, NodeOrders
from footplate.domain.specs import Distribution, GpuRequest

from .conftest import House

TWO = {"gpus": 2, INFO: to_json([Gpu(0, "GPU-0"), Gpu(1, "GPU-1")])}


def join(house: House, run: str, gpus: GpuRequest, info: dict[str, Any] = TWO, **more: Any) -> NodeOrders:
    house.submit(run, gpus=gpus, **more)
    house.until_launched(run)
    count = len(house.store.runs.record(run).nodes)
    return [house.services.nodes.join(run, node, 1, "gandalf", "127.0.0.1", info) for node in range(count)][-1]


def orders(house: House, run: str, node: int) -> NodeOrders:
    """Return the orders as a node gets them that reports again that it is prepared."""
    nodes = house.services.nodes
    return nodes.orders_of(nodes.equip(run, node), node)


def end(house: House, run: str) -> None:
    house.services.nodes.report(run, 0, "started", None, None)
    house.services.nodes.report(run, 0, "exited", None, None)


def message(house: House, run: str) -> str:
    return house.services.runs.view(run).nodes[0].message or ""


def test_gpus_are_exclusive_until_the_processes_have_ended(house: House) -> None:
    first, second = (join(house, run, GpuRequest(per_node=1)) for run in ("first", "second"))
    assert (first.ready, first.gpus, second.ready, second.gpus) == (True, ("GPU-0",), True, ("GPU-1",))
    assert first.ranks[0].variables["CUDA_VISIBLE_DEVICES"] == "0"
    third = join(house, "third", GpuRequest(per_node=1))
    assert (third.ready, third.ranks) == (False, ())
    assert message(house, "third") == "waits for 1 GPU of gandalf, held by first and second"
    end(house, "second")
    assert orders(house, "third", 0).gpus == ("GPU-1",)
    assert message(house, "third") == ""


def test_a_waiting_run_is_not_overtaken(house: House) -> None:
    join(house, "first", GpuRequest(per_node=1))
    assert not join(house, "large", GpuRequest(per_node=2)).ready
    assert not join(house, "small", GpuRequest(per_node=1)).ready, "one is free, but large came first"
    assert message(house, "small") == "waits for 1 GPU of gandalf, held by first, behind large"
    plain = join(house, "plain", GpuRequest())
    assert (plain.ready, plain.gpus) == (True, ()), "who does not ask neither waits nor takes"
    assert "gpus = 1" in house.services.runs.view("plain").warnings[0]
    assert plain.ranks[0].variables["CUDA_VISIBLE_DEVICES"] == ""
    end(house, "first")
    assert not orders(house, "small", 0).ready
    assert orders(house, "large", 0).gpus == ("GPU-0", "GPU-1")
    end(house, "large")
    assert orders(house, "small", 0).gpus == ("GPU-0",)


def test_higher_priorities_come_first(house: House) -> None:
    join(house, "first", GpuRequest(per_node=2))
    join(house, "low", GpuRequest(per_node=2))
    join(house, "high", GpuRequest(per_node=2), priority=5)
    end(house, "first")
    assert not orders(house, "low", 0).ready
    assert orders(house, "high", 0).ready


def test_all_nodes_of_a_run_get_gpus_or_none_does(house: House) -> None:
    pair = Distribution(node_count=2)
    join(house, "first", GpuRequest(per_node=1))
    join(house, "pair", GpuRequest(per_node=1), distribution=pair)
    for node in (0, 1):
        house.services.nodes.note_prepared("pair", node, ())
    assert not orders(house, "pair", 1).ready
    assert [node.gpus for node in house.services.runs.view("pair").nodes] == [None, None]
    end(house, "first")
    assert [orders(house, "pair", node).gpus for node in (0, 1)] == [("GPU-0",), ("GPU-1",)]


def test_a_canceled_run_neither_waits_nor_blocks_others(house: House) -> None:
    join(house, "first", GpuRequest(per_node=1))
    join(house, "large", GpuRequest(per_node=2))
    house.services.runs.cancel("large")
    assert orders(house, "large", 0).stop
    assert join(house, "small", GpuRequest(per_node=1)).gpus == ("GPU-1",)


def test_an_impossible_request_fails_the_run(house: House) -> None:
    orders = join(house, "greedy", GpuRequest(per_node=3))
    assert orders.stop
    outcome = house.services.runs.view("greedy").outcome
    assert outcome is not None
    assert outcome.cause is not None
    assert outcome.cause.message == "node 0 needs 3 GPUs, and gandalf has 2"


ASSIGNED_TWO = {**TWO, INFO: to_json([Gpu(2, "GPU-2"), Gpu(5, "GPU-5")]), ASSIGNED: True}
"""A node to which an engine has assigned the devices 2 and 5."""


@pytest.mark.parametrize(
    ("gpus", "share"),
    [
        (GpuRequest(), ("GPU-2", "GPU-5")),
        (GpuRequest(needed=True), ("GPU-2", "GPU-5")),
        (GpuRequest(per_node=1), ("GPU-2",)),
        (GpuRequest(per_node=0), ()),
    ],
)
def test_a_run_has_the_gpus_that_an_engine_assigned(house: House, gpus: GpuRequest, share: tuple[str, ...]) -> None:
    got = join(house, "run", gpus, info=ASSIGNED_TWO)
    assert (got.ready, got.gpus) == (True, share)
    assert got.ranks[0].variables["CUDA_VISIBLE_DEVICES"] == ",".join(uuid[-1] for uuid in share)


def test_ranks_of_a_node_split_the_assigned_gpus(house: House) -> None:
    several = Distribution("mpi", processes_per_node=2)
    house.submit("ranks", distribution=several)
    house.until_launched("ranks")
    nodes = house.services.nodes
    nodes.join("ranks", 0, 1, "gandalf", "10.0.0.1", ASSIGNED_TWO)
    nodes.note_prepared("ranks", 0, (6105, 6106))
    ranks = orders(house, "ranks", 0).ranks
    assert [rank.variables["CUDA_VISIBLE_DEVICES"] for rank in ranks] == ["2,5", "2,5"]
    assert [rank.variables["FOOTPLATE_GPUS"] for rank in ranks] == ["2", "5"]


def test_nothing_is_decided_where_there_are_no_gpus(house: House) -> None:
    for run, gpus in (("plain", GpuRequest()), ("wishes", GpuRequest(needed=True))):
        orders = join(house, run, gpus, info={})
        assert orders.ready
        assert "CUDA_VISIBLE_DEVICES" not in orders.ranks[0].variables
        assert not any(line.event == "GpusAssigned" for line in house.services.runs.story(run))


@pytest.mark.parametrize(("size", "share"), [("STANDARD_NC12", ("GPU-0", "GPU-1")), ("Standard_D2_v2", ())])
def test_the_machine_size_of_a_cluster_gives_the_number(house: House, size: str, share: tuple[str, ...]) -> None:
    house.services.computes.put(house.workspace, "cluster", 2, options={"vm_size": size})
    assert join(house, "run", GpuRequest(), target="cluster").gpus == share
