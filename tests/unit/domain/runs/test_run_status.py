from __future__ import annotations

import pytest

from footplate.domain.orders import Program
from footplate.domain.records import NodeRecord, NodeState, RunRecord, Stage, Waiting
from footplate.domain.runs import run_status
from footplate.domain.specs import Distribution, RunSpec

WAITING = Waiting("jobs with a higher priority are ahead", 0)


@pytest.mark.parametrize(
    ("status", "waiting", "shown"),
    [
        ("Provisioning", WAITING, "Scaling"),
        ("Provisioning", None, "Provisioning"),
        ("Queued", WAITING, "Queued"),
        ("Running", None, "Running"),
    ],
)
def test_a_run_that_its_cluster_lets_wait_is_scaling(status: str, waiting: Waiting | None, shown: str) -> None:
    assert run_status.visible_status(status, waiting) == shown


@pytest.mark.parametrize(
    ("kind", "ports"), [("torch", [(1, 2), ()]), ("mpi", [(1, 2), (3, 4)]), ("tensorflow", [(1,), (2,)])]
)
def test_ranks_start_only_if_every_node_held_its_ports(kind: str, ports: list[tuple[int, ...]]) -> None:
    wanted = Distribution(kind, 2, worker_count=2)
    spec = RunSpec("e", program=Program(script="s.py"), distribution=wanted)
    prepared = [NodeRecord(index, NodeState.PREPARED, ports=held) for index, held in enumerate(ports)]
    for state in (NodeState.LOST, NodeState.EXITED, NodeState.DONE):
        for first, is_ready in ((NodeRecord(0, state), False), (NodeRecord(0, state, ports=ports[0]), True)):
            record = RunRecord("r", "w", spec, Stage.PREPARING, created=1.0, nodes=(first, prepared[1]))
            assert run_status.is_ready(record) == is_ready
