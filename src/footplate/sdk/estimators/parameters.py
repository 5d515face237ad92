"""The parameters shared by all estimators, for type checkers and editors."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, TypedDict

from footplate.sdk.environments.environment import Environment


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
