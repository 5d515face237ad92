"""Runs that wait for GPUs before they have nodes, over a real store; the machine only claims to have GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.codec import to_json
from footplate.domain.orders import INFO, Gpu, NodeOrders
from footplate.domain.specs import Distribution, GpuRequest

from ..conftest import FakeEngine, House, open_house

ONE, TWO = GpuRequest(per_node=1), GpuRequest(per_node=2)
NONE = GpuRequest(per_node=0)
DEVICES = {"gpus": 2, INFO: to_json([Gpu(0, "GPU-0"), Gpu(1, "GPU-1")])}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = open_house(tmp_path, FakeEngine(), gpus=2)
    opened.services.computes.put(opened.workspace, "a", max_nodes=2)
    opened.services.computes.put(opened.workspace, "b", max_nodes=2)
    yield opened
    opened.services.stop()
    opened.store.close()


def begin(house: House, run: str, gpus: GpuRequest, target: str = "a", **more: Any) -> NodeOrders:
    """Start a run that gets its nodes at once."""
    house.submit(run, gpus=gpus, target=target, **more)
    house.until_launched(run)
    return join(house, run)


def join(house: House, run: str) -> NodeOrders:
    return house.services.nodes.join(run, 0, 1, "gandalf", "127.0.0.1", DEVICES)


def reason(house: House, run: str, words: str) -> None:
    """Return why the run waits."""

    def said() -> bool:
        waiting = house.services.runs.view(run).waiting
        return waiting is not None and waiting.reason == words

    house.bulletin.until(said)


def end_ranks(house: House, run: str) -> None:
    house.services.nodes.report(run, 0, "started", None, None)
    house.services.nodes.report(run, 0, "exited", None, None)


def test_a_run_waiting_for_gpus_holds_no_node_and_blocks_no_other(house: House) -> None:
    begin(house, "has", TWO)
    house.submit("wants", gpus=ONE, target="a")
    reason(house, "wants", "it needs 1 GPU and 2 of 2 are used by has")
    assert house.status("wants") == "Queued"
    waiting = house.services.runs.view("wants").waiting
    assert waiting is not None and (waiting.nodes, waiting.gpus) == (1, 1)
    begin(house, "plain", NONE)
    end_ranks(house, "has")
    reason(house, "wants", "2 of 2 nodes of 'a' are busy")
    house.services.nodes.report("has", 0, "done", None, None)
    house.until_launched("wants")
    assert join(house, "wants").gpus == ("GPU-0",)


def test_ranks_that_have_ended_free_their_gpus_for_other_targets(house: House) -> None:
    begin(house, "has", TWO)
    view = house.services.computes.get(house.workspace, "b")
    assert (view.gpus, view.busy_gpus, view.busy_nodes) == (2, 2, 0)
    house.submit("wants", gpus=ONE, target="b")
    reason(house, "wants", "it needs 1 GPU and 2 of 2 are used by has")
    end_ranks(house, "has")
    house.until_launched("wants")


def test_the_targets_of_a_machine_share_one_order(house: House) -> None:
    begin(house, "has", ONE)
    house.submit("large", gpus=TWO, target="b")
    reason(house, "large", "it needs 2 GPUs and 1 of 2 are used by has")
    house.submit("small", gpus=ONE, target="a")
    reason(house, "small", "it could delay large, ahead of it in the queue: a time limit may let it go first")
    house.submit("short", gpus=ONE, target="a", max_seconds=60.0)
    house.until_launched("short")


def test_a_run_that_requests_no_gpu_leaves_them_to_others(house: House) -> None:
    house.submit("asks", gpus=ONE, target="a")
    house.until_launched("asks")
    plain = begin(house, "plain", GpuRequest(), "b")
    assert plain.gpus == ("GPU-0",), "one is spoken for, by a run that has not come so far yet"
    assert begin(house, "another", GpuRequest(), "b").gpus == ()
    assert join(house, "asks").gpus == ("GPU-1",)


def test_a_low_priority_cluster_yields(house: House) -> None:
    house.services.computes.put(house.workspace, "spot", max_nodes=2, options={"vm_priority": "LowPriority"})
    begin(house, "has", TWO)
    for run, target in (("cheap", "spot"), ("dear", "b")):
        house.submit(run, gpus=TWO, target=target)
        reason(house, run, "it needs 2 GPUs and 2 of 2 are used by has")
    end_ranks(house, "has")
    house.until_launched("dear")
    reason(house, "cheap", "it needs 2 GPUs and 2 of 2 are used by dear")


def test_a_run_with_too_many_gpus_starts_and_gets_an_explanation(house: House) -> None:
    assert begin(house, "greedy", GpuRequest(per_node=3)).stop
    pair = Distribution("torch", node_count=2, process_count=3, backend="nccl")
    house.submit("three", target="b", distribution=pair)
    house.until_launched("three")
