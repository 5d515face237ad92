"""Estimator: its parameters, and its submission as a ScriptRunConfig."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from footplate.domain.records import RunView
from footplate.domain.targets import LOCAL
from footplate.sdk.config.run_configuration import DEFAULT_MAX_SECONDS, RunConfiguration, distribute, target_name
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.environments.conda_dependencies import CondaDependencies, list_of_strings
from footplate.sdk.environments.environment import Environment
from footplate.sdk.estimators import environment as environments
from footplate.sdk.estimators.distribution import check_counts, distributed_job
from footplate.sdk.estimators.equivalent import equivalent
from footplate.sdk.estimators.inputs import add_inputs, arguments, check_inputs
from footplate.sdk.exceptions import TrainingException
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.submission import submit_script
from footplate.sdk.values.checked_attributes import nearest
from footplate.sdk.values.run_configuration_sections import VM_SIZE_TARGET, TensorflowConfiguration
from footplate.sdk.values.warn import warn_caller
from footplate.sdk.values.wrong_types import explained


@explained
class Estimator:
    """A training script with its parameters, packages and distribution, for `experiment.submit`.

    It is deprecated in Azure's SDK; the warning of the constructor shows the equivalent ScriptRunConfig.
    `run_config` can be edited until submission. Arguments after `source_directory` are keyword-only.

    Args:
        source_directory: The directory that is copied to the run.
        compute_target: A cluster, its name, or `local`.
        vm_size: A VM size of Azure, in place of a target.
        vm_priority: `dedicated` or `lowpriority`.
        entry_script: The script, relative to `source_directory`.
        script_params: Arguments of the script as a dict: `{"--lr": 0.1}`. The value of a flag is empty.
        node_count: The number of nodes.
        process_count_per_node: Processes on each node.
        distributed_backend: `mpi`, `ps`, `gloo` or `nccl`; the older form of `distributed_training`.
        distributed_training: An Mpi, ParameterServer, Gloo or Nccl.
        use_gpu: Whether the run needs GPUs.
        use_docker: Whether to use a container if an image is given.
        custom_docker_base_image: The older name of `custom_docker_image`.
        custom_docker_image: The image of the container.
        image_registry_details: The registry of the image.
        user_managed: Whether to use an existing Python as it is.
        conda_packages: Packages for conda.
        pip_packages: Packages for pip.
        conda_dependencies_file_path: The older name of `conda_dependencies_file`.
        pip_requirements_file_path: The older name of `pip_requirements_file`.
        conda_dependencies_file: A conda file, relative to `source_directory`.
        pip_requirements_file: A requirements file, relative to `source_directory`.
        environment_variables: Environment variables of the script.
        environment_definition: A whole environment, in place of packages.
        inputs: Datasets and data references of the run.
        source_directory_data_store: No effect; a warning says so.
        shm_size: The size of `/dev/shm` in the container.
        resume_from: The outputs of an earlier run, as a DataPath.
        max_run_duration_seconds: The time after which the run is canceled.

    Raises:
        TrainingException: A value is not valid, or two arguments contradict each other.
        TypeError: An argument is unknown.

    Example:
        estimator = Estimator(
            "src", entry_script="train.py", script_params={"--lr": 0.1}, compute_target="local", user_managed=True
        )
        print(list(estimator.conda_dependencies.pip_packages), estimator.whole_environment(ws).name)
        experiment.submit(estimator).wait_for_completion()
    """

    _backends: Tuple[str, ...] = ("mpi",)  # values of distributed_backend
    _distributions: Tuple[str, ...] = ("mpi", "ps", "gloo", "nccl")  # types of distributed_training

    def __init__(
        self,
        source_directory: str,
        *,
        compute_target: Any = None,
        vm_size: Optional[str] = None,
        vm_priority: Optional[str] = None,
        entry_script: Optional[str] = None,
        script_params: Optional[Mapping[str, Any]] = None,
        node_count: int = 1,
        process_count_per_node: int = 1,
        distributed_backend: Optional[str] = None,
        distributed_training: Any = None,
        use_gpu: bool = False,
        use_docker: bool = True,
        custom_docker_base_image: Optional[str] = None,
        custom_docker_image: Optional[str] = None,
        image_registry_details: Any = None,
        user_managed: bool = False,
        conda_packages: Optional[Sequence[str]] = None,
        pip_packages: Optional[Sequence[str]] = None,
        conda_dependencies_file_path: Optional[str] = None,
        pip_requirements_file_path: Optional[str] = None,
        conda_dependencies_file: Optional[str] = None,
        pip_requirements_file: Optional[str] = None,
        environment_variables: Optional[Mapping[str, Any]] = None,
        environment_definition: Optional[Environment] = None,
        inputs: Optional[Sequence[Any]] = None,
        source_directory_data_store: Union[AbstractDatastore, str, None] = None,
        shm_size: Optional[str] = None,
        resume_from: Any = None,
        max_run_duration_seconds: Optional[float] = None,
        **options: Any,
    ) -> None:
        workers = self._own_options(options)
        if entry_script and not isinstance(entry_script, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TrainingException(f"entry_script is {entry_script!r}", hint="pass a string: entry_script='train.py'")
        check_counts(node_count=node_count, process_count_per_node=process_count_per_node)
        self.source_directory = source_directory
        self.inputs = check_inputs(inputs or ())
        self.resume_from = resume_from
        config = self.run_config = RunConfiguration(entry_script, arguments(script_params or {}))
        config.target = _target(compute_target, vm_size, node_count)
        config.amlcompute.vm_size, config.amlcompute.vm_priority = vm_size, vm_priority
        config.max_run_duration_seconds = _max_seconds(max_run_duration_seconds)
        config.source_directory_data_store = _datastore_name(source_directory_data_store)
        conda_file = _one_of(
            conda_dependencies_file=conda_dependencies_file, conda_dependencies_file_path=conda_dependencies_file_path
        )
        pip_file = _one_of(
            pip_requirements_file=pip_requirements_file, pip_requirements_file_path=pip_requirements_file_path
        )
        self.environment_definition = environment_definition
        self.conda_file = None if conda_file is None else environments.inside(source_directory, conda_file)
        brings_all = environment_definition is not None or user_managed or conda_file is not None
        self.curated_environment = None if brings_all else self._curated_name(use_gpu)
        config.environment = environments.make(
            source_directory,
            f"{type(self).__name__.lower()}-estimator",
            environments.Packages(
                list_of_strings("conda_packages", conda_packages or ()),
                list_of_strings("pip_packages", pip_packages or ()),
                conda_file,
                pip_file,
            ),
            use_gpu=use_gpu,
            definition=environment_definition,
            user_managed=user_managed,
            image=_one_of(custom_docker_image=custom_docker_image, custom_docker_base_image=custom_docker_base_image),
            registry=image_registry_details,
            use_docker=use_docker,
            shm_size=shm_size,
            variables=environment_variables,
        )
        self._described = config.environment
        config.needs_gpus = use_gpu
        self._distribute(node_count, process_count_per_node, distributed_backend, distributed_training, workers)
        code = equivalent(self, script_params or {})
        text = f"{type(self).__name__} is deprecated. The equivalent ScriptRunConfig:\n\n{code}"
        warn_caller(text, DeprecationWarning)

    _NOT_TAKEN: Tuple[str, ...] = ()  # parameters above that a subclass does not accept

    @classmethod
    def show_signature(cls) -> None:
        """Make `help` and `inspect.signature` list every parameter of this class instead of `**parameters`.

        Subclasses call it once.

        Example:
            class Mine(Estimator):
                pass


            Mine.show_signature()
        """
        own = inspect.signature(cls.__init__).parameters
        parameters = {**inspect.signature(Estimator.__init__).parameters, **own}
        cls.__signature__ = inspect.Signature(  # pyright: ignore[reportAttributeAccessIssue]  # Python's documented way
            [
                parameter
                for name, parameter in parameters.items()
                if parameter.kind is not parameter.VAR_KEYWORD and name not in ("self", *cls._NOT_TAKEN)
            ]
        )

    def _own_options(self, options: Dict[str, Any]) -> Tuple[int, int]:
        """Check options that only some classes accept; return the numbers of workers and parameter servers."""
        if options:
            parameters = {name for kind in type(self).__mro__ for name in inspect.signature(kind.__init__).parameters}
            name = min(options)
            hint = nearest(name, parameters - {"self", "options", "parameters"}) or "see help(azureml.train.estimator)"
            raise TypeError(f"{type(self).__name__} does not accept {name}\nhint: {hint}")
        return 1, 1

    def _curated_name(self, use_gpu: bool) -> Optional[str]:
        """Return the name of the curated environment that the estimator's packages are added to."""
        return None

    def _distribute(
        self, node_count: int, processes: int, backend: Optional[str], training: Any, workers: Tuple[int, int]
    ) -> None:
        allowed = self._distributions if backend is None else self._backends
        job = distributed_job(training, backend, allowed, node_count, processes, workers)
        self.distributed_job = job
        if job is not None:
            distribute(self.run_config, job)
        if isinstance(job, TensorflowConfiguration):
            # An estimator states the number of nodes for its tasks; by default each worker has one.
            self.run_config.node_count = node_count if node_count > 1 else job.worker_count

    # ── what users read and edit ──

    @property
    def conda_dependencies(self) -> CondaDependencies:
        """The packages. Add to them before submission."""
        return self.run_config.environment.python.conda_dependencies

    def whole_environment(self, workspace: Workspace) -> Environment:
        """Return the environment with the framework's packages.

        It is returned as it is if it was replaced or is managed by the user.

        Args:
            workspace: The workspace.

        Returns:
            A copy of the environment.
        """
        own = self.run_config.environment
        described = own is self._described and not own.python.user_managed_dependencies
        if self.curated_environment is None or not described:
            return copy.deepcopy(own)
        return environments.on_top_of(workspace, self.curated_environment, own)

    def __repr__(self) -> str:
        script = self.run_config.script
        return f"{type(self).__name__}(source_directory={self.source_directory!r}, entry_script={script!r})"


def script_run_config(
    workspace: Workspace,
    estimator: Estimator,
    script_params: Optional[Mapping[str, Any]] = None,
    inputs: Optional[Sequence[Any]] = None,
    source_directory_data_store: Union[AbstractDatastore, str, None] = None,
) -> ScriptRunConfig:
    """Return the equivalent ScriptRunConfig. Arguments replace the estimator's own for this call."""
    if not estimator.run_config.script:
        raise TrainingException("entry_script was not given", hint="entry_script='train.py'")
    brought = estimator.inputs if inputs is None else inputs
    config = copy.deepcopy(estimator.run_config)
    if script_params is not None:
        config.arguments = arguments(script_params)
    config.environment = estimator.whole_environment(workspace)
    if source_directory_data_store is not None:
        config.source_directory_data_store = _datastore_name(source_directory_data_store)
    add_inputs(config, brought)
    return ScriptRunConfig(estimator.source_directory, run_config=config, resume_from=estimator.resume_from)


def submit_estimator(
    experiment: Experiment, config: Estimator, tags: Mapping[str, Any], parent: Optional[str], **options: Any
) -> RunView:
    accepted = ("script_params", "inputs", "source_directory_data_store")
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        raise TrainingException(
            f"submit does not accept {', '.join(unknown)}", hint=f"an estimator accepts {', '.join(accepted)}"
        )
    return submit_script(experiment, script_run_config(experiment.workspace, config, **options), tags, parent)


Estimator.show_signature()


def _datastore_name(store: Any) -> Optional[str]:
    """Return the name of a datastore, given the datastore or its name."""
    return getattr(store, "name", store)


def _max_seconds(seconds: Any) -> float:
    if seconds is None:
        return DEFAULT_MAX_SECONDS
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or seconds <= 0:
        raise TrainingException(f"max_run_duration_seconds is {seconds!r}", hint="use a positive number of seconds")
    return seconds


def _target(compute_target: Any, vm_size: Optional[str], node_count: int) -> Any:
    if compute_target is None:
        if vm_size is None:
            raise TrainingException(
                "neither compute_target nor vm_size was given",
                hint="pass a compute target, or compute_target='local' for this machine",
            )
        return VM_SIZE_TARGET
    if node_count > 1 and target_name(compute_target) == LOCAL:
        raise TrainingException(
            f"node_count is {node_count}, but 'local' is one machine",
            hint="use a cluster from AmlCompute.provisioning_configuration, or node_count=1",
        )
    return compute_target


def _one_of(**names: Optional[str]) -> Optional[str]:
    """Return the value of a parameter that has two names."""
    values = {name: value for name, value in names.items() if value is not None}
    if len(values) > 1:
        raise TrainingException(f"both {' and '.join(values)} were given", hint=f"give {next(iter(names))} alone")
    return next(iter(values.values()), None)
