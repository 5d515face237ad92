from __future__ import annotations

from typing import Any

from footplate.engines.ray.queue import explain


def status(*nodes: dict[str, list[float]], **report: Any) -> dict[str, Any]:
    usage = {f"node{index}": node for index, node in enumerate(nodes)}
    return {"clusterStatus": {"loadMetricsReport": {"usageByNode": usage}, "autoscalerReport": report}}


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
