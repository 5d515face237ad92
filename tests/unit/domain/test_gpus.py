"""The assignment of GPUs, decided without any."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.codec import to_json
from footplate.domain.gpus import GpuHost, Need, Share, assign, count_wanted, devices, needs, shortage, variables
from footplate.domain.orders import INFO, Gpu, Program, RankPlan
from footplate.domain.queue import Allocation, TargetQueue, Ticket, admit
from footplate.domain.specs import Distribution, GpuRequest, RunSpec

TORCH = Distribution("torch", node_count=1, process_count=2, backend="gloo")


def spec(distribution: Distribution = Distribution(), **more: Any) -> RunSpec:
    return RunSpec("e", program=Program(script="s.py"), distribution=distribution, **more)


def machine(count: int, prefix: str = "a") -> tuple[Gpu, ...]:
    return tuple(Gpu(index, f"GPU-{prefix}{index}", "H200", 1 << 30) for index in range(count))


def told(run: RunSpec, local_rank: int, has: int, share: tuple[str, ...], attends: bool = False) -> dict[str, str]:
    plan = RankPlan(local_rank, local_rank, 0, "log", attends=attends)
    return variables(run, plan, {INFO: to_json(machine(has))}, share)


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (spec(), Need(1)),
        (spec(TORCH), Need(2)),
        (spec(Distribution("torch", 1, 2, backend="nccl")), Need(2, firm=True, exact=True)),
        (spec(gpus=GpuRequest(needed=True)), Need(1, firm=True)),
        (spec(gpus=GpuRequest(per_node=4)), Need(4, firm=True, exact=True)),
        (spec(gpus=GpuRequest(per_node=0)), Need(0, firm=True, exact=True)),
        (spec(TORCH, gpus=GpuRequest(per_process=2)), Need(4, firm=True, exact=True)),
        (spec(environment_variables={"CUDA_VISIBLE_DEVICES": "3"}), Need(0)),
    ],
)
def test_the_request_of_a_run(run: RunSpec, wanted: Need) -> None:
    assert needs(run) == (wanted,)


@pytest.mark.parametrize(
    ("run", "size", "wanted"),
    [
        (spec(), 4, Need(4, firm=True)),
        (spec(), 0, Need(0)),
        (spec(), None, Need(1)),
        (spec(gpus=GpuRequest(needed=True)), 0, Need(1, firm=True)),
        (spec(gpus=GpuRequest(per_node=2)), 4, Need(2, firm=True, exact=True)),
        (spec(Distribution("torch", 1, 2, backend="nccl")), 4, Need(2, firm=True, exact=True)),
    ],
)
def test_the_request_of_a_machine_size(run: RunSpec, size: int | None, wanted: Need) -> None:
    assert needs(run, size) == (wanted,)


def test_a_run_that_asks_waits_and_others_take_free_gpus() -> None:
    two = machine(2)
    assert assign([GpuHost(two, Need(1, firm=True))], {"GPU-a0"}) == (("GPU-a1",),)
    assert assign([GpuHost(two, Need(2, firm=True))], {"GPU-a0"}) is None
    assert assign([GpuHost(two, Need(2))], {"GPU-a0"}) == (("GPU-a1",),)
    assert assign([GpuHost(two, Need(1))], {"GPU-a0", "GPU-a1"}) == ((),)


def test_nodes_that_share_a_machine_share_its_devices() -> None:
    four = machine(4)
    assert assign([GpuHost(four, Need(2, True, True))] * 2, ()) == (("GPU-a0", "GPU-a1"), ("GPU-a2", "GPU-a3"))
    assert assign([GpuHost(four, Need(8, firm=True))] * 2, ()) == (("GPU-a0", "GPU-a1"), ("GPU-a2", "GPU-a3"))
    apart = [GpuHost(machine(1, "a"), Need(1, True)), GpuHost(machine(1, "b"), Need(1, True))]
    assert assign(apart, ()) == (("GPU-a0",), ("GPU-b0",))


def test_an_impossible_request_is_recognized() -> None:
    exactly = Need(2, firm=True, exact=True)
    assert shortage([GpuHost(machine(2), exactly)]) is None
    assert shortage([GpuHost(machine(2), exactly)] * 2) == 1
    assert shortage([GpuHost((), exactly)]) == 0
    assert shortage([GpuHost((), Need(2, firm=True))]) is None, "what the machine does not have is not waited for"


def test_ranks_of_a_node_see_all_its_gpus_and_know_their_own() -> None:
    share = ("GPU-a1", "GPU-a3")
    assert [told(spec(TORCH), rank, 4, share) for rank in (0, 1)] == [
        {
            "CUDA_VISIBLE_DEVICES": "1,3",
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "FOOTPLATE_GPUS": own,
            "AZ_BATCHAI_NUM_GPUS": "2",
        }
        for own in ("1", "3")
    ]


def test_ranks_see_only_their_own_gpus_when_requested_per_process() -> None:
    run = spec(TORCH, gpus=GpuRequest(per_process=2))
    seen = [told(run, rank, 4, ("GPU-a0", "GPU-a1", "GPU-a2", "GPU-a3"))["CUDA_VISIBLE_DEVICES"] for rank in (0, 1)]
    assert seen == ["0,1", "2,3"]


def test_tensorflow_tasks_see_their_own_gpu_parameter_servers_none() -> None:
    run = spec(Distribution("tensorflow", 1, worker_count=1, parameter_server_count=1))
    assert told(run, 0, 2, ("GPU-a0", "GPU-a1"))["CUDA_VISIBLE_DEVICES"] == "0"
    assert told(run, 1, 2, ("GPU-a0", "GPU-a1"), attends=True)["CUDA_VISIBLE_DEVICES"] == ""


def test_a_rank_without_gpus_sees_none() -> None:
    assert told(spec(), 0, 2, ())["CUDA_VISIBLE_DEVICES"] == ""
    assert told(spec(), 0, 0, ()) == {"AZ_BATCHAI_NUM_GPUS": "0"}
    assert told(spec(environment_variables={"CUDA_VISIBLE_DEVICES": "0"}), 0, 2, ()) == {}


def test_an_agent_of_an_older_version_reports_no_devices() -> None:
    assert devices({"gpus": 2}) == ()


machines = st.lists(
    st.builds(
        GpuHost,
        st.integers(0, 4).flatmap(lambda count: st.sampled_from(["a", "b"]).map(lambda name: machine(count, name))),
        st.builds(Need, st.integers(0, 5), st.booleans(), st.booleans()),
    ),
    max_size=4,
)


@given(machines, st.sets(st.sampled_from([gpu.uuid for name in "ab" for gpu in machine(4, name)])))
def test_no_device_is_assigned_twice(wanted: list[GpuHost], taken: set[str]) -> None:
    shares = assign(wanted, taken)
    if shares is None:
        return
    given_out = [uuid for share in shares for uuid in share]
    assert len(given_out) == len(set(given_out))
    assert not taken & set(given_out)
    for each, share in zip(wanted, shares, strict=True):
        assert set(share) <= {gpu.uuid for gpu in each.devices}
        assert len(share) <= each.need.count
        if each.need.firm and each.need.exact:
            assert len(share) == each.need.count


@pytest.mark.parametrize(
    ("run", "size", "there", "count"),
    [
        (spec(), None, 4, 0),  # takes free GPUs and waits for none
        (spec(gpus=GpuRequest(per_node=2)), None, 4, 2),
        (spec(Distribution("torch", 2, 4, backend="nccl")), None, 4, 4),
        (spec(Distribution("torch", 2, 3, backend="nccl")), None, 4, 3),
        (spec(gpus=GpuRequest(per_node=8)), None, 4, 8),
        (spec(), 8, 4, 4),  # as many as the machine has
        (spec(Distribution(node_count=2)), 4, 4, 4),
        (spec(Distribution(node_count=3), gpus=GpuRequest(needed=True)), None, 2, 0),
        (spec(environment_variables={"CUDA_VISIBLE_DEVICES": "3"}), 4, 4, 0),
    ],
)
def test_the_gpus_that_a_run_waits_for(run: RunSpec, size: int | None, there: int, count: int) -> None:
    assert count_wanted(run, size, there) == count


WISHES = st.builds(
    lambda nodes, ranks, kind: {
        "nccl": spec(Distribution("torch", nodes, nodes * ranks, backend="nccl")),
        "number": spec(Distribution(node_count=nodes), gpus=GpuRequest(per_node=ranks)),
        "needed": spec(Distribution("torch", nodes, nodes * ranks, backend="gloo"), gpus=GpuRequest(needed=True)),
        "nothing": spec(Distribution(node_count=nodes)),
    }[kind],
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["nccl", "number", "needed", "nothing"]),
)


@given(st.lists(WISHES, max_size=8), st.integers(1, 6), st.randoms(use_true_random=False))
def test_an_admitted_run_gets_its_gpus_exclusively(wishes: list[RunSpec], there: int, chance: Random) -> None:
    """The queue counts and the allocator assigns: in whatever order runs arrive, each gets what it was admitted for."""
    waiting = {f"r{n}": run for n, run in enumerate(wishes)}
    running: dict[str, tuple[Share, ...]] = {}
    while waiting:
        has = {name: sum(map(len, shares)) for name, shares in running.items()}
        tickets = [Ticket(name, "c", 1, 0, 0.0, None, count_wanted(run, None, there)) for name, run in waiting.items()]
        decision = admit(
            {"c": tickets},
            [Allocation(name, "c", 1, None, count) for name, count in has.items()],
            {"c": TargetQueue("c", 100)},
            0.0,
            there,
        )
        started = list(decision.started)
        chance.shuffle(started)
        for name in started:
            run = waiting.pop(name)
            machines = [GpuHost(machine(there), need) for need in needs(run)]
            if shortage(machines) is not None:
                continue  # refused
            firm = any(need.firm and need.count for need in needs(run))
            taken = {uuid for shares in running.values() for share in shares for uuid in share}
            shares = assign(machines, taken if firm else {gpu.uuid for gpu in machine(there)})
            assert shares is not None, "it would have to wait where it holds nodes"
            running[name] = shares
        held = [uuid for shares in running.values() for share in shares for uuid in share]
        assert len(held) == len(set(held)) <= there
        if waiting:
            assert running, "somebody waits, and nobody has anything"
            del running[chance.choice(sorted(running))]
