"""The framework estimators. Each brings the packages of its framework in the requested version."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict

from footplate.sdk.environments.environment import Environment
from footplate.sdk.estimators.estimator import Estimator
from footplate.sdk.exceptions import TrainingException
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Parameters(TypedDict, total=False):
    compute_target: Any
    vm_size: Optional[str]
    vm_priority: Optional[str]
    entry_script: Optional[str]
    script_params: Optional[Mapping[str, Any]]
    use_docker: bool
    custom_docker_base_image: Optional[str]
    custom_docker_image: Optional[str]
    image_registry_details: Any
    user_managed: bool
    conda_packages: Optional[Sequence[str]]
    pip_packages: Optional[Sequence[str]]
    conda_dependencies_file_path: Optional[str]
    pip_requirements_file_path: Optional[str]
    conda_dependencies_file: Optional[str]
    pip_requirements_file: Optional[str]
    environment_variables: Optional[Mapping[str, Any]]
    environment_definition: Optional[Environment]
    inputs: Optional[Sequence[Any]]
    source_directory_data_store: Any
    shm_size: Optional[str]
    resume_from: Any
    max_run_duration_seconds: Optional[float]


class DistributedParameters(Parameters, total=False):
    node_count: int
    process_count_per_node: int
    distributed_backend: Optional[str]
    distributed_training: Any
    use_gpu: bool


_log = logging.getLogger(__name__)


@explained
class _FrameworkEstimator(Estimator):
    """An estimator with a `framework_version`; if it is missing, a default is used and logged.

    Args:
        framework_version: The version of the framework.
    """

    _framework = ""
    _versions: Tuple[str, ...] = ()
    _default_version = ""
    _by_device = True  # whether its curated environments differ for CPU and GPU
    _workers = (1, 1)  # whether it has parameter servers

    def __init__(
        self,
        source_directory: str,
        *,
        framework_version: Optional[str] = None,
        **parameters: Unpack[DistributedParameters],
    ) -> None:
        super().__init__(source_directory, framework_version=framework_version, **parameters)

    @classmethod
    def get_supported_versions(cls) -> List[str]:
        """Return the values that `framework_version` accepts.

        Returns:
            A list of versions.

        Example:
            print(PyTorch.get_supported_versions())
        """
        return list(cls._versions)

    def _own_options(self, options: Dict[str, Any]) -> Tuple[int, int]:
        version = options.pop("framework_version", None)
        super()._own_options(options)
        self._told_version = version is not None
        version = version if self._told_version else self._default_version
        if version not in self._versions:
            raise TrainingException(
                f"framework_version is {version!r}", hint=f"use one of {', '.join(map(repr, self._versions))}"
            )
        self.framework_version: str = version
        return self._workers

    def _curated_name(self, use_gpu: bool) -> Optional[str]:
        if not self._told_version:
            _log.warning("framework_version is not set; using %s %s", self._framework, self.framework_version)
        device = f"-{'GPU' if use_gpu else 'CPU'}" if self._by_device else ""
        return f"AzureML-{self._framework}-{self.framework_version}{device}"


@explained
class TensorFlow(_FrameworkEstimator):
    """TensorFlow on one node, over MPI with Horovod, or with workers and parameter servers.

    It is deprecated in Azure's SDK; the warning of the constructor shows the equivalent ScriptRunConfig.

    Args:
        worker_count: The number of workers; the older form of `ParameterServer(worker_count=…)`.
        parameter_server_count: The number of parameter servers, likewise.
        framework_version: The version of TensorFlow; 1.13 by default.

    Raises:
        TrainingException: The version is not supported, or a value is not valid.

    Example:
        estimator = TensorFlow("src", entry_script="train.py", compute_target="local", framework_version="2.3")
    """

    _framework = "TensorFlow"
    _backends = _distributions = ("mpi", "ps")
    _versions = ("1.10", "1.12", "1.13", "2.0", "2.1", "2.2", "2.3")
    _default_version = "1.13"

    def __init__(
        self,
        source_directory: str,
        *,
        worker_count: int = 1,
        parameter_server_count: int = 1,
        framework_version: Optional[str] = None,
        **parameters: Unpack[DistributedParameters],
    ) -> None:
        self._workers = (worker_count, parameter_server_count)
        super().__init__(source_directory, framework_version=framework_version, **parameters)


class PyTorch(_FrameworkEstimator):
    """PyTorch on one node, over MPI with Horovod, or with a process group over Gloo or NCCL.

    It is deprecated in Azure's SDK; the warning of the constructor shows the equivalent ScriptRunConfig.

    Args:
        framework_version: The version of PyTorch; 1.4 by default.

    Raises:
        TrainingException: The version is not supported, or a value is not valid.

    Example:
        estimator = PyTorch("src", entry_script="train.py", compute_target="local", framework_version="1.6")
    """

    _framework = "PyTorch"
    _backends = _distributions = ("mpi", "gloo", "nccl")
    _versions = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
    _default_version = "1.4"


class Chainer(_FrameworkEstimator):
    """Chainer on one node, or over MPI with ChainerMN.

    It is deprecated in Azure's SDK; the warning of the constructor shows the equivalent ScriptRunConfig.

    Args:
        framework_version: The version of Chainer; 5.1.0 by default.

    Raises:
        TrainingException: The version is not supported, or a value is not valid.

    Example:
        estimator = Chainer("src", entry_script="train.py", compute_target="local", framework_version="7.0.0")
    """

    _framework = "Chainer"
    _backends = _distributions = ("mpi",)
    _versions = ("5.1.0", "7.0.0")
    _default_version = "5.1.0"


@explained
class SKLearn(_FrameworkEstimator):
    """scikit-learn, in one process on one node.

    It is deprecated in Azure's SDK; the warning of the constructor shows the equivalent ScriptRunConfig.

    Args:
        framework_version: The version of scikit-learn; 0.20.3.

    Raises:
        TrainingException: The version is not supported, or a value is not valid.
        TypeError: An argument about nodes, processes or GPUs was given.

    Example:
        estimator = SKLearn("src", entry_script="train.py", compute_target="local", pip_packages=["pandas"])
    """

    _framework = "Scikit-learn"
    _versions = ("0.20.3",)
    _default_version = "0.20.3"
    _by_device = False
    _NOT_TAKEN = (
        "node_count", "process_count_per_node", "distributed_backend", "distributed_training", "use_gpu",
    )  # fmt: skip

    def __init__(
        self, source_directory: str, *, framework_version: Optional[str] = None, **parameters: Unpack[Parameters]
    ) -> None:
        wrong = [name for name in self._NOT_TAKEN if name in parameters]
        if wrong:
            raise TypeError(
                f"SKLearn does not accept {', '.join(wrong)}\nhint: it runs one process; use Estimator for more"
            )
        super().__init__(source_directory, framework_version=framework_version, **parameters)


for _kind in (TensorFlow, PyTorch, Chainer, SKLearn):
    _kind.show_signature()
