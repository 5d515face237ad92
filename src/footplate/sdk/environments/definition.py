"""The attributes of an environment as plain data in camelCase, the form of runs, the registry and files, and back.

Secrets are not part of it: the password of a container registry stays in the user's object.
"""

from __future__ import annotations

import difflib
import logging
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast

from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.sections import (
    DatabricksSection,
    DockerBuildContext,
    DockerSection,
    PythonSection,
    RSection,
    SparkPackage,
    SparkSection,
)
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.checked_attributes import Checked, public_attributes, to_camel


class EnvironmentFields(Checked):
    def __init__(self, name: str) -> None:
        self.name = name
        self.version: Optional[str] = None
        self.asset_id: Optional[str] = None
        self.python = PythonSection()
        self.docker = DockerSection()
        self.spark = SparkSection()
        self.databricks = DatabricksSection()
        self.r: Optional[RSection] = None
        self.inferencing_stack_version: Optional[str] = None
        self.environment_variables: Dict[str, str] = {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
        self.curated: Optional[str] = None  # the name of the curated environment that this one comes from
        self._seal()


_LEGACY = ("gpuSupport", "jobName", "assetId", "etag", "clusterMaxNodeCount", "retainCluster", "name")
"""Keys of Azure's own files that are not used here: no warning for them."""

_log = logging.getLogger(__name__)


def definition(environment: EnvironmentFields) -> Dict[str, Any]:
    data = cast("Dict[str, Any]", to_camel(environment))
    data.pop("assetId", None)
    data["environmentVariables"] = {str(k): str(v) for k, v in environment.environment_variables.items()}
    data["python"]["condaDependencies"] = environment.python.conda_dependencies.as_dict()
    del data["python"]["condaDependenciesFile"]
    del data["docker"]["baseImageRegistry"]["password"]
    if data["curated"] is None:
        del data["curated"]
    return data


def fill(environment: EnvironmentFields, data: Mapping[str, Any], where: str) -> None:
    """Fill `environment` from the data that `definition` wrote; `where` is for messages.

    Attributes that the data does not mention stay; a warning lists unknown keys.
    """
    rest = dict(data)
    for key in ("name", "version", "assetId"):
        rest.pop(key, None)
    variables = rest.pop("environmentVariables", None)
    if variables is not None:
        environment.environment_variables = as_variables(variables, f"environmentVariables of {where}")
    if isinstance(rest.get("r"), Mapping):
        environment.r = RSection()
    conda = as_mapping(rest.get("python") or {}, f"python of {where}")
    if "condaDependencies" in conda:
        conda = dict(conda)
        content = conda.pop("condaDependencies")
        rest["python"] = conda
        if content is not None:
            environment.python.conda_dependencies = CondaDependencies(_underlying_structure=content)
    docker = rest.pop("docker", None)
    if docker is not None:
        _fill_docker(environment, dict(as_mapping(docker, f"docker of {where}")), where)
    apply(environment, rest, where)
    environment.spark.packages = [_package(package) for package in environment.spark.packages]


def _fill_docker(environment: EnvironmentFields, docker: Dict[str, Any], where: str) -> None:
    section = environment.docker
    context = docker.pop("buildContext", None)
    dockerfile = docker.pop("baseDockerfile", None)
    image = docker.pop("baseImage", section.base_image)
    apply(section, docker, f"docker of {where}")
    section.base_image = image if dockerfile is None and context is None else None
    section.base_dockerfile = dockerfile
    if context is not None:
        fields = as_mapping(context, f"buildContext of {where}")
        section.build_context = DockerBuildContext(
            str(fields.get("locationType")),
            str(fields.get("location")),
            str(fields.get("dockerfilePath") or "Dockerfile"),
        )


def apply(target: Checked, data: Mapping[str, Any], where: str) -> None:
    """Set the attributes of a configuration object and of its sections from camelCase keys, ignoring case."""
    attributes = {name.replace("_", "").lower(): name for name in public_attributes(target)}
    unknown: List[str] = []
    for key, value in data.items():
        name = attributes.get(str(key).replace("_", "").lower())
        if name is None:
            unknown.append(str(key))
            continue
        current = getattr(target, name)
        if isinstance(current, Checked):
            apply(current, as_mapping(value or {}, f"{key} of {where}"), f"{key} of {where}")
        elif value is not None:
            setattr(target, name, _like(current, value, f"{key} of {where}"))
    _warn_unknown(unknown, list(attributes.values()), where)


_WORDS: Tuple[Tuple[type, str], ...] = (
    (list, "a list"),
    (dict, "a mapping"),
    (bool, "true or false"),
    (int, "a whole number"),
)


def _like(current: Any, value: Any, where: str) -> Any:
    """Return the value if it has the attribute's type. A number in place of a string becomes one."""
    for kind, words in _WORDS:
        if isinstance(current, kind):
            if not isinstance(value, kind) or isinstance(value, bool) is not isinstance(current, bool):
                raise UserErrorException(f"{where} is {value!r}", hint=f"it is {words}")
            return value
    if isinstance(current, str) and not isinstance(value, str):
        if isinstance(value, (list, dict)):
            raise UserErrorException(f"{where} is {value!r}", hint="it is a string")
        return _variable(value)
    return value


def _warn_unknown(unknown: List[str], known: List[str], where: str) -> None:
    for key in unknown:
        if key in _LEGACY:
            continue
        near = difflib.get_close_matches(key.lower(), [name.replace("_", "").lower() for name in known], 1)
        suggestion = next((name for name in known if near and name.replace("_", "").lower() == near[0]), None)
        hint = f"; did you mean {suggestion!r}?" if suggestion else ""
        _log.warning("%s has the key %r, which is not used%s", where, key, hint)


def as_variables(data: Any, where: str) -> Dict[str, str]:
    """Return environment variables as strings; a number or a boolean becomes what a shell would have."""
    return {str(key): _variable(value) for key, value in as_mapping(data, where).items()}


def _variable(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def as_mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UserErrorException(f"{where} is {value!r}", hint="it is a mapping of keys and values")
    return cast("Mapping[str, Any]", value)


def _package(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    package = SparkPackage()
    apply(package, cast("Mapping[str, Any]", data), "a Spark package")
    return package
