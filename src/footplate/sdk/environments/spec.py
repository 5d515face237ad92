"""The request of an environment to a builder: the value that goes to the server with a run."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.conda_dependencies import CondaDependencies, own_python_version, package_name
from footplate.sdk.environments.definition import EnvironmentFields as Environment
from footplate.sdk.environments.sections import DEFAULT_CPU_IMAGE, DEFAULT_SHM_SIZE, ContainerRegistry, DockerSection
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.run_configuration_sections import DockerConfiguration

DEFAULT_NAME = "default-environment"
_EXACT = re.compile(r"\d+(\.\d+){0,2}")
_BOUND = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


def to_spec(
    environment: Environment, runtime: Optional[DockerConfiguration] = None, mpi: bool = False
) -> EnvironmentSpec:
    """Return the request.

    `runtime` is the run configuration's section about containers; it takes precedence over the environment's own. `mpi`
    tells that the run starts over MPI: Azure's images contain Open MPI, and its curated environments Horovod.

    Builders: "existing" for an existing interpreter, "venv" if all packages come from pip, otherwise "conda".
    """
    python = environment.python
    dependencies = environment.python.conda_dependencies
    name, version = environment.name, environment.version
    variables = {str(key): str(value) for key, value in environment.environment_variables.items()}
    docker = describe_container(environment, runtime)
    options: Dict[str, Any] = {"docker": docker} if docker else {}
    if mpi:
        options["mpi"] = True
    if python.user_managed_dependencies or is_untouched(environment):
        path = python.interpreter_path
        interpreter = _submitting_python() if path in ("python", "") else path
        return EnvironmentSpec(name, version, "existing", interpreter, variables=variables, options=options)
    if environment.curated is not None:
        options["curated"] = environment.curated
    lines = (*dependencies.pip_options, *dependencies.pip_packages)
    chosen = _python(dependencies)
    if all(package_name(package) in ("python", "pip") for package in dependencies.conda_packages):
        requirements = (*lines, *_pip_itself(dependencies))
        return EnvironmentSpec(
            name, version, "venv", python=chosen, requirements=requirements, variables=variables, options=options
        )
    options["conda"] = {
        "channels": list(dependencies.conda_channels),
        "dependencies": list(dependencies.conda_packages),
        "pip": list(lines),
    }
    return EnvironmentSpec(name, version, "conda", python=chosen, variables=variables, options=options)


def _submitting_python() -> str:
    """Return this interpreter. `python` and `python3` of one folder are the same, so they get the same name."""
    plain = os.path.join(os.path.dirname(sys.executable), "python")
    try:
        return plain if os.path.isabs(plain) and os.path.samefile(plain, sys.executable) else sys.executable
    except OSError:
        return sys.executable


def is_untouched(environment: Environment) -> bool:
    """Whether no packages were requested: the run then gets the submitting interpreter as it is."""
    return environment.name == DEFAULT_NAME and environment.python.conda_dependencies == CondaDependencies()


def _pip_itself(dependencies: CondaDependencies) -> List[str]:
    """Return the version of pip that a conda file asks for, as a requirement; `pip` without a version is always there.

    conda's `pip=23.1` stands for every 23.1.x.
    """
    pip_lines = [p.split("::")[-1].strip() for p in dependencies.conda_packages if package_name(p) == "pip"]
    exact = [re.fullmatch(r"pip\s*(==?)\s*(\d+(?:\.\d+)*)(?:\.\*)?(?:=.*)?", line) for line in pip_lines]
    ranges = [line for line, match in zip(pip_lines, exact) if match is None and line != "pip"]
    return [*(f"pip=={match[2]}{'.*' if match[1] == '=' else ''}" for match in exact if match), *ranges]


# ── Python ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _python(dependencies: CondaDependencies) -> Optional[str]:
    """Return an exact version as it is; for a range, the submitting interpreter's own version if the range contains
    it. None leaves the choice to the server."""
    requested = dependencies.get_python_version()
    own = own_python_version()
    if requested is None:
        return None
    if _EXACT.fullmatch(requested):
        return requested
    bounds = [_BOUND.fullmatch(part) for part in requested.split(",")]
    if all(bound and _admits(bound.group(1), bound.group(2), own) for bound in bounds):
        return own
    return requested


def _admits(sign: str, bound: str, version: str) -> bool:
    """Compare to the length of the shorter: 3.11 stands for every 3.11.x, so `>3.11.2` may still hold."""
    limit, own = _numbers(bound), _numbers(version)
    length = min(len(limit), len(own))
    own_part, limit_part = own[:length], limit[:length]
    longer = len(limit) > length
    answers = {
        ">=": own_part >= limit_part,
        "<=": own_part <= limit_part,
        ">": own_part > limit_part or (longer and own_part == limit_part),
        "<": own_part < limit_part or (longer and own_part == limit_part),
        "==": own_part == limit_part,
        "!=": own_part != limit_part or longer,
    }
    return answers[sign]


def _numbers(version: str) -> List[int]:
    return [int(part) for part in version.split(".")]


# ── Containers ────────────────────────────────────────────────────────────────────────────────────────────────────────


def describe_container(environment: Environment, runtime: Optional[DockerConfiguration]) -> Dict[str, Any]:
    """Return everything that was set about containers; empty if nothing was.

    `base_image` None leaves the choice of the image to the builder; `interpreter` is the path inside the image.
    """
    section = environment.docker
    image = None if section.base_image == DEFAULT_CPU_IMAGE else section.base_image
    context = section.build_context
    parts = ("location_type", "location", "dockerfile_path")
    container: Dict[str, Any] = {
        "enabled": bool(section.enabled or (runtime is not None and runtime.use_docker)),
        "base_image": image,
        "base_dockerfile": section.base_dockerfile,
        "build_context": None if context is None else {name: getattr(context, name) for name in parts},
        "platform": {"os": section.platform.os, "architecture": section.platform.architecture},
        "shm_size": _runtime("shm_size", section, runtime, DEFAULT_SHM_SIZE),
        "arguments": list(_runtime("arguments", section, runtime, [])),
        "shared_volumes": section.shared_volumes and (runtime is None or runtime.shared_volumes),
        "registry": _registry(section.base_image_registry),
        "interpreter": environment.python.interpreter_path,
    }
    plain = {"shm_size": DEFAULT_SHM_SIZE, "platform": {"os": "Linux", "architecture": "amd64"}, "shared_volumes": True}
    changed = [value for key, value in container.items() if key != "interpreter" and value != plain.get(key)]
    return container if any(changed) or not container["shared_volumes"] else {}


def _runtime(name: str, section: DockerSection, runtime: Optional[DockerConfiguration], default: Any) -> Any:
    value = default if runtime is None else getattr(runtime, name)
    return value if value and value != default else getattr(section, name) or default


def _registry(registry: ContainerRegistry) -> Optional[Dict[str, Any]]:
    """Return the registry. The password travels inside the address; the server extracts it before it stores
    anything."""
    address, username, password = registry.address, registry.username, registry.password
    if not address and not username and not password:
        return None
    if password:
        if not address or not username:
            raise UserErrorException(
                f"a password was given, but not the address or the user name: {registry!r}",
                hint="set address and username of docker.base_image_registry as well",
            )
        host = address.split("://")[-1].rstrip("/")
        address = f"https://{quote(username, safe='')}:{quote(password, safe='')}@{host}"
    return {"address": address, "username": username}
