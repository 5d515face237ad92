"""Run configurations on disk: `<folder>/.azureml/<name>.runconfig`, and the conda file that it names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from footplate.domain.targets import LOCAL
from footplate.sdk.environments.conda_dependencies import DEFAULT_FILE, CondaDependencies
from footplate.sdk.environments.definition import apply, as_mapping, as_variables, definition, fill
from footplate.sdk.environments.files import write_text
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values import yaml
from footplate.sdk.values.checked_attributes import to_camel
from footplate.sdk.values.run_configuration_sections import DataReferenceConfiguration

if TYPE_CHECKING:
    from footplate.sdk.config.run_configuration import RunConfiguration

SUFFIX = ".runconfig"
ENVIRONMENT_FILE = "environment.yml"
_FOLDERS = (".azureml", "aml_config")


def save(run_config: RunConfiguration, path: str, name: Optional[str], separate_environment: bool) -> None:
    if not name:
        raise UserErrorException("the run configuration has no name", hint="run_config.save(path='.', name='train')")
    if os.path.basename(name) != name:
        raise UserErrorException(
            f"{name!r} cannot be the name of a run configuration", hint="give the directory as path"
        )
    folder = _folder_for(path)
    os.makedirs(folder, exist_ok=True)
    data = _content(run_config)
    environment = data["environment"]
    packages = yaml.dumps(environment["python"].pop("condaDependencies"))
    inside = os.path.basename(folder)
    if not run_config.environment.python.user_managed_dependencies:
        conda_file = _write_beside(folder, name, DEFAULT_FILE, packages)
        environment["python"]["condaDependenciesFile"] = f"{inside}/{conda_file}"
    if separate_environment:
        data["environment"] = f"{inside}/{_write_beside(folder, name, ENVIRONMENT_FILE, yaml.dumps(environment))}"
    write_text(os.path.join(folder, _file_name(name)), yaml.dumps(data))


def _content(run_config: RunConfiguration) -> Dict[str, Any]:
    data: Dict[str, Any] = to_camel(run_config)
    data["target"] = str(getattr(run_config.target, "name", run_config.target) or LOCAL)
    data["environment"] = definition(run_config.environment)
    data["environmentVariables"] = as_variables(run_config.environment_variables, "environment_variables")
    return data


def _write_beside(folder: str, name: str, file: str, text: str) -> str:
    """Write `file` into the directory, or `<name>_<file>` if another configuration has a different file of that
    name."""
    others = [entry for entry in os.listdir(folder) if entry.endswith(SUFFIX) and entry != _file_name(name)]
    own = f"{name}_{file}"
    differs = False
    if others and os.path.exists(os.path.join(folder, file)):
        with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as existing:
            differs = existing.read() != text
    chosen = own if differs or os.path.exists(os.path.join(folder, own)) else file
    write_text(os.path.join(folder, chosen), text)
    return chosen


def load(run_config: RunConfiguration, path: str, name: Optional[str]) -> Tuple[str, str]:
    """Fill `run_config` from the file; return the directory and the name to save it under again."""
    file = _find(os.fspath(path), name)
    data = dict(as_mapping(yaml.load_file(file), file))
    folder = os.path.dirname(os.path.abspath(file))
    root = os.path.dirname(folder) if os.path.basename(folder) in _FOLDERS else folder
    environment = data.pop("environment", None)
    if isinstance(environment, str):
        beside = _beside(environment, root, folder, file)
        environment = yaml.load_file(beside)
    if environment is not None:
        _load_environment(run_config, dict(as_mapping(environment, f"environment of {file}")), (root, folder), file)
    variables = data.pop("environmentVariables", None)
    if variables is not None:
        run_config.environment_variables = as_variables(variables, f"environmentVariables of {file}")
    references: Any = data.pop("dataReferences", None)
    apply(run_config, data, file)
    run_config.data_references = {
        str(key): _reference(value, f"dataReferences of {file}")
        for key, value in as_mapping(references or {}, f"dataReferences of {file}").items()
    }
    return root, os.path.basename(file)[: -len(SUFFIX)] if file.endswith(SUFFIX) else os.path.basename(file)


def _load_environment(run_config: RunConfiguration, data: Dict[str, Any], places: Tuple[str, str], file: str) -> None:
    python = dict(as_mapping(data.get("python") or {}, f"python of {file}"))
    conda = python.pop("condaDependenciesFile", None)
    data["python"] = python
    target = run_config.environment
    target.name = str(data.get("name") or target.name)
    target.version = None if data.get("version") is None else str(data["version"])
    fill(target, data, f"environment of {file}")
    if conda is not None and python.get("condaDependencies") is None and not target.python.user_managed_dependencies:
        target.python.conda_dependencies = CondaDependencies(_beside(str(conda), *places, file))


def _reference(data: Any, where: str) -> DataReferenceConfiguration:
    reference = DataReferenceConfiguration()
    apply(reference, as_mapping(data, where), where)
    return reference


def _beside(named: str, root: str, folder: str, file: str) -> str:
    """Return the path of a file that a configuration names, relative to the project's directory or to its own."""
    for place in (root, folder):
        if os.path.isfile(os.path.join(place, named)):
            return os.path.join(place, named)
    raise UserErrorException(
        f"{file} names {named!r}, which does not exist", hint=f"put it into {root}, or correct its name"
    )


def delete(path: str, name: str) -> None:
    try:
        os.unlink(_find(os.fspath(path), name))
    except OSError as error:
        raise UserErrorException(f"run configuration {name!r} cannot be removed: {error.strerror}", error) from error


def _find(path: str, name: Optional[str]) -> str:
    if name is None and os.path.isfile(path):
        return path
    folders = [*(os.path.join(path, folder) for folder in _FOLDERS), path]
    for folder in folders if name else ():
        for candidate in (_file_name(str(name)), str(name)):
            if os.path.isfile(os.path.join(folder, candidate)):
                return os.path.join(folder, candidate)
    if name:
        what = f"there is no run configuration {name!r} in {path!r}"
    elif os.path.exists(path):
        what = f"{path!r} is a directory and not a run configuration"
    else:
        what = f"there is no run configuration {path!r}"
        folders = [os.path.dirname(path) or "."]
    there = sorted(
        entry[: -len(SUFFIX)]
        for folder in folders
        if os.path.isdir(folder)
        for entry in os.listdir(folder)
        if entry.endswith(SUFFIX)
    )
    raise UserErrorException(
        what,
        hint=f"the configurations there are {', '.join(there)}"
        if there
        else "save one first: run_config.save(path, name)",
    )


def _folder_for(path: str) -> str:
    """Return the directory of configurations: `.azureml`, or `aml_config` if only that exists."""
    root = os.path.abspath(os.fspath(path))
    if os.path.basename(root) in _FOLDERS:
        return root
    preferred, old = (os.path.join(root, folder) for folder in _FOLDERS)
    return old if os.path.isdir(old) and not os.path.isdir(preferred) else preferred


def _file_name(name: str) -> str:
    return name if name.endswith(SUFFIX) else name + SUFFIX
