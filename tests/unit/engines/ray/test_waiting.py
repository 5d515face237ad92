from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footplate.engines.ray import waiting
from footplate.engines.ray.waiting import ClusterState


def status(*nodes: dict[str, list[float]], **report: Any) -> dict[str, Any]:
    usage = {f"node{index}": node for index, node in enumerate(nodes)}
    return {"clusterStatus": {"loadMetricsReport": {"usageByNode": usage}, "autoscalerReport": report}}


def explain(seen: dict[str, Any], bundle: Mapping[str, float], nodes: int) -> str:
    return waiting.explain(waiting.read_status(seen), "r1", bundle, nodes)


def test_a_full_cluster_is_told_from_one_that_is_too_small() -> None:
    busy, free = {"CPU": [4.0, 4.0], "GPU": [0.0, 2.0]}, {"CPU": [0.0, 4.0], "GPU": [0.0, 2.0]}
    wanted = {"CPU": 4, "GPU": 2}
    assert explain(status(busy, free), wanted, 2) == (
        "the Ray cluster is full: the run needs 2 nodes with 4 CPUs and 2 GPUs each, and 1 of 2 such nodes are free"
    )
    assert explain(status(free), wanted, 2) == (
        "the run needs 2 nodes with 4 CPUs and 2 GPUs each, and the Ray cluster has only 1 of 1: it waits until such "
        "nodes join"
    )
    assert "has none among its 2 nodes" in explain(status(busy, free), {"CPU": 64}, 1)
    assert explain(status(free), {"CPU": 1}, 1) == "Ray is starting the job"


def test_the_autoscaler_is_at_work() -> None:
    seen = status({"CPU": [1.0, 1.0]}, pendingLaunches={"worker": 2}, pendingNodes=[["10.0.0.9", "worker", "setup"]])
    assert explain(seen, {"CPU": 1}, 1) == "Scaling: Ray is starting 3 nodes; the run needs a node with 1 CPU"


def test_an_error_of_the_autoscaler_is_passed_on() -> None:
    seen = {**status({"CPU": [1.0, 1.0]}), "autoscalingError": "no quota"}
    assert explain(seen, {"CPU": 2}, 1).endswith("the autoscaler reports: no quota")


def test_custom_resources_and_memory_are_found_and_shown() -> None:
    node = {"CPU": [0.0, 4.0], "memory": [0.0, 2.0**33], "blueOnes": [1.0, 1.0]}
    words = explain(status(node), {"CPU": 1, "memory": 2**32, "blue_ones": 1}, 1)
    assert "a node with 1 CPU, 4 GiB and 1 blue_ones" in words and words.startswith("the Ray cluster is full")


def test_a_head_without_figures_still_gets_an_explanation() -> None:
    assert explain({}, {"CPU": 2}, 1) == "the Ray cluster has not started the job: it needs a node with 2 CPUs"


EVENTS = (
    ("2026-11-16 17:00:01", "Adding 2 node(s) of type old."),
    ("2026-11-16 17:00:02", "Adding 1 node(s) of type worker."),
    ("2026-11-16 17:00:02", "Started a ray job r1."),
    ("2026-11-16 17:00:03", "Resized to 1 CPUs."),
)


def test_events_of_the_second_autoscaler_explain_the_wait() -> None:
    text = "1.0/1.0 CPU (0.0 used of 0.0 reserved in placement groups)\n0B/17.78GiB memory\n0.0/1.0 blue_ones"
    usage = waiting.read_usage({"n1": text})
    assert usage == {"n1": {"CPU": (1.0, 1.0), "memory": (0.0, 17.78 * 2**30), "blue_ones": (0.0, 1.0)}}
    state = ClusterState(usage, events=EVENTS)
    wanted = {"CPU": 1.0, "blue_ones": 1.0}
    needs = "the run needs a node with 1 CPU and 1 blue_ones"
    said = waiting.explain(state, "r1", wanted, 1)
    assert said == f"Scaling: Ray reports: Adding 1 node(s) of type worker; {needs}"
    refused = ("2026-11-16 17:00:04", "No available node types can fulfill resource requests {'CPU': 8.0}*1. Add some.")
    state = ClusterState(usage, events=(*EVENTS, refused))
    assert waiting.explain(state, "r1", {"CPU": 8.0}, 1).endswith(f"; the autoscaler reports: {refused[1][:-1]}")
    state = ClusterState(usage, events=(EVENTS[0], *EVENTS[2:]))
    assert waiting.explain(state, "r1", wanted, 1).startswith("the Ray cluster is full")
    state = ClusterState(usage, events=EVENTS)
    assert waiting.explain(state, "r2", wanted, 1).startswith("the Ray cluster is full")


def test_reserved_resources_are_not_free() -> None:
    usage = waiting.read_usage({"n1": "0.0/4.0 CPU (0.0 used of 3.0 reserved in placement groups)"})
    assert usage == {"n1": {"CPU": (3.0, 4.0)}}


def test_events_do_not_replace_the_figures_of_the_first_autoscaler() -> None:
    """Its nodes have joined by the time of the event."""
    state = ClusterState({"n1": {"CPU": (1.0, 1.0)}}, starting=0, events=EVENTS)
    assert waiting.explain(state, "r1", {"CPU": 1.0}, 1).startswith("the Ray cluster is full")
