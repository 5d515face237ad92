"""Environments are resolved for the nodes that run them: nodes with a GPU, or with another Python than the server's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Experiment, Run, Workspace
from azureml.core.compute import ComputeTarget
from azureml.core.conda_dependencies import CondaDependencies
from footplate.environments import pythons
from footplate.environments.machine import machine_has_gpu
from footplate.testing.waiting import wait_until
from support.cluster_runs import describe, log_of
from support.fixtures import open_network
from support.interpreters import interpreters
from support.namespace_engine import SERVER_VARIABLES, register
from support.networks import PrivateNetwork, ServerInside
from support.ray_cluster import NVIDIA_SMI
from support.wheels import make_wheel

from .conftest import VERSION
from .test_namespace_engine import HIDDEN

PYTHON = interpreters()[-1]
SHOW = "import sys, onnxruntime; print(onnxruntime.build, 'on', '%d.%d' % sys.version_info[:2])"
INSTALLERS = ("pip", "setuptools", "wheel")


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=1)


@pytest.fixture
def server(home: Path, network: PrivateNetwork) -> Iterator[ServerInside]:
    register(home)
    with ServerInside(network, home, SERVER_VARIABLES) as server:
        yield server


@pytest.fixture
def workspace_there(server: ServerInside, project: Path) -> Workspace:
    return Workspace.from_config()


@pytest.fixture
def smi(tmp_path: Path) -> Path:
    """Return a directory with an nvidia-smi that lists one device."""
    program = tmp_path / "gpu" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(NVIDIA_SMI.format(gpus="0"))
    program.chmod(0o755)
    return program.parent


def attach(workspace: Workspace, network: PrivateNetwork, home: Path, folder: Path, *hide: str, **options: Any) -> Any:
    wanted = ComputeTarget.engine_configuration(
        "namespaces", max_nodes=1, namespaces=network.nodes[0], root=str(folder / "nodes"), python=PYTHON,
        hide=":".join([str(home), *HIDDEN, *hide]), **options,
    )  # fmt: skip
    return ComputeTarget.attach(workspace, "far", wanted)


def packages(tmp_path: Path, python: str | None = None) -> Environment:
    """Return an environment with a package that has builds for GPUs and for CPUs."""
    for name in INSTALLERS:
        make_wheel(tmp_path / "wheels", name, "99.5")
    for name, build in (("onnxruntime", "cpu"), ("onnxruntime_gpu", "gpu")):
        make_wheel(tmp_path / "wheels", name, "1.5", files={"onnxruntime.py": f"build = {build!r}\n"})
    environment = Environment("networks")
    environment.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["onnxruntime-gpu==1.5"], python_version=python
    )
    for option in ("--no-index", f"--find-links {tmp_path}/wheels"):
        environment.python.conda_dependencies.set_pip_option(option)
    return environment


def run_on(target: Any, environment: Environment, gpus: int | None = None) -> Run:
    config = describe(target, environment, SHOW)
    config.run_config.gpus = gpus
    run = Experiment(target.workspace, "kinds").submit(config)
    run.wait_for_completion()
    return run


def events_of(run: Run) -> list[str]:
    return [line.event for line in run.experiment.workspace.session.api.runs.story(run.id)]


@pytest.mark.skipif(machine_has_gpu(), reason="the server must have no GPU")
def test_a_server_without_a_gpu_locks_gpu_builds_for_nodes_with_one(
    workspace_there: Workspace, network: PrivateNetwork, home: Path, tmp_path: Path, smi: Path, footplate: Any
) -> None:
    target = attach(workspace_there, network, home, tmp_path, gpu_programs=str(smi))
    environment = packages(tmp_path, VERSION)
    for gpus, build in ((1, "gpu"), (None, "cpu")):
        first, second = (run_on(target, environment, gpus) for _ in range(2))
        assert [log_of(run).split()[0] for run in (first, second)] == [build, build]
        assert "EnvironmentDeferred" in events_of(first), "nothing was known about nodes for such a request"
        assert "EnvironmentDeferred" not in events_of(second), "the first run has told what its node is"
        words = "with GPUs" if gpus else "without GPUs"
        assert words in footplate("env", "show", first.id).stdout


def test_the_check_of_a_target_tells_what_its_nodes_are(
    workspace_there: Workspace, network: PrivateNetwork, home: Path, tmp_path: Path, footplate: Any
) -> None:
    attach(workspace_there, network, home, tmp_path)
    assert footplate.json("compute", "show", "far")["kinds"] == []
    footplate("compute", "check", "far")
    (known,) = footplate.json("compute", "show", "far")["kinds"]
    assert known["kind"]["machine"] == os.uname().machine
    assert PYTHON in known["kind"]["pythons"]
    run = run_on(ComputeTarget(workspace_there, "far"), packages(tmp_path))
    assert "EnvironmentDeferred" not in events_of(run)


def test_a_python_that_only_the_server_has_is_replaced_for_the_nodes(
    workspace_there: Workspace, network: PrivateNetwork, home: Path, tmp_path: Path
) -> None:
    own = pythons.version_of(PYTHON) or ()
    others = [one for one in pythons.installed(tmp_path) if "/.pyenv/" in one.path and one.version[:2] != own[:2]]
    if not others:
        pytest.skip("this machine has only one Python that can be hidden")
    missing = others[-1]
    target = attach(workspace_there, network, home, tmp_path, str(Path(missing.path).parents[1]))
    run = run_on(target, packages(tmp_path, missing.minor))
    assert log_of(run).split()[-1] != missing.minor
    (warning,) = [each["message"] for each in run.get_details()["warnings"] if "Python" in each["message"]]
    assert f"Python {missing.minor} is not on the nodes of this compute target" in warning


def test_a_run_fails_if_its_environment_cannot_be_resolved_later(
    workspace_there: Workspace, network: PrivateNetwork, home: Path, tmp_path: Path
) -> None:
    target = attach(workspace_there, network, home, tmp_path)
    environment = packages(tmp_path)
    environment.python.conda_dependencies.add_pip_package("missing==7.5")
    run = Experiment(workspace_there, "kinds").submit(describe(target, environment, SHOW))
    wait_until(lambda: run.get_status() == "Failed")
    assert "missing" in str(run.get_details()["error"])
    assert "EnvironmentDeferred" in events_of(run)
