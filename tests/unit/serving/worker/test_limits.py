"""Limits of a replica: which CPUs it may use, and what happens when it uses too much memory."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from footplate.serving.worker.limits import choose_cpus, excess_message, measure_memory


@pytest.mark.parametrize("cores, count", [(0.1, 1), (1, 1), (1.5, 2), (4, 4), (100, 8)])
def test_a_replica_gets_whole_cpus_and_at_most_all(cores: float, count: int) -> None:
    chosen = choose_cpus(range(8), cores, "a")
    assert len(chosen) == len(set(chosen)) == count and set(chosen) <= set(range(8))


def test_replicas_begin_at_different_cpus() -> None:
    assert len({choose_cpus(range(64), 1, f"service/{number}")[0] for number in range(20)}) > 5


def test_a_worker_above_its_memory_says_how_much_it_uses() -> None:
    message = "this worker uses 1.50 GB of memory, more than memory_gb=1 allows"
    assert [excess_message(used, 1.0) for used in (1_500_000_000, 900_000_000)] == [message, None]


def test_memory_counts_what_is_allocated_and_not_what_is_mapped(tmp_path: Path) -> None:
    before = measure_memory()
    (tmp_path / "library").write_bytes(bytes(64 << 20))
    with (tmp_path / "library").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
        assert library.find(b"x") == -1  # touches every page
        mapped = measure_memory()
    allocated = bytearray(b"x") * (64 << 20)
    assert abs(mapped - before) < 32 << 20 < measure_memory() - before
    assert len(allocated) == 64 << 20
