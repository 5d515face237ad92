"""How a script runs: target, environment, distribution. Users edit it before they submit."""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, List, Optional, Sequence, Union

from footplate.domain.specs import Distribution, RestartPolicy
from footplate.domain.targets import LOCAL
from footplate.sdk.config import run_configuration_file
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.definition import definition
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.spec import DEFAULT_NAME
from footplate.sdk.exceptions import RunConfigurationException
from footplate.sdk.values.checked_attributes import Checked, to_camel
from footplate.sdk.values.run_configuration_sections import (
    BACKENDS,
    AmlComputeConfiguration,
    DockerConfiguration,
    HdiConfiguration,
    HistoryConfiguration,
    KubernetesComputeConfiguration,
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    SparkConfiguration,
    TensorflowConfiguration,
)
from footplate.sdk.values.wrong_types import explained

DEFAULT_MAX_SECONDS = 2592000
"""Thirty days, as in Azure."""

FRAMEWORKS = ("Python", "PySpark", "CNTK", "TensorFlow", "PyTorch")
MPI = ("openmpi", "intelmpi", "mpi")


DistributedJob = Union[MpiConfiguration, TensorflowConfiguration, PyTorchConfiguration]


@explained
class RunConfiguration(Checked):
    """Everything about a run except its source directory. An attribute that does not exist cannot be set.

    Attributes beside Azure's: `gpus` and `gpus_per_process` reserve GPUs, `max_attempts`, `restart`,
    `restart_causes` and `restart_backoff_seconds` control automatic restarts, `warning_signal` names a
    signal, such as `"SIGUSR1"`, that the script gets before a time limit ends it (`warning_seconds` before
    `max_run_duration_seconds`), `engine_options` overrides options of the compute target's engine, such
    as the partition of a Slurm cluster, and `notify` sends a message when the run ends.

    Args:
        script: The script, relative to the source directory.
        arguments: Its arguments: a list, or a string that is split as a shell does.
        framework: `Python`, `PyTorch`, `TensorFlow`, `CNTK` or `PySpark`.
        communicator: `None`, `ParameterServer`, `OpenMpi`, `IntelMpi`, `Nccl` or `Gloo`.
        conda_dependencies: The packages of the environment.
        command: A command line instead of a script.

    Example:
        config = RunConfiguration(conda_dependencies=CondaDependencies.create(pip_packages=["numpy"]))
        config.target, config.max_attempts = "local", 2
        config.environment_variables["LOG_LEVEL"] = "debug"
        config.save(path="project", name="baseline")
        print(RunConfiguration.load("project", "baseline").max_attempts)
        RunConfiguration.delete("project", "baseline")
    """

    def __init__(
        self,
        script: Optional[str] = None,
        arguments: Union[str, Sequence[Any], None] = None,
        framework: Optional[str] = None,
        communicator: Optional[str] = None,
        conda_dependencies: Optional[CondaDependencies] = None,
        _history_enabled: Optional[bool] = None,
        _path: Optional[str] = None,
        _name: Optional[str] = None,
        command: Union[str, Sequence[Any], None] = None,
    ) -> None:
        self.script = script
        self.arguments: Union[str, List[Any]] = arguments if isinstance(arguments, str) else list(arguments or ())
        self.command = command
        self.target: Any = LOCAL
        self.framework = framework or "Python"
        self.communicator = communicator or "None"
        self.max_run_duration_seconds: Optional[float] = None
        self.node_count = 1
        self.priority: Optional[int] = None
        self.gpus: Optional[int] = None  # Footplate's own: GPUs reserved for each node
        self.gpus_per_process: Optional[int] = None  # Footplate's own: GPUs reserved for each process
        self.needs_gpus = False  # Footplate's own: as many nodes as the processes need
        self.warning_signal: Optional[str] = None  # Footplate's own: for the script, before a time limit ends it
        self.warning_seconds: Optional[float] = None  # Footplate's own: how long before max_run_duration_seconds
        self.max_attempts: Optional[int] = 1  # Footplate's own: attempts in all; None: no limit
        self.restart = "on_failure"  # Footplate's own: never, on_failure (for `restart_causes`) or always
        self.restart_causes: List[str] = list(RestartPolicy.causes)  # Footplate's own: of `domain.specs.RESTART_CAUSES`
        self.restart_backoff_seconds = 0.0  # Footplate's own: the first pause before another attempt; it doubles
        self.notify = False  # Footplate's own: send a message when the run ends, as settings.ini configures it
        self.engine_options: Dict[str, Any] = {}  # Footplate's own: options of the target's engine, for this run
        self.environment = Environment(DEFAULT_NAME)
        if conda_dependencies is not None:
            self.environment.python.conda_dependencies = conda_dependencies
        self.environment_variables: Dict[str, str] = {}
        self.history = HistoryConfiguration()
        self.docker = DockerConfiguration()
        self.mpi = MpiConfiguration()
        self.tensorflow = TensorflowConfiguration()
        self.pytorch = PyTorchConfiguration()
        self.paralleltask = ParallelTaskConfiguration()
        self.spark = SparkConfiguration()
        self.hdi = HdiConfiguration()
        self.amlcompute = AmlComputeConfiguration()
        self.kubernetescompute = KubernetesComputeConfiguration()
        self.services: Dict[str, Any] = {}
        self.data_references: Dict[str, Any] = {}
        self.data: Dict[str, Any] = {}
        self.datacaches: List[Any] = []
        self.output_data: Dict[str, Any] = {}
        self.source_directory_data_store: Optional[str] = None
        self.credential_passthrough = False
        self.auto_prepare_environment = True
        self._path, self._name = _path, _name
        self._seal()

    def __str__(self) -> str:
        return json.dumps(run_definition(self), indent=4, sort_keys=True, default=str)

    def save(
        self, path: Optional[str] = None, name: Optional[str] = None, separate_environment_yaml: bool = False
    ) -> None:
        """Write `<path>/.azureml/<name>.runconfig`, and conda_dependencies.yml beside it.

        Args:
            path: The directory; by default the one that the configuration was loaded from.
            name: The name; by default the one that it was loaded with.
            separate_environment_yaml: Whether to write environment.yml as well.

        Raises:
            UserErrorException: No name is known.
        """
        self._path, self._name = path or self._path or ".", name or self._name
        run_configuration_file.save(self, self._path, self._name, separate_environment_yaml)

    @staticmethod
    def load(path: str, name: Optional[str] = None) -> RunConfiguration:
        """Load a configuration from a file.

        Args:
            path: The directory that holds `.azureml`; without a name, the file itself.
            name: The name of the configuration.

        Returns:
            The configuration.

        Raises:
            UserErrorException: The file does not exist or is not valid.
        """
        config = RunConfiguration()
        config._path, config._name = run_configuration_file.load(config, path, name)
        return config

    @staticmethod
    def delete(path: str, name: str) -> None:
        """Remove `<path>/.azureml/<name>.runconfig`.

        Args:
            path: The directory that holds `.azureml`.
            name: The name of the configuration.

        Raises:
            UserErrorException: There is no such configuration.
        """
        run_configuration_file.delete(path, name)


def distribute(run_config: RunConfiguration, job: Any) -> None:
    """Set framework, communicator and node count as the distributed job needs them."""
    if isinstance(job, MpiConfiguration):
        run_config.framework, run_config.communicator = "Python", "IntelMpi"
        run_config.mpi = job
        run_config.node_count = job.node_count
    elif isinstance(job, TensorflowConfiguration):
        run_config.framework, run_config.communicator = "TensorFlow", "ParameterServer"
        run_config.tensorflow = job
        run_config.node_count = job.worker_count
    elif isinstance(job, PyTorchConfiguration):
        run_config.framework = "PyTorch"
        run_config.communicator = job.communication_backend.lower()
        run_config.pytorch = job
        run_config.node_count = job.node_count
    else:
        raise RunConfigurationException(
            f"distributed_job_config is {job!r}",
            hint="use MpiConfiguration, TensorflowConfiguration or PyTorchConfiguration",
        )


def distribution(run_config: RunConfiguration) -> Distribution:
    """Return the processes and nodes that the configuration requests, however it was written."""
    if str(run_config.framework).lower() not in map(str.lower, FRAMEWORKS):
        raise RunConfigurationException(
            f"framework is {run_config.framework!r}", hint=f"use one of {', '.join(FRAMEWORKS)}"
        )
    communicator = str(run_config.communicator).lower()
    nodes = run_config.node_count
    if communicator != "parameterserver":
        _check_count("node_count", nodes)
    if communicator in MPI:
        _check_count("process_count_per_node", run_config.mpi.process_count_per_node)
        return Distribution("mpi", nodes, processes_per_node=run_config.mpi.process_count_per_node)
    if communicator == "parameterserver":
        tensorflow = run_config.tensorflow
        _check_count("worker_count", tensorflow.worker_count)
        _check_count("parameter_server_count", tensorflow.parameter_server_count, 0)
        _check_count("node_count", nodes)
        return Distribution(
            "tensorflow",
            nodes,
            worker_count=tensorflow.worker_count,
            parameter_server_count=tensorflow.parameter_server_count,
            chief=tensorflow.chief,
        )
    if communicator in BACKENDS:
        if run_config.pytorch.process_count is not None:
            _check_count("process_count", run_config.pytorch.process_count)
        return Distribution("torch", nodes, run_config.pytorch.process_count, backend=communicator)
    if communicator == "none":
        return Distribution("none", nodes)
    raise RunConfigurationException(
        f"communicator is {run_config.communicator!r}",
        hint="use None, ParameterServer, OpenMpi, IntelMpi, Nccl or Gloo",
    )


def _check_count(name: str, count: Any, least: int = 1) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise RunConfigurationException(f"{name} is {count!r}", hint=f"give a whole number of at least {least}")


def target_name(target: Any) -> str:
    """Return the name of a compute target that is given as an object or by name."""
    name = getattr(target, "name", target)
    if isinstance(target, Checked) or not isinstance(name, (str, type(None))):
        raise RunConfigurationException(
            f"the compute target has the type {type(target).__name__}", hint="give a cluster, its name, or 'local'"
        )
    return name or LOCAL


_RENAMED = {"amlcompute": "amlCompute", "pytorch": "pyTorch"}


def run_definition(run_config: RunConfiguration) -> Dict[str, Any]:
    """Return the configuration in camelCase, as `get_details()['runDefinition']` shows it."""
    data: Dict[str, Any] = to_camel(copy.deepcopy(run_config))
    data["target"] = target_name(run_config.target)
    data["environment"] = definition(run_config.environment)
    data["environmentVariables"] = {str(k): str(v) for k, v in run_config.environment_variables.items()}
    return {_RENAMED.get(key, key): value for key, value in data.items()}
