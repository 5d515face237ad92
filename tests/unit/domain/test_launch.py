"""Golden launches: who starts what where."""

from __future__ import annotations

import pytest

from footplate.domain.launch import RankPlan, log_name, plan, processes_per_node
from footplate.domain.specs import Distribution, Program, RunSpec
from footplate.errors import InvalidInput


def spec(distribution: Distribution) -> RunSpec:
    return RunSpec("e", program=Program(script="s.py"), distribution=distribution)


def test_one_process() -> None:
    assert plan(spec(Distribution()), ["10.0.0.1"]) == (RankPlan(0, 0, 0, "user_logs/std_log.txt"),)


def test_the_same_program_on_two_nodes() -> None:
    assert plan(spec(Distribution(node_count=2)), ["a", "b"]) == (
        RankPlan(0, 0, 0, "user_logs/std_log_process_00.txt"),
        RankPlan(1, 0, 1, "user_logs/std_log_process_01.txt"),
    )


def test_torch_on_two_nodes() -> None:
    ranks = plan(spec(Distribution("torch", node_count=2, process_count=4, backend="gloo")), ["10.0.0.1", "10.0.0.2"])
    assert [(r.rank, r.local_rank, r.node, r.log) for r in ranks] == [
        (0, 0, 0, "user_logs/std_log_process_00.txt"),
        (1, 1, 0, "user_logs/std_log_process_01.txt"),
        (2, 0, 1, "user_logs/std_log_process_02.txt"),
        (3, 1, 1, "user_logs/std_log_process_03.txt"),
    ]
    assert ranks[3].variables == {
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "6105",
        "WORLD_SIZE": "4",
        "RANK": "3",
        "LOCAL_RANK": "1",
        "NODE_RANK": "1",
        "AZ_BATCHAI_TASK_INDEX": "3",
    }


@pytest.mark.parametrize(
    ("distribution", "counts"),
    [
        (Distribution(), (1,)),
        (Distribution(node_count=3), (1, 1, 1)),
        (Distribution("torch", node_count=3), (1, 1, 1)),
        (Distribution("torch", node_count=1, process_count=4), (4,)),
        (Distribution("torch", node_count=3, process_count=8), (3, 3, 2)),
    ],
)
def test_processes_per_node(distribution: Distribution, counts: tuple[int, ...]) -> None:
    assert processes_per_node(distribution) == counts


@pytest.mark.parametrize("kind", ["mpi", "tensorflow"])
def test_what_cannot_be_started_yet_is_refused_by_name(kind: str) -> None:
    with pytest.raises(InvalidInput, match=f"distribution '{kind}' cannot be started"):
        plan(spec(Distribution(kind)), ["a"])


def test_log_names_sort_like_ranks() -> None:
    names = [log_name(rank, 100) for rank in range(100)]
    assert names == sorted(names)
