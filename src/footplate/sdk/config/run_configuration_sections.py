"""The parts of a run configuration that users edit. An attribute that does not exist cannot be set."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from footplate.sdk.config.checked_attributes import Checked
from footplate.sdk.exceptions import RunConfigurationException

BACKENDS = ("nccl", "gloo")


class MpiConfiguration(Checked):
    """Processes started by MPI, `process_count_per_node` on each node."""

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        self.process_count_per_node = process_count_per_node
        self.node_count = node_count
        self._seal()


class TensorflowConfiguration(Checked):
    """One node per worker: the run's node count becomes `worker_count`.

    `chief` is Footplate's own: one more task, of type "chief", for strategies in which workers and parameter servers
    only serve it (TensorFlow 2's ParameterServerStrategy). The run ends when the chief ends.
    """

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1, chief: bool = False) -> None:
        self.worker_count = worker_count
        self.parameter_server_count = parameter_server_count
        self.chief = chief
        self._seal()


class PyTorchConfiguration(Checked):
    """Processes of torch.distributed; `process_count` is the total over all nodes, None means one per node."""

    def __init__(
        self, communication_backend: str = "Nccl", process_count: Optional[int] = None, node_count: int = 1
    ) -> None:
        if str(communication_backend).lower() not in BACKENDS:
            raise RunConfigurationException(
                f"communication_backend is {communication_backend!r}", hint="use 'Nccl' or 'Gloo'"
            )
        self.communication_backend = communication_backend
        self.process_count = process_count
        self.node_count = node_count
        self._seal()


class ParallelTaskConfiguration(Checked):
    """Stored with the run. Footplate has no parallel tasks."""

    def __init__(
        self,
        max_retries_per_worker: int = 0,
        worker_count_per_node: int = 1,
        terminal_exit_codes: Optional[List[int]] = None,
    ) -> None:
        self.max_retries_per_worker = max_retries_per_worker
        self.worker_count_per_node = worker_count_per_node
        self.terminal_exit_codes = terminal_exit_codes
        self._seal()


class DockerConfiguration(Checked):
    """Whether the run uses a container, and how that is started. Takes precedence over the environment's own
    section."""

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


class DataReferenceConfiguration(Checked):
    """A directory or file of a datastore, and how a run gets it: the result of `DataReference.to_config`."""

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


class ApplicationEndpointConfiguration(Checked):
    """Stored with the run. Footplate does not open endpoints into a run."""

    def __init__(
        self, type: Optional[str] = None, port: Optional[int] = None, properties: Optional[Dict[str, str]] = None
    ) -> None:
        self.type = type
        self.port = port
        self.properties = dict(properties or {})
        self._seal()


class HistoryConfiguration(Checked):
    """The parts of a run that are stored: `./outputs` (`output_collection`), the source directory, and directories that
    are uploaded as they grow."""

    def __init__(self) -> None:
        self.output_collection = True
        self.snapshot_project = True
        self.directories_to_watch: List[str] = ["logs"]
        self._seal()


class AmlComputeConfiguration(Checked):
    """A machine size. Footplate's machines are your own, so this is only stored with the run."""

    def __init__(self) -> None:
        self.vm_size: Optional[str] = None
        self.vm_priority: Optional[str] = None
        self._seal()


class KubernetesComputeConfiguration(Checked):
    """An instance type, only stored with the run."""

    def __init__(self) -> None:
        self.instance_type: Optional[str] = None
        self._seal()


class SparkConfiguration(Checked):
    """Stored with the run. Footplate does not run Spark."""

    def __init__(self) -> None:
        self.configuration: Dict[str, Any] = {
            "spark.app.name": "Azure ML Experiment",
            "spark.yarn.maxAppAttempts": 1,
        }
        self._seal()


class HdiConfiguration(Checked):
    """Stored with the run. Footplate does not run anything on HDInsight."""

    def __init__(self) -> None:
        self.yarn_deploy_mode = "cluster"
        self._seal()
