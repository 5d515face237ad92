"""What a run's interpreter is and has: the classes users edit, and what becomes of them when a run is submitted."""

from __future__ import annotations

import copy
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, cast

from footplate.domain.codec import from_json
from footplate.domain.records import EnvironmentView
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.checked import Checked, to_camel
from footplate.sdk.conda_dependencies import CondaDependencies, default_python_version, from_dict, package_name
from footplate.sdk.exceptions import Kinds, UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

DEFAULT_NAME = "default-environment"
_KINDS: Kinds = {"not_found": UserErrorException}
_log = logging.getLogger(__name__)


class PythonSection(Checked):
    """The interpreter: one that is there (`user_managed_dependencies`), or one built with `conda_dependencies`."""

    def __init__(self) -> None:
        self.interpreter_path = "python"
        self.user_managed_dependencies = False
        self.conda_dependencies: CondaDependencies = CondaDependencies()
        self._seal()


class DockerSection(Checked):
    """Kept with the run. This version runs without containers and says so when a run is submitted."""

    def __init__(self) -> None:
        self.enabled = False
        self.base_image: Optional[str] = None
        self.shm_size = "2g"
        self.shared_volumes = True
        self.arguments: List[str] = []
        self.gpu_support = False
        self._seal()


class Environment(Checked):
    """A named definition of a Python environment. `version` is None until it is registered."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an environment's name is a string, not {name!r}")
        self.name = name
        self.version: Optional[str] = None
        self.python = PythonSection()
        self.docker = DockerSection()
        self.environment_variables: Dict[str, str] = {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
        self._seal()
        for key, value in kwargs.items():
            setattr(self, key, value)

    @staticmethod
    def from_pip_requirements(name: str, file_path: str, pip_version: Optional[str] = None) -> Environment:
        """An environment with the packages of a requirements file; files named by `-r` lines are read as well."""
        made = Environment(name)
        made.python.conda_dependencies.set_pip_requirements(_requirement_lines(file_path))
        if pip_version is not None:
            made.python.conda_dependencies.add_conda_package(f"pip={pip_version}")
        return made

    def clone(self, new_name: str) -> Environment:
        copied = copy.deepcopy(self)
        copied.name, copied.version = new_name, None
        return copied

    def register(self, workspace: Workspace) -> Environment:
        """Keep the definition in the workspace. The same definition keeps its version, another one gets the next."""
        session = workspace.session
        content = definition(self)
        # A version is what the registry gives; were it part of the content, no content would ever be the same again.
        del content["version"]
        body = {"name": self.name, "definition": content}
        return _of_view(session.post(f"/workspaces/{workspace.id}/environments", body, kinds=_KINDS))

    @staticmethod
    def get(workspace: Workspace, name: str, version: Optional[str] = None, label: Optional[str] = None) -> Environment:
        if version is not None and label is not None:
            raise UserErrorException("both version and label were given", hint="give one of the two")
        if label is not None and label.lower() != "latest":
            raise UserErrorException(f"label {label!r} is unknown", hint="use label='latest', or a version")
        session = workspace.session
        path = f"/workspaces/{workspace.id}/environments/{name}/{version or 'latest'}"
        return _of_view(session.get(path, kinds=_KINDS))

    @staticmethod
    def list(workspace: Workspace) -> Dict[str, Environment]:
        """The newest version of each, by name."""
        session = workspace.session
        newest: Dict[str, Environment] = {}
        for item in session.items(f"/workspaces/{workspace.id}/environments", kinds=_KINDS):
            made = _of_view(item)
            known = newest.get(made.name)
            if known is None or int(known.version or 0) < int(made.version or 0):
                newest[made.name] = made
        return newest


def definition(environment: Environment) -> Dict[str, Any]:
    """The environment as the run's definition and the registry keep it, in camelCase."""
    data = cast("Dict[str, Any]", to_camel(environment))
    data["environmentVariables"] = dict(environment.environment_variables)
    data["python"]["condaDependencies"] = environment.python.conda_dependencies.as_dict()
    return data


def from_definition(data: Dict[str, Any]) -> Environment:
    """What `definition` wrote. Keys that this version does not know are left out."""
    made = Environment(str(data.get("name") or DEFAULT_NAME))
    made.version = data.get("version")
    made.environment_variables = dict(data.get("environmentVariables") or {})
    python: Dict[str, Any] = data.get("python") or {}
    made.python.interpreter_path = python.get("interpreterPath") or "python"
    made.python.user_managed_dependencies = bool(python.get("userManagedDependencies"))
    if python.get("condaDependencies"):
        made.python.conda_dependencies = from_dict(python["condaDependencies"])
    docker: Dict[str, Any] = data.get("docker") or {}
    made.docker.enabled = bool(docker.get("enabled"))
    made.docker.base_image = docker.get("baseImage")
    made.docker.shm_size = docker.get("shmSize") or "2g"
    made.docker.shared_volumes = bool(docker.get("sharedVolumes", True))
    made.docker.arguments = list(docker.get("arguments") or ())
    made.docker.gpu_support = bool(docker.get("gpuSupport"))
    return made


def to_spec(environment: Environment) -> EnvironmentSpec:
    """What the environment asks of a builder.

    Raises UserErrorException for what no builder of this version can give, so that it is known at submission.
    """
    python = environment.python
    if environment.docker.enabled or environment.docker.base_image:
        _log.warning("environment %r names a Docker image; this run uses no container", environment.name)
    name, version, variables = environment.name, environment.version, dict(environment.environment_variables)
    if python.user_managed_dependencies or _untouched(environment):
        path = python.interpreter_path
        interpreter = sys.executable if path in ("python", "") else path
        return EnvironmentSpec(name, version, "existing", interpreter=interpreter, variables=variables)
    dependencies = python.conda_dependencies
    _refuse_conda_packages(environment.name, dependencies)
    wanted = [p for p in dependencies.pip_packages if not package_name(p).startswith("azureml-")]
    requirements = (*dependencies.pip_options, *wanted)
    chosen = dependencies.get_python_version() or default_python_version()
    return EnvironmentSpec(name, version, "venv", python=chosen, requirements=requirements, variables=variables)


def _untouched(environment: Environment) -> bool:
    """Nobody asked for packages: the run gets the interpreter that submits it, with all that it has."""
    return environment.name == DEFAULT_NAME and environment.python.conda_dependencies == CondaDependencies()


def _refuse_conda_packages(name: str, dependencies: CondaDependencies) -> None:
    extra = [p for p in dependencies.conda_packages if package_name(p) not in ("python", "pip")]
    if extra:
        raise UserErrorException(
            f"environment {name!r} asks for conda packages, which this version cannot install: {', '.join(extra)}",
            hint=f"ask for them from PyPI: CondaDependencies.create(pip_packages={extra!r})",
        )


def _of_view(data: Any) -> Environment:
    view = from_json(EnvironmentView, data)
    made = from_definition(dict(view.definition, name=view.name))
    made.version = view.version
    return made


def _requirement_lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise UserErrorException(f"requirements file {path!r} cannot be read: {error.strerror}", error) from error
    lines: List[str] = []
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.split(" #", 1)[0].strip()
        if line.startswith(("-r ", "--requirement ")):
            lines += _requirement_lines(os.path.join(os.path.dirname(path), line.split(None, 1)[1].strip()))
        elif line and not line.startswith("#"):
            lines.append(line)
    return lines
