"""Distribution of an estimator: the backend classes and the distributed job that each becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence, Tuple, Type

from footplate.sdk.config.run_configuration import DistributedJob
from footplate.sdk.exceptions import TrainingException
from footplate.sdk.values.checked_attributes import Checked
from footplate.sdk.values.run_configuration_sections import (
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)
from footplate.sdk.values.wrong_types import explained


@explained
@dataclass(repr=False, eq=False)
class Mpi(Checked):
    """Processes started by `mpirun`, for Horovod and mpi4py.

    Args:
        process_count_per_node: Processes on each node.

    Example:
        mpi = Mpi(process_count_per_node=2)
        estimator = Estimator("src", entry_script="train.py", compute_target="local", distributed_training=mpi)
    """

    process_count_per_node: int = 1


@explained
@dataclass(repr=False, eq=False)
class ParameterServer(Checked):
    """TensorFlow's distribution: workers, and parameter servers that hold the variables.

    Args:
        worker_count: The number of workers.
        parameter_server_count: The number of parameter servers.

    Example:
        servers = ParameterServer(worker_count=2, parameter_server_count=1)
        estimator = TensorFlow("src", entry_script="train.py", compute_target="local", distributed_training=servers)
    """

    worker_count: int = 1
    parameter_server_count: int = 1


@dataclass(repr=False, eq=False)
class Gloo(Checked):
    """PyTorch's process group over Gloo.

    Example:
        estimator = PyTorch("src", entry_script="train.py", compute_target="local", distributed_training=Gloo())
    """


@dataclass(repr=False, eq=False)
class Nccl(Checked):
    """PyTorch's process group over NCCL.

    Example:
        estimator = PyTorch("src", entry_script="train.py", compute_target="local", distributed_training=Nccl())
    """


BACKENDS: Dict[str, Type[Checked]] = {"mpi": Mpi, "ps": ParameterServer, "gloo": Gloo, "nccl": Nccl}
EQUIVALENT: Dict[type, type] = {MpiConfiguration: Mpi, TensorflowConfiguration: ParameterServer}
"""The classes that later versions passed as `distributed_training`, and their equivalents here."""


def distributed_job(
    training: Any,
    backend: Optional[str],
    allowed: Sequence[str],
    node_count: int,
    processes: int,
    workers: Tuple[int, int] = (1, 1),
) -> Optional[DistributedJob]:
    """Return the job for `distributed_training=training` or `distributed_backend=backend`; None if neither is set.

    `processes` is process_count_per_node, `workers` is (worker_count, parameter_server_count). They apply where the
    object itself does not set a number.
    """
    if training is not None and backend is not None:
        raise TrainingException(
            "both distributed_training and distributed_backend were given", hint="pass only distributed_training"
        )
    kind = _kind(training, backend, allowed)
    if kind is None:
        counts = {"node_count": node_count, "process_count_per_node": processes, "worker_count": workers[0]}
        several = [f"{name} is {count}" for name, count in counts.items() if count != 1]
        if several:
            raise TrainingException(
                f"{' and '.join(several)}, but no distribution is set",
                hint=f"set distributed_training, e.g. distributed_training={BACKENDS[allowed[0]].__name__}()",
            )
        return None
    if kind is Mpi:
        processes = _own(training, "process_count_per_node", processes)
        node_count = _own(training, "node_count", node_count)
        check_counts(process_count_per_node=processes, node_count=node_count)
        return MpiConfiguration(processes, node_count)
    if kind is ParameterServer:
        tasks = _own(training, "worker_count", workers[0]), _own(training, "parameter_server_count", workers[1])
        check_counts(worker_count=tasks[0])
        check_counts(0, parameter_server_count=tasks[1])
        return TensorflowConfiguration(*tasks)
    return PyTorchConfiguration(kind.__name__, node_count * processes, node_count)


def check_counts(least: int = 1, **counts: Any) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise TrainingException(f"{name} is {count!r}", hint=f"use a whole number of at least {least}")


def _own(training: Any, name: str, otherwise: int) -> int:
    """Return the object's own number, or if that is 1, the estimator's."""
    own = getattr(training, name, 1)
    return own if own != 1 else otherwise


def _kind(training: Any, backend: Optional[str], allowed: Sequence[str]) -> Optional[type]:
    if backend is not None:
        if str(backend).lower() not in allowed:
            raise TrainingException(
                f"distributed_backend is {backend!r}", hint=f"use one of {', '.join(map(repr, allowed))}"
            )
        return BACKENDS[str(backend).lower()]
    if training is None:
        return None
    if isinstance(training, ParallelTaskConfiguration):
        raise TrainingException("Footplate has no parallel tasks", hint="use MpiConfiguration")
    own: type = training.__class__
    kind = EQUIVALENT.get(own, own)
    classes = [BACKENDS[name] for name in allowed]
    if kind not in classes:
        names = [each.__name__ for each in classes]
        names += [later.__name__ for later, earlier in EQUIVALENT.items() if earlier in classes]
        raise TrainingException(f"distributed_training is {training!r}", hint=f"use one of {', '.join(names)}")
    return kind
