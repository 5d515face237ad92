"""The parts of a run configuration that users edit. An attribute that does not exist cannot be set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from footplate.sdk.exceptions import RunConfigurationException
from footplate.sdk.values.checked_attributes import Checked
from footplate.sdk.values.wrong_types import explained

BACKENDS = ("nccl", "gloo")
VM_SIZE_TARGET = "amlcompute"
"""The target of a run that names a VM size instead of a cluster."""


@explained
@dataclass(repr=False, eq=False)
class MpiConfiguration(Checked):
    """Processes started by MPI, for Horovod and mpi4py.

    Args:
        process_count_per_node: Processes on each node.
        node_count: The number of nodes.

    Example:
        job = MpiConfiguration(process_count_per_node=2, node_count=1)
        config = ScriptRunConfig("src", "train.py", distributed_job_config=job)
    """

    process_count_per_node: int = 1
    node_count: int = 1


@explained
@dataclass(repr=False, eq=False)
class TensorflowConfiguration(Checked):
    """Workers and parameter servers of TensorFlow, one node per worker; each task finds `TF_CONFIG`.

    Args:
        worker_count: The number of workers, and of nodes.
        parameter_server_count: The number of parameter servers.
        chief: Footplate's own: one more task, of type `chief`, for strategies in which workers and
            parameter servers only serve it. The run ends when the chief ends.

    Example:
        job = TensorflowConfiguration(worker_count=2, parameter_server_count=1)
        config = ScriptRunConfig("src", "train.py", distributed_job_config=job)
    """

    worker_count: int = 1
    parameter_server_count: int = 1
    chief: bool = False


@explained
@dataclass(repr=False, eq=False)
class PyTorchConfiguration(Checked):
    """Processes of torch.distributed. Each finds its rank, the world size and the address of rank 0.

    Args:
        communication_backend: `Nccl` or `Gloo`.
        process_count: The total over all nodes; None means one per node.
        node_count: The number of nodes.

    Raises:
        RunConfigurationException: The backend is unknown.

    Example:
        job = PyTorchConfiguration("Gloo", process_count=2, node_count=1)
        config = ScriptRunConfig("src", "train.py", distributed_job_config=job)
    """

    communication_backend: str = "Nccl"
    process_count: Optional[int] = None
    node_count: int = 1

    def __post_init__(self) -> None:
        if str(self.communication_backend).lower() not in BACKENDS:
            raise RunConfigurationException(
                f"communication_backend is {self.communication_backend!r}", hint="use 'Nccl' or 'Gloo'"
            )
        super().__post_init__()


@explained
@dataclass(repr=False, eq=False)
class ParallelTaskConfiguration(Checked):
    """Stored with the run. Footplate has no parallel tasks.

    Args:
        max_retries_per_worker, worker_count_per_node, terminal_exit_codes: Stored with the run.

    Example:
        tasks = ParallelTaskConfiguration(max_retries_per_worker=1)
    """

    max_retries_per_worker: int = 0
    worker_count_per_node: int = 1
    terminal_exit_codes: Optional[List[int]] = None


@explained
class DockerConfiguration(Checked):
    """Whether the run uses a container, and how that is started. It wins over the environment's own section.

    Args:
        use_docker: Whether the run uses a container.
        shared_volumes: Stored with the run.
        arguments: Options for the start of the container.
        shm_size: The size of `/dev/shm`, such as `2g`.

    Example:
        docker = DockerConfiguration(use_docker=True, shm_size="8g")
        config = ScriptRunConfig("src", "train.py", docker_runtime_config=docker)
    """

    def __init__(
        self,
        use_docker: bool = False,
        shared_volumes: bool = True,
        arguments: Optional[Sequence[str]] = None,
        shm_size: str = "2g",
    ) -> None:
        self.use_docker = use_docker
        self.shared_volumes = shared_volumes
        self.arguments = list(arguments or ())
        self.shm_size = shm_size
        self._seal()


@explained
class DataReferenceConfiguration(Checked):
    """A directory or file of a datastore, and how a run gets it: the result of `DataReference.to_config`.

    Args:
        datastore_name: The name of the datastore.
        mode: `mount`, `download` or `upload`.
        path_on_datastore: The directory or file in the datastore.
        path_on_compute: The path on the node.
        overwrite: Whether files that exist are replaced.

    Example:
        config = RunConfiguration()
        config.data_references["images"] = DataReferenceConfiguration("workspaceblobstore", "download", "cats")
    """

    def __init__(
        self,
        datastore_name: Optional[str] = None,
        mode: str = "mount",
        path_on_datastore: Optional[str] = None,
        path_on_compute: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        self.data_store_name = datastore_name
        self.mode = mode
        self.path_on_data_store = path_on_datastore
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite
        self._seal()


@explained
class RunDataset(Checked):
    """A dataset of a run configuration, by its id or by its name; Azure calls the class `Dataset`.

    Args:
        dataset_id: The id.
        dataset_name: The name.
        dataset_version: The version; the latest one without it.

    Example:
        print(RunDataset(dataset_name="iris", dataset_version="1").name)
    """

    def __init__(
        self,
        dataset_id: Optional[str] = None,
        dataset_name: Optional[str] = None,
        dataset_version: Optional[str] = None,
    ) -> None:
        self.id = dataset_id
        self.name = dataset_name
        self.version = dataset_version
        self._seal()


@explained
@dataclass(repr=False, eq=False)
class DataLocation(Checked):
    """The place of an input in a run configuration: a dataset.

    Args:
        dataset: The dataset.

    Example:
        print(DataLocation(RunDataset(dataset_name="iris")).dataset)
    """

    dataset: Optional[RunDataset] = None


@explained
@dataclass(repr=False, eq=False)
class Data(Checked):
    """An input of a run configuration as its file describes it; scripts use `dataset.as_named_input` instead.

    Args:
        data_location: The dataset.
        create_output_directories: Accepted and ignored, because an input has none.
        mechanism: `direct`, `mount` or `download`.
        environment_variable_name: The name of the input, if it is given again.
        path_on_compute: The path on the node.
        overwrite: Accepted and ignored: a download replaces files of its directory.

    Example:
        config = RunConfiguration()
        config.data["iris"] = Data(DataLocation(RunDataset(dataset_name="iris")), mechanism="mount")
    """

    data_location: Optional[DataLocation] = None
    create_output_directories: bool = False
    mechanism: Optional[str] = None
    environment_variable_name: Optional[str] = None
    path_on_compute: Optional[str] = None
    overwrite: bool = False


@explained
class ApplicationEndpointConfiguration(Checked):
    """Stored with the run. Footplate does not open endpoints into a run.

    Args:
        type, port, properties: Stored with the run.

    Example:
        config = RunConfiguration()
        config.services["jupyter"] = ApplicationEndpointConfiguration("JupyterLab", 8888)
    """

    def __init__(
        self, type: Optional[str] = None, port: Optional[int] = None, properties: Optional[Dict[str, str]] = None
    ) -> None:
        self.type = type
        self.port = port
        self.properties = dict(properties or {})
        self._seal()


class HistoryConfiguration(Checked):
    """The parts of a run that are stored.

    `output_collection` keeps `./outputs`, `snapshot_project` the source directory, and the directories in
    `directories_to_watch` are uploaded as they grow.

    Example:
        config = RunConfiguration()
        config.history.directories_to_watch.append("tensorboard")
    """

    def __init__(self) -> None:
        self.output_collection = True
        self.snapshot_project = True
        self.directories_to_watch: List[str] = ["logs"]
        self._seal()


class AmlComputeConfiguration(Checked):
    """A machine size, `vm_size` and `vm_priority`: a run without a cluster gets the resources of that size.

    Example:
        config = RunConfiguration()
        config.amlcompute.vm_size = "STANDARD_D2_V2"
    """

    def __init__(self) -> None:
        self.vm_size: Optional[str] = None
        self.vm_priority: Optional[str] = None
        self._seal()


class KubernetesComputeConfiguration(Checked):
    """An `instance_type`, only stored with the run.

    Example:
        config = RunConfiguration()
        config.kubernetescompute.instance_type = "large"
    """

    def __init__(self) -> None:
        self.instance_type: Optional[str] = None
        self._seal()


class SparkConfiguration(Checked):
    """Stored with the run. Footplate does not run Spark.

    Example:
        config = RunConfiguration()
        config.spark.configuration["spark.app.name"] = "demo"
    """

    def __init__(self) -> None:
        self.configuration: Dict[str, Any] = {
            "spark.app.name": "Azure ML Experiment",
            "spark.yarn.maxAppAttempts": 1,
        }
        self._seal()


class HdiConfiguration(Checked):
    """Stored with the run. Footplate does not run anything on HDInsight.

    Example:
        config = RunConfiguration()
        config.hdi.yarn_deploy_mode = "client"
    """

    def __init__(self) -> None:
        self.yarn_deploy_mode = "cluster"
        self._seal()
