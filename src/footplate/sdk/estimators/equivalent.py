"""An estimator as Python code that creates the equivalent ScriptRunConfig, ready to paste."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, Optional, Tuple, cast

from footplate.sdk.config.run_configuration import DEFAULT_MAX_SECONDS, target_name
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataPath, DataReference
from footplate.sdk.environments.conda_dependencies import DEFAULT_PIP_PACKAGES, CondaDependencies, package_name
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.sections import DockerSection
from footplate.sdk.estimators.inputs import values
from footplate.sdk.values.checked_attributes import Checked, public_attributes
from footplate.sdk.values.run_configuration_sections import TensorflowConfiguration

if TYPE_CHECKING:
    from footplate.sdk.estimators.estimator import Estimator

_MODULES = {
    "azureml.core": ("Dataset", "Datastore", "Environment", "ScriptRunConfig", "Workspace"),
    "azureml.core.runconfig": ("MpiConfiguration", "PyTorchConfiguration", "TensorflowConfiguration"),
    "azureml.data.datapath": ("DataPath",),
}
_WIDTH = 100


def equivalent(estimator: Estimator, script_params: Mapping[str, Any]) -> str:
    lines = [*_environment(estimator), "", *_config(estimator, script_params), *_settings(estimator)]
    return "\n".join(["    " + line if line else "" for line in [*_names(lines), "", *lines]])


def _names(lines: List[str]) -> Iterator[str]:
    """Return the lines above the code: imports of the names in it, and the workspace."""
    used = {node.id for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Name)}
    used |= {"Workspace"} if "workspace" in used else set()
    for module, names in _MODULES.items():
        imported = [name for name in names if name in used]
        if imported:
            yield f"from {module} import {', '.join(imported)}"
    if "workspace" in used:
        yield ""
        yield "workspace = Workspace.from_config()"


# ── the environment ──


def _environment(estimator: Estimator) -> Iterator[str]:
    environment = estimator.run_config.environment
    definition = estimator.environment_definition
    file = estimator.conda_file
    if definition is not None:
        code = "environment_definition  # the one that was passed to the estimator"
        if definition.version is not None:
            code = f"Environment.get(workspace, {definition.name!r}, version={definition.version!r})"
        yield f"environment = {code}"
    elif file is not None:
        yield f"environment = Environment.from_conda_specification({environment.name!r}, {file!r})"
    else:
        curated = estimator.curated_environment
        begin = f"Environment({environment.name!r})"
        if curated is not None:
            begin = f"Environment.get(workspace, {curated!r}).clone({environment.name!r})"
        yield f"environment = {begin}"
        yield from _packages(environment.python.conda_dependencies)
    plain = definition if definition is not None else Environment(environment.name)
    if environment.python.user_managed_dependencies and not plain.python.user_managed_dependencies:
        yield "environment.python.user_managed_dependencies = True"
    yield from _docker(plain.docker, environment.docker)
    for name, value in environment.environment_variables.items():
        if plain.environment_variables.get(name) != value:
            yield f"environment.environment_variables[{name!r}] = {value!r}"


def _packages(packages: CondaDependencies) -> Iterator[str]:
    for package in packages.conda_packages:
        if package_name(package) != "python":
            yield f"environment.python.conda_dependencies.add_conda_package({package!r})"
    for option in packages.pip_options:
        yield f"environment.python.conda_dependencies.set_pip_option({option!r})"
    for package in packages.pip_packages:
        if package not in DEFAULT_PIP_PACKAGES:
            yield f"environment.python.conda_dependencies.add_pip_package({package!r})"


def _docker(plain: DockerSection, docker: DockerSection) -> Iterator[str]:
    for name in ("enabled", "base_image", "shm_size"):
        if getattr(docker, name) != getattr(plain, name):
            yield f"environment.docker.{name} = {getattr(docker, name)!r}"
    for name in ("address", "username"):
        if getattr(docker.base_image_registry, name) != getattr(plain.base_image_registry, name):
            yield f"environment.docker.base_image_registry.{name} = {getattr(docker.base_image_registry, name)!r}"
    if docker.base_image_registry.password != plain.base_image_registry.password:
        yield "environment.docker.base_image_registry.password = PASSWORD  # not shown here"


# ── the run ──


def _config(estimator: Estimator, script_params: Mapping[str, Any]) -> Iterator[str]:
    config = estimator.run_config
    yield "config = ScriptRunConfig("
    yield f"    source_directory={estimator.source_directory!r},"
    yield f"    script={config.script!r},"
    yield from _arguments(script_params)
    yield f"    compute_target={target_name(config.target)!r},"
    yield "    environment=environment,"
    if estimator.distributed_job is not None:
        yield f"    distributed_job_config={_call(estimator.distributed_job)},"
    if estimator.resume_from is not None:
        yield f"    resume_from={_value(estimator.resume_from, 'resume_from')},"
    if config.max_run_duration_seconds != DEFAULT_MAX_SECONDS:
        yield f"    max_run_duration_seconds={config.max_run_duration_seconds},"
    yield ")"


def _arguments(script_params: Mapping[str, Any]) -> Iterator[str]:
    pairs = [
        ", ".join([repr(name), *(_value(one, f"script_params[{name!r}]") for one in values(value))])
        for name, value in script_params.items()
    ]
    line = f"    arguments=[{', '.join(pairs)}],"
    if len(line) <= _WIDTH:
        yield from [line] if pairs else []
    else:
        yield from ["    arguments=[", *(f"        {words}," for words in pairs), "    ],"]


def _settings(estimator: Estimator) -> Iterator[str]:
    """Return the lines for settings that only the run configuration has."""
    config, job = estimator.run_config, estimator.distributed_job
    for number, one in enumerate(estimator.inputs):
        code = _value(one, f"inputs[{number}]")
        if isinstance(one, DatasetConsumptionConfig):
            yield f"config.run_config.data[{one.name!r}] = {code}"
        else:
            name = one.as_mount().data_reference_name
            yield f"config.run_config.data_references[{name!r}] = {code}.to_config()"
    if isinstance(job, TensorflowConfiguration) and config.node_count != job.worker_count:
        yield f"config.run_config.node_count = {config.node_count}"
    for name, value in public_attributes(config.amlcompute).items():
        if value is not None:
            yield f"config.run_config.amlcompute.{name} = {value!r}"
    if config.source_directory_data_store is not None:
        yield f"config.run_config.source_directory_data_store = {config.source_directory_data_store!r}"
    if config.needs_gpus:
        yield "config.run_config.needs_gpus = True"


def _call(job: Checked) -> str:
    options = {name: value for name, value in public_attributes(job).items() if value is not False}
    return f"{type(job).__name__}({', '.join(f'{name}={value!r}' for name, value in options.items())})"


# ── data ──


def _value(value: Any, otherwise: str) -> str:
    """Return the value as Python code; `otherwise` is the name of the variable in the script."""
    if isinstance(value, AbstractDatastore):
        value = value.as_mount()
    if isinstance(value, DataReference):
        is_whole = value.path_on_datastore is None and value.data_reference_name == value.datastore.name
        plain = is_whole and value.overwrite is False
        path = "" if plain else f".path({value.path_on_datastore!r}, {value.data_reference_name!r})"
        return f"{_datastore(value.datastore.name)}{path}{_mode(value)}"
    if isinstance(value, DataPath) and value.datastore is not None:
        return f"DataPath({_datastore(value.datastore_name)}, {value.path_on_datastore!r})"
    if isinstance(value, DatasetConsumptionConfig):
        dataset = _dataset(value.dataset)
        return otherwise if dataset is None else f"{dataset}.as_named_input({value.name!r}){_mode(value)}"
    return repr(value) if isinstance(value, (str, int, float)) else otherwise


def _datastore(name: Optional[str]) -> str:
    return f"Datastore.get(workspace, {name!r})"


def _dataset(dataset: Any) -> Optional[str]:
    """Return the code that looks a registered dataset up; None for an unregistered one."""
    if isinstance(dataset, tuple):
        _, *words = cast("Tuple[Any, ...]", dataset)
        return f"Dataset.get_by_name({', '.join(['workspace', *map(repr, words)])})"
    if getattr(dataset, "name", None) is None:
        return None
    return f"Dataset.get_by_name(workspace, {dataset.name!r}, version={dataset.version!r})"


def _mode(data: Any) -> str:
    options = {"path_on_compute": data.path_on_compute, "overwrite": getattr(data, "overwrite", None)}
    return f".as_{data.mode}({', '.join(f'{name}={value!r}' for name, value in options.items() if value)})"
