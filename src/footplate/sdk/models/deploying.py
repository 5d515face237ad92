"""From models, code and a configuration to the request that deploys them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import uuid
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple, cast

from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.serving.endpoints import EndpointView, Replicas, VersionSpec
from footplate.domain.serving.frameworks import MODULES, codeless_framework, packages_for
from footplate.domain.specs import EnvironmentSpec
from footplate.domain.targets import LOCAL
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.spec import DEFAULT_NAME, to_spec
from footplate.sdk.environments.unused import unused_settings
from footplate.sdk.exceptions import Kinds, UserErrorException, WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models.deployment_configuration import (
    AciServiceDeploymentConfiguration,
    AksEndpointDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
)
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.registered_model import RegisteredModel as Model
from footplate.sdk.models.registration import KINDS
from footplate.sdk.runs import snapshots
from footplate.sdk.session import user_name
from footplate.sdk.values.labels import texts
from footplate.sdk.values.warn import warn_without_effect

_NO_CODE: Kinds = dict(KINDS, invalid=UserErrorException)


def deploy(
    workspace: Workspace,
    name: str,
    models: Sequence[Model],
    inference_config: Optional[InferenceConfig],
    deployment_config: Optional[WebserviceDeploymentConfiguration],
    overwrite: bool,
    deployment_target: Any = None,
) -> EndpointView:
    """Send the request, and set the keys that the configuration chooses. A target means AKS by default, as on Azure."""
    default = AciServiceDeploymentConfiguration if deployment_target is None else AksServiceDeploymentConfiguration
    config = deployment_config or default()
    target = deployment_target or getattr(config, "compute_target_name", None)
    version = version_spec(workspace, models, inference_config, config, target=target)
    if isinstance(config, AksEndpointDeploymentConfiguration):
        labels = {"is_control": bool(config.is_control_version_type), "tags": texts(config.tags or {})}
        definition = {**version.definition, **labels}
        version = replace(version, name=version.name or name, description=config.description, definition=definition)
    api = workspace.session.api_for(KINDS if inference_config else _NO_CODE).endpoints
    view = api.deploy(
        workspace.id,
        name,
        uuid.uuid4().hex,
        replace(config.to_settings(), default_version=version.name),
        version,
        goal=100.0 if version.name is None else config.traffic_percentile or 0.0,
        overwrite=overwrite,
        created_by=user_name(),
        certificate=config.certificate(),
    )
    for which, value in config.chosen_keys().items():
        api.keys(workspace.id, name, renew=which, value=value)
    return view


def version_spec(
    workspace: Workspace,
    models: Sequence[Model],
    inference_config: Optional[InferenceConfig],
    config: Optional[WebserviceDeploymentConfiguration] = None,
    before: Optional[VersionSpec] = None,
    target: Any = None,
) -> VersionSpec:
    """Describe a version. With `before`, resources that the configuration does not give stay as they were.

    `target` is a compute target or its name.
    """
    config = config or WebserviceDeploymentConfiguration()
    old = before or VersionSpec()
    if inference_config is None and len(models) != 1:
        raise UserErrorException(
            f"{len(models)} models were given without code",
            hint="give one model, or an InferenceConfig whose entry script loads them",
        )
    resources = models[0].resource_configuration if len(models) == 1 else None
    cpu = config.cpu_cores or old.cpu_cores or (resources.cpu if resources else None)
    memory = config.memory_gb or old.memory_gb or (resources.memory_in_gb if resources else None)
    gpus = config.gpu_cores if config.gpu_cores is not None else old.gpus or (resources.gpu if resources else 0)
    gpus = int(gpus or 0)
    elsewhere = _elsewhere(workspace, target or old.target)
    environment, lock = _environment(workspace, models, inference_config, gpus, elsewhere is None)
    return VersionSpec(
        models=tuple(model.id for model in models),
        entry_script=inference_config.script.replace(os.sep, "/") if inference_config else None,
        snapshot=snapshots.take(workspace.session, inference_config.folder).id if inference_config else None,
        environment=environment, lock=lock, environment_variables=dict(environment.variables),
        cpu_cores=cpu, memory_gb=memory, gpus=gpus,
        replicas=config.to_replicas(old.replicas if before else Replicas()),
        description=inference_config.description if inference_config else None,
        definition=_definition(inference_config) if inference_config else {},
        name=config.version_name or old.name, target=elsewhere,
    )  # fmt: skip


def _definition(inference_config: InferenceConfig) -> Dict[str, Any]:
    """Return the source directory, and the name that scripts know it by if it was given."""
    folder = inference_config.folder
    return {
        "source_directory": folder,
        "source_name": os.path.basename(folder) if inference_config.source_directory is not None else None,
    }


def _elsewhere(workspace: Workspace, target: Any) -> Optional[str]:
    """Return the name of a compute target; None for one of the server's machine, where services need no target."""
    if target is None:
        return None
    name = target if isinstance(target, str) else getattr(target, "name", None)
    if not isinstance(name, str):
        raise WebserviceException(
            f"deployment_target is {target!r}", hint="give a compute target: deployment_target=ComputeTarget(ws, name)"
        )
    view = workspace.session.api_for(KINDS).computes.get(workspace.id, name)
    return None if view.engine == LOCAL else name


# ── The environment ───────────────────────────────────────────────────────────────────────────────────────────────────


def _environment(
    workspace: Workspace, models: Sequence[Model], inference_config: Optional[InferenceConfig], gpus: int, is_here: bool
) -> Tuple[EnvironmentSpec, Optional[str]]:
    """Return the environment and, if it has run before, its lock: the given one, or that of the run that trained.

    A model that was not trained by a run is served by this interpreter if it has the framework and `is_here`, on the
    machine of the replicas, and else by an environment with the framework alone.
    """
    own = inference_config.to_environment() if inference_config else None
    if own is not None:
        warn_without_effect(unused_settings(own))
        return _plain(to_spec(own)), None
    packages: Tuple[str, ...] = () if inference_config else _packages(models[0], gpus)
    for model in models:
        trained = _training_environment(workspace, model, packages)
        if trained is not None:
            return trained
    if not packages or (is_here and _is_installed(packages[0])):
        return _plain(to_spec(Environment(DEFAULT_NAME))), None
    return _plain(to_spec(_framework_environment(packages, models[0].model_framework_version))), None


def _framework_environment(packages: Sequence[str], version: Optional[str]) -> Environment:
    """Return an environment with the packages that load a model, in the model's own version if that is exact."""
    framework, *others = packages
    environment = Environment(f"serve-{framework}")
    for line in (f"{framework}=={version}" if version and version.count(".") > 1 else framework, *others):
        environment.python.conda_dependencies.add_pip_package(line)
    return environment


def _packages(model: Model, gpus: int) -> Tuple[str, ...]:
    files = [file.path for file in model.view.files]
    return packages_for(codeless_framework(model.model_framework, files), gpus)


def _is_installed(package: str) -> bool:
    """Whether this interpreter has a package. One with a build for GPUs is the same module in another distribution."""
    name, _, extras = package.partition("[")
    if not extras:
        return importlib.util.find_spec(MODULES.get(name, name)) is not None
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _training_environment(
    workspace: Workspace, model: Model, packages: Sequence[str]
) -> Optional[Tuple[EnvironmentSpec, Optional[str]]]:
    """Return the environment of the run that the model came from, if that ran as a job and can load the model."""
    if model.run_id is None:
        return None
    view = workspace.session.api_for(KINDS).runs.get(model.run_id)
    if view.spec is None or not kind_of(view).has_nodes:
        return None
    spec = view.spec.environment
    return (_plain(spec), view.lock) if not packages or _may_have(spec, packages[0]) else None


def _may_have(spec: EnvironmentSpec, package: str) -> bool:
    """Whether an environment names a package; an interpreter that exists may have any."""
    conda = cast("Dict[str, List[Any]]", spec.options.get("conda") or {})
    named = [*spec.requirements, *conda.get("dependencies", ()), *conda.get("pip", ())]
    return spec.builder == "existing" or any(package.partition("[")[0] in str(line).lower() for line in named)


def _plain(spec: EnvironmentSpec) -> EnvironmentSpec:
    """Return the environment without a container: a replica is a process that the gateway reaches by a socket."""
    options = {name: value for name, value in spec.options.items() if name != "docker"}
    variables = {name: value for name, value in spec.variables.items() if name != "EXAMPLE_ENV_VAR"}
    return replace(spec, options=options, variables=variables)
