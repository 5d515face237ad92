"""The contract of engines, and Slurm's own ways to end a job, on a real cluster."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.engines.base import AgentJob, NodeResources
from footplate.engines.slurm.engine import SlurmEngine
from footplate.errors import InvalidInput, Unavailable
from footplate.node import supervisor
from footplate.testing.engine_suite import WAITS, EngineSuite, ended, observe
from footplate.testing.waiting import wait_until
from support.fixtures import open_network
from support.networks import SERVER, PrivateNetwork
from support.slurm_cluster import SlurmCluster, why_no_slurm

BUNDLE = "b" * 64


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=2)


@pytest.fixture(scope="module")
def cluster(network: PrivateNetwork) -> Iterator[SlurmCluster]:
    if reason := why_no_slurm():
        pytest.skip(reason)
    with SlurmCluster(network) as cluster:
        yield cluster


class SlurmArena:
    """A cluster whose nodes have a stand-in in the place of the agent bundle."""

    restarts_agents = True

    def __init__(self, cluster: SlurmCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def engine(self, program: str) -> SlurmEngine:
        # As an agent does: signals are blocked until it handles them.
        start = f"import signal, sys; sys.path[:0] = {[path for path in sys.path if path]!r}\n"
        start += "signal.pthread_sigmask(signal.SIG_SETMASK, [])\n"
        for node in self.cluster.nodes:
            main = self.cluster.disk(node) / "bundles" / BUNDLE / "footplate/node/__main__.py"
            main.parent.mkdir(parents=True, exist_ok=True)
            main.write_text(start + program.format(folder=str(self.folder)))
            shutil.copy(supervisor.__file__, main.parent)
        return SlurmEngine()

    def job(self, run: str, nodes: int = 1, **options: Any) -> AgentJob:
        options = {"scratch": str(self.cluster.scratch), "python": sys.executable, **options}
        return AgentJob(run, 1, nodes, f"http://{SERVER}:8000", token="t0ken", bundle=BUNDLE, options=options)

    def count_starts(self) -> int:
        return len((self.folder / "starts").read_text().splitlines()) if (self.folder / "starts").exists() else 0


@pytest.fixture
def arena(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmArena]:
    monkeypatch.setenv("PATH", f"{cluster.commands}:{os.environ['PATH']}")
    yield SlurmArena(cluster, tmp_path)
    cluster.call("scancel", "--quiet", "--user=root")
    wait_until(lambda: not cluster.call("squeue", "--noheader"))


class TestSlurmEngine(EngineSuite):
    def start(self, arena: SlurmArena, run: str, nodes: int = 1, **options: Any) -> tuple[SlurmEngine, str]:
        """Start stand-ins that wait, and return once they all run."""
        engine, before = arena.engine(WAITS), arena.count_starts()
        handle = engine.submit(engine.prepare(arena.job(run, nodes, **options)))
        wait_until(lambda: arena.count_starts() == before + nodes)
        return engine, handle

    def test_a_queued_run_explains_itself_and_can_be_cancelled(self, arena: SlurmArena) -> None:
        engine, running = self.start(arena, "first", nodes=2, sbatch=["--exclusive"], time_limit=10)
        waiting = engine.submit(engine.prepare(arena.job("second", time_limit="1:00:00")))
        large = engine.submit(engine.prepare(arena.job("large", nodes=3)))
        long = engine.submit(engine.prepare(arena.job("long", partition="brief", time_limit="2-00:00")))
        wait_until(lambda: observe(engine, waiting).estimated_start)
        wait_until(lambda: "NodeLimit" in (observe(engine, large).reason or ""))
        wait_until(lambda: "TimeLimit" in (observe(engine, long).reason or ""))
        seen = engine.poll([running, waiting, large, long])
        assert [seen[each].state for each in (running, waiting, large, long)] == ["running", *["queued"] * 3]
        assert seen[running].places == {0: "n0", 1: "n1"}
        assert seen[waiting].reason == "waits for nodes or other resources to become free (Slurm: Resources)"
        for handle in (waiting, large, long):
            engine.cancel(handle, 60.0)
            assert ended(engine, handle).ended_by is None

    def test_a_job_that_slurm_refuses_is_bad_input(self, arena: SlurmArena) -> None:
        engine = arena.engine(WAITS)
        with pytest.raises(InvalidInput, match="Invalid partition name"):
            engine.submit(engine.prepare(arena.job("r1", partition="nowhere")))

    def test_a_requeued_job_is_preempted_and_never_starts_again(self, arena: SlurmArena) -> None:
        engine, handle = self.start(arena, "r1", sbatch=["--requeue"])
        arena.cluster.call("scontrol", "requeue", json.loads(handle)["job"])
        seen = ended(engine, handle)
        assert seen.ended_by == "preempted" and "requeued" in (seen.reason or "")
        wait_until(lambda: not arena.cluster.call("squeue", "--noheader"))
        assert ended(engine, handle).ended_by == "preempted"
        assert arena.count_starts() == 1

    def test_a_more_important_job_preempts_the_run(self, arena: SlurmArena) -> None:
        engine, handle = self.start(arena, "r1", nodes=2, sbatch=["--exclusive"])
        arena.cluster.call("sbatch", "--partition=urgent", "--nodes=2", "--output=/dev/null", "--wrap=sleep 600")
        seen = ended(engine, handle)
        assert (seen.ended_by, set(seen.codes)) == ("preempted", {0, 1})

    def test_a_job_that_others_cancel_was_stopped_elsewhere(self, arena: SlurmArena) -> None:
        engine, handle = self.start(arena, "r1")
        arena.cluster.call("scancel", json.loads(handle)["job"])
        assert ended(engine, handle).ended_by == "stopped_elsewhere"

    def test_a_lost_node_ends_the_attempt(self, arena: SlurmArena) -> None:
        engine, handle = self.start(arena, "r1", nodes=2)
        arena.cluster.kill_node("n1")
        try:
            assert ended(engine, handle).ended_by == "node_lost"
        finally:
            arena.cluster.start_node("n1")
            arena.cluster.wait_for_nodes("n1")

    def test_a_controller_that_restarts_loses_nothing(self, arena: SlurmArena) -> None:
        engine, handle = self.start(arena, "r1")
        arena.cluster.stop_controller()
        try:
            with pytest.raises(Unavailable, match="Slurm cannot be reached"):
                engine.poll([handle])
            engine.cancel(handle, 600.0)
        finally:
            arena.cluster.start_controller()
        assert set(ended(engine, handle).codes) == {0}

    def test_resources_reach_the_node_and_no_command_line_has_the_token(self, arena: SlurmArena) -> None:
        tells = "import os; open({folder!r} + '/gpus', 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])\n" + WAITS
        engine = arena.engine(tells)
        needs = NodeResources(cpus=2, memory=1.5, gpus=2)
        handle = engine.submit(engine.prepare(replace(arena.job("r1"), resources=needs)))
        wait_until(lambda: arena.count_starts() == 1)
        job = arena.cluster.call("scontrol", "show", "job", json.loads(handle)["job"])
        assert (arena.folder / "gpus").read_text() == "0,1"
        assert all(each in job for each in ("NumCPUs=2", "MinMemoryNode=1.50G", "TresPerNode=gres:gpu:2"))
        lines = [_command_line(pid) for pid in os.listdir("/proc") if pid.isdigit()]
        assert any(b"--run\0r1\0" in line for line in lines) and not any(b"t0ken" in line for line in lines)
        engine.cancel(handle, 600.0)  # the request needs a step beside the one that has all of this
        ended(engine, handle)

    def test_an_ordinary_user_runs_and_cancels(
        self, cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = cluster.folder / "open-to-all"
        folder.mkdir()
        folder.chmod(0o777)
        cluster.write_commands(tmp_path / "commands", user="nobody")
        monkeypatch.setenv("PATH", f"{tmp_path}/commands:{os.environ['PATH']}")
        arena = SlurmArena(cluster, folder)
        engine, handle = self.start(arena, "r1", nodes=2, python="python3")
        assert (folder / "starts").owner() == "nobody"
        engine.cancel(handle, 600.0)
        assert set(ended(engine, handle).codes) == {0, 1}


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def test_a_first_submission_that_is_repeated_gives_one_job(arena: SlurmArena) -> None:
    engine = arena.engine("import time; time.sleep(600)")
    request = engine.prepare(replace(arena.job("first"), is_first=True))
    assert engine.submit(request) == engine.submit(request)
    again = SlurmEngine()  # of the next server, which cannot know: it is not told that this is the first submission
    assert again.submit(again.prepare(arena.job("first"))) == engine.submit(request)
    assert len(arena.cluster.call("squeue", "--noheader").splitlines()) == 1


def test_a_target_asks_the_cluster_for_its_partitions(arena: SlurmArena) -> None:
    engine = SlurmEngine()
    assert engine.reach({}) == 2
    with pytest.raises(InvalidInput, match="the option partition is 'nowhere'") as refused:
        engine.reach({"partition": "nowhere"})
    partition = str(refused.value.hint).rpartition(" ")[2]
    assert engine.reach({"partition": partition}) == 2


# Ends in the way that the name of its run says; other runs wait until somebody ends them.
ENDS = """
import os, sys, time
run = sys.argv[sys.argv.index("--run") + 1]
open(os.path.join({folder!r}, run), "w").close()
if run == "completed":
    sys.exit()
if run == "failed":
    sys.exit(3)
if run == "starved":
    if os.fork() == 0:
        bytearray(2**30)
    os.wait()
    sys.exit(1)
time.sleep(600)
"""
OUTCOMES = {
    "completed": (None, 0),
    "failed": (None, 3),
    "starved": ("out_of_memory", None),
    "late": ("time_limit", None),
    "cancelled": ("stopped_elsewhere", None),
    "requeued": ("preempted", None),
    "lost": ("node_lost", None),
}


@pytest.fixture
def accounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmArena]:
    """A cluster with accounting and limits of memory whose slurmctld soon forgets jobs."""
    if reason := why_no_slurm(accounting=True, limits_memory=True):
        pytest.skip(reason)
    for network in open_network(nodes=3):
        with SlurmCluster(network, settings="MinJobAge=2\n", accounting=True, limits_memory=True) as cluster:
            monkeypatch.setenv("PATH", f"{cluster.commands}:{os.environ['PATH']}")
            yield SlurmArena(cluster, tmp_path)


def test_the_accounting_remembers_what_slurmctld_has_forgotten(accounted: SlurmArena) -> None:
    engine, cluster = accounted.engine(ENDS), accounted.cluster
    handles = {name: engine.submit(engine.prepare(_small(accounted, name))) for name in OUTCOMES}
    wait_until(lambda: set(os.listdir(accounted.folder)) == set(OUTCOMES), 300)
    job = {name: json.loads(handle)["job"] for name, handle in handles.items()}
    cluster.call("scontrol", "update", f"jobid={job['late']}", "EndTime=now")
    cluster.call("scontrol", "update", f"nodename={cluster.nodes[2]}", "state=down", "reason=test")
    cluster.call("scancel", job["cancelled"])
    cluster.call("scontrol", "requeue", job["requeued"])

    def all_ended() -> bool:
        return all(seen.state == "exited" for seen in engine.poll(list(handles.values())).values())

    wait_until(all_ended, 300)
    wait_until(lambda: not cluster.call("squeue", "--noheader", "--states=all"), 300)
    seen = SlurmEngine().poll(list(handles.values()))
    assert {name: (seen[handle].ended_by, seen[handle].codes[0]) for name, handle in handles.items()} == OUTCOMES
    assert all(seen[handle].state == "exited" for handle in handles.values())

    fresh = engine.submit(engine.prepare(_small(accounted, "fresh")))
    cluster.stop_accounting()
    assert set(engine.poll([fresh, handles["failed"]])) == {fresh}
    with pytest.raises(Unavailable):
        engine.poll([handles["failed"]])


def _small(arena: SlurmArena, run: str) -> AgentJob:
    """Return a job of which a node runs several; that of the node which is lost is alone there."""
    last = arena.cluster.nodes[2]
    sbatch = [f"--nodelist={last}"] if run == "lost" else [f"--exclude={last}", "--requeue"]
    return replace(arena.job(run, sbatch=sbatch), resources=NodeResources(memory=0.25))
