"""Settings of an environment that have no effect here, and those that cannot be honoured."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from footplate.sdk.environments.conda_dependencies import package_name
from footplate.sdk.environments.definition import EnvironmentFields as Environment
from footplate.sdk.environments.sections import RSection
from footplate.sdk.environments.spec import describe_container, is_untouched
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.checked_attributes import changed_attributes, reasons_for
from footplate.sdk.values.run_configuration_sections import DockerConfiguration

NO_EFFECT = {
    "inferencing_stack_version": "Footplate brings its own packages for serving",
    "python.base_conda_environment": "an environment is built from its own packages alone",
    "docker.base_image_registry.registry_identity": "registries are accessed with a user name and a password",
    "docker.platform.architecture": "a container runs on the processor of its node",
    "docker.shared_volumes": "a container always gets the run's own directories",
    "docker.gpu_support": "a container always gets the GPUs of its run",
    "spark": "Footplate does not run Spark",
    "databricks": "Footplate runs nothing on Databricks",
    "r": "Footplate does not install R",
}
"""Name of an attribute or a whole section → the reason for the warning."""

_ALWAYS_THERE = ("python", "pip", "azureml-defaults")
_AZURES_DEFAULTS = {
    "spark.repositories": ["https://mmlspark.azureedge.net/maven"],
    "spark.packages": ["SparkPackage(group='com.microsoft.ml.spark', artifact='mmlspark_2.11', version='0.12')"],
}
"""Values that every environment has in files written by Azure's SDK."""


def unused_settings(environment: Environment, runtime: Optional[DockerConfiguration] = None) -> Dict[str, str]:
    """Return the settings without an effect, each with the reason; raise an error where a run would differ.

    `runtime` is the run configuration's section about containers.
    """
    default = type(environment)(environment.name)
    default.r = RSection() if environment.r is not None else None
    values = {
        name: value
        for name, value in changed_attributes(environment, default).items()
        if name not in _AZURES_DEFAULTS or [str(item) for item in value] != _AZURES_DEFAULTS[name]
    }
    _refuse(values)
    return {**reasons_for(NO_EFFECT, values), **_find_unused_python(environment, runtime)}


def _refuse(values: Mapping[str, Any]) -> None:
    packages = [name for name in values if name.startswith("r.") and name.endswith("_packages")]
    if packages:
        raise UserErrorException(
            f"the environment has R packages in {', '.join(packages)}, and Footplate does not install them",
            hint="use conda packages such as r-base and r-dplyr, or an image that contains R",
        )
    if str(values.get("docker.platform.os", "linux")).lower() != "linux":
        raise UserErrorException(f"docker.platform.os is {values['docker.platform.os']!r}", hint="use a Linux image")


def _find_unused_python(environment: Environment, runtime: Optional[DockerConfiguration]) -> Dict[str, str]:
    """Return the settings that the choice between an existing interpreter and a built environment leaves unused."""
    python = environment.python
    packages = environment.python.conda_dependencies
    if python.user_managed_dependencies:
        requested = [*packages.conda_packages, *packages.pip_packages]
        beyond = any(package_name(line) not in _ALWAYS_THERE for line in requested)
        return {"python.conda_dependencies": "user_managed_dependencies is True"} if beyond else {}
    is_default = is_untouched(environment) or python.interpreter_path in ("python", "")
    if is_default or describe_container(environment, runtime):  # then it is the interpreter inside the image
        return {}
    return {"python.interpreter_path": "user_managed_dependencies is False"}
