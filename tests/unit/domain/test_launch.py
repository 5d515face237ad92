"""Golden launches: the plan of each rank."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.launch import first_log, log_name, meets, plan, ports_to_hold, processes_per_node
from footplate.domain.orders import NodePlace, Program, RankPlan
from footplate.domain.specs import Distribution, RunSpec

TWO = [NodePlace("10.0.0.1", (6105, 6106)), NodePlace("10.0.0.2")]


def spec(distribution: Distribution) -> RunSpec:
    return RunSpec("e", program=Program(script="s.py"), distribution=distribution)


def test_one_process() -> None:
    assert plan(spec(Distribution()), [NodePlace("10.0.0.1")]) == (RankPlan(0, 0, 0, "user_logs/std_log.txt"),)


def test_the_same_program_on_two_nodes() -> None:
    threads = {"OMP_NUM_THREADS": "1"}
    assert plan(spec(Distribution(node_count=2)), TWO) == (
        RankPlan(0, 0, 0, "user_logs/std_log_process_00.txt", defaults=threads),
        RankPlan(1, 0, 1, "user_logs/std_log_process_01.txt", defaults=threads),
    )


def test_virtual_nodes_talk_over_the_loopback_interface() -> None:
    ranks = plan(spec(Distribution(node_count=2)), [NodePlace("127.0.0.2"), NodePlace("127.0.0.3")])
    assert ranks[0].defaults == {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def test_torch_on_two_nodes() -> None:
    ranks = plan(spec(Distribution("torch", node_count=2, process_count=4, backend="gloo")), TWO)
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
        "LOCAL_WORLD_SIZE": "2",
        "NODE_RANK": "1",
        "GROUP_RANK": "1",
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": "tcp://10.0.0.1:6106",
        "AZ_BATCHAI_TASK_INDEX": "3",
    }


def test_mpi_on_two_nodes() -> None:
    ranks = plan(spec(Distribution("mpi", node_count=2, processes_per_node=2)), TWO)
    assert [(r.rank, r.local_rank, r.node) for r in ranks] == [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)]
    assert ranks[2].variables == {
        "AZ_BATCH_MASTER_NODE": "10.0.0.1:6106",
        "AZ_BATCHAI_MPI_MASTER_NODE": "10.0.0.1",
        "AZ_BATCH_HOST_LIST": "10.0.0.1,10.0.0.2",
    }


def test_the_master_of_mpi_on_one_node_is_localhost() -> None:
    rank = plan(spec(Distribution("mpi")), TWO[:1])[0]
    assert rank.variables["AZ_BATCHAI_MPI_MASTER_NODE"] == "localhost"


class TestTensorFlow:
    """TF_CONFIG equals the text of the documents."""

    def test_two_workers(self) -> None:
        wanted = Distribution("tensorflow", 2, worker_count=2)
        ranks = plan(spec(wanted), [NodePlace("host0", (2222,)), NodePlace("host1", (2222,))])
        assert json.loads(ranks[0].variables["TF_CONFIG"]) == {
            "cluster": {"worker": ["host0:2222", "host1:2222"]},
            "task": {"type": "worker", "index": 0},
            "environment": "cloud",
        }
        assert [(r.node, r.task, r.log, r.attends) for r in ranks] == [
            (0, "worker 0", "user_logs/std_log_worker_0.txt", False),
            (1, "worker 1", "user_logs/std_log_worker_1.txt", False),
        ]

    def test_workers_and_parameter_servers(self) -> None:
        wanted = Distribution("tensorflow", 2, worker_count=2, parameter_server_count=1)
        ranks = plan(spec(wanted), [NodePlace("host0", (1, 2)), NodePlace("host1", (3,))])
        assert [(r.rank, r.node, r.local_rank, r.attends) for r in ranks] == [
            (0, 0, 0, False), (1, 1, 0, False), (2, 0, 1, True),
        ]  # fmt: skip
        assert ranks[2].variables == {
            "TF_CONFIG": '{"cluster": {"ps": ["host0:2"], "worker": ["host0:1", "host1:3"]}, '
            '"task": {"type": "ps", "index": 0}, "environment": "cloud"}',
            "AZ_BATCHAI_PS_HOSTS": "host0:2",
            "AZ_BATCHAI_WORKER_HOSTS": "host0:1,host1:3",
            "AZ_BATCHAI_TASK_INDEX": "0",
            "AZ_BATCHAI_TASK_TYPE": "ps",
        }

    def test_a_chief_leads_and_all_others_attend(self) -> None:
        wanted = Distribution("tensorflow", 2, worker_count=2, parameter_server_count=1, chief=True)
        ranks = plan(spec(wanted), [NodePlace("host0", (1, 2, 3)), NodePlace("host1", (4,))])
        assert [(json.loads(r.variables["TF_CONFIG"])["task"]["type"], r.attends) for r in ranks] == [
            ("chief", False), ("worker", True), ("worker", True), ("ps", True),
        ]  # fmt: skip
        assert first_log(wanted) == "user_logs/std_log_chief_0.txt"

    def test_a_single_worker_has_the_log_of_any_single_process(self) -> None:
        assert first_log(Distribution("tensorflow")) == "user_logs/std_log.txt"


@pytest.mark.parametrize(
    ("distribution", "counts", "ports"),
    [
        (Distribution(), (1,), (0,)),
        (Distribution(node_count=3), (1, 1, 1), (0, 0, 0)),
        (Distribution("torch", node_count=3), (1, 1, 1), (2, 0, 0)),
        (Distribution("torch", node_count=1, process_count=4), (4,), (2,)),
        (Distribution("torch", node_count=3, process_count=8), (3, 3, 2), (2, 0, 0)),
        (Distribution("mpi", node_count=2, processes_per_node=3), (3, 3), (2, 2)),
        # Two workers and three parameter servers, round-robin.
        (Distribution("tensorflow", 2, worker_count=2, parameter_server_count=3), (3, 2), (3, 2)),
    ],
)
def test_processes_and_ports_of_each_node(
    distribution: Distribution, counts: tuple[int, ...], ports: tuple[int, ...]
) -> None:
    assert processes_per_node(distribution) == counts
    assert tuple(ports_to_hold(distribution, node) for node in range(distribution.node_count)) == ports


@given(
    st.sampled_from(["none", "torch", "mpi", "tensorflow"]), st.integers(1, 4), st.integers(0, 9), st.integers(0, 3),
    st.booleans(),
)  # fmt: skip
def test_a_plan_is_complete(kind: str, nodes: int, more: int, servers: int, chief: bool) -> None:
    wanted = Distribution(kind, nodes, nodes + more, 1 + more, nodes + more, servers, chief=chief)
    held = [ports_to_hold(wanted, node) for node in range(nodes)]
    places = [NodePlace(f"h{node}", tuple(1000 * node + port for port in range(held[node]))) for node in range(nodes)]
    ranks = plan(spec(wanted), places)
    assert [r.rank for r in ranks] == list(range(sum(processes_per_node(wanted))))
    assert len({r.log for r in ranks}) == len(ranks)
    assert first_log(wanted) == ranks[0].log
    assert not ranks[0].attends
    for node, count in enumerate(processes_per_node(wanted)):
        assert sorted(r.local_rank for r in ranks if r.node == node) == list(range(count))
    if kind == "tensorflow":
        hosts = [host for kind in json.loads(ranks[0].variables["TF_CONFIG"])["cluster"].values() for host in kind]
        assert len(set(hosts)) == len(ranks)


def test_only_a_single_plain_process_starts_without_a_meeting() -> None:
    assert not meets(Distribution())
    assert all(meets(d) for d in (Distribution(node_count=2), Distribution("torch"), Distribution("mpi")))


def test_log_names_sort_like_ranks() -> None:
    names = [log_name(rank, 100) for rank in range(100)]
    assert names == sorted(names)
