"""A script or command and how to run it: the argument of `experiment.submit`, and the specification made from it."""

from __future__ import annotations

import copy
import json
import logging
import numbers
import os
import posixpath
import shlex
from dataclasses import replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, cast

from footplate.domain.orders import Program
from footplate.domain.specs import EnvironmentSpec, GpuRequest, RestartPolicy, RunSpec
from footplate.domain.targets import LOCAL
from footplate.sdk.config.run_configuration import (
    DEFAULT_MAX_SECONDS,
    DistributedJob,
    DockerConfiguration,
    RunConfiguration,
    distribute,
    distribution,
    run_definition,
    target_name,
)
from footplate.sdk.config.run_data import PLACEHOLDER, ConfiguredData
from footplate.sdk.config.unused import warn_unused
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.references import DataPath, DataReference
from footplate.sdk.environments.conda_dependencies import package_name
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import ExperimentExecutionException, UserErrorException
from footplate.sdk.handles import SCRIPT_RUN
from footplate.sdk.values.checked_attributes import nearest
from footplate.sdk.values.wrong_types import explained, type_words

NOTEBOOK = ".ipynb"
NOTEBOOK_PACKAGES = ("nbclient", "ipykernel")
"""Packages that execute a notebook; they are added to environments that Footplate builds."""

_log = logging.getLogger(__name__)


@explained
class ScriptRunConfig:
    """A script or command and how to run it, for `experiment.submit`.

    `run_config` stays editable until it is submitted, and so do the attributes with the names of the
    arguments.

    Args:
        source_directory: The directory that is copied to the run; the current one by default.
        script: The script, relative to `source_directory`.
        arguments: Arguments of the script: strings, numbers, datasets and outputs in a list, or a string
            that is split as a shell does.
        run_config: How the script runs. If it is given, the arguments below are ignored with a warning.
        compute_target: A cluster, its name, or `local`, the default.
        environment: The environment of the script.
        distributed_job_config: Nodes and processes: an MpiConfiguration, PyTorchConfiguration or
            TensorflowConfiguration.
        resume_from: The outputs of an earlier run, as a DataPath; the script gets `--resume-from PATH`.
        max_run_duration_seconds: The time after which the run is canceled, 30 days by default; None for
            no limit.
        command: A command line instead of a script.
        docker_runtime_config: Whether the run uses a container.

    Raises:
        UserErrorException: An argument has the wrong type.
        RunConfigurationException: `distributed_job_config` is of an unknown class.

    Example:
        config = ScriptRunConfig(
            source_directory="src",
            script="train.py",
            arguments=["--lr", 0.1],
            environment=Environment("training"),
            compute_target="local",
        )
        config.run_config.environment_variables["LOG_LEVEL"] = "debug"
    """

    def __init__(
        self,
        source_directory: Union[str, os.PathLike[str], None] = None,
        script: Optional[str] = None,
        arguments: Union[str, Sequence[Any], None] = None,
        run_config: Optional[RunConfiguration] = None,
        _telemetry_values: Optional[Dict[str, Any]] = None,
        compute_target: Any = None,
        environment: Optional[Environment] = None,
        distributed_job_config: Optional[DistributedJob] = None,
        resume_from: Any = None,
        max_run_duration_seconds: Optional[float] = DEFAULT_MAX_SECONDS,
        command: Union[str, Sequence[Any], None] = None,
        docker_runtime_config: Optional[DockerConfiguration] = None,
    ) -> None:
        if not isinstance(resume_from, (DataPath, DataReference, type(None))):
            raise UserErrorException(f"resume_from is {resume_from!r}", hint="give a DataPath, or datastore.path(…)")
        self.resume_from = resume_from
        self.source_directory = os.fspath(source_directory or ".")
        if run_config is None:
            run_config = RunConfiguration()
            run_config.target = compute_target or LOCAL
            run_config.max_run_duration_seconds = max_run_duration_seconds
            if environment is not None:
                _check_environment(environment)
                run_config.environment = environment
            if distributed_job_config is not None:
                distribute(run_config, distributed_job_config)
            if docker_runtime_config is not None:
                _check_docker(docker_runtime_config)
                run_config.docker = docker_runtime_config
        else:
            _warn_ignored(
                compute_target=compute_target,
                environment=environment,
                distributed_job_config=distributed_job_config,
                docker_runtime_config=docker_runtime_config,
                max_run_duration_seconds=None
                if max_run_duration_seconds == DEFAULT_MAX_SECONDS
                else max_run_duration_seconds,
            )
        self.run_config = run_config
        self.script = script if script is not None else run_config.script
        _check_script(self.script)
        self.arguments: List[Any] = list_arguments(run_config.arguments if arguments is None else arguments)
        self.command = command if command is not None else run_config.command
        _check_command(self.command)


def _check_docker(docker: Any) -> None:
    if not isinstance(docker, DockerConfiguration):
        raise UserErrorException(f"docker_runtime_config is {docker!r}", hint="give a DockerConfiguration")


def _check_script(script: Any) -> None:
    if script is not None and not isinstance(script, (str, os.PathLike)):
        raise UserErrorException(f"script is {script!r}", hint="give a path in source_directory: script='train.py'")


def _check_command(command: Any) -> None:
    if command is not None and (isinstance(command, bytes) or not isinstance(command, Iterable)):
        raise UserErrorException(f"command is {command!r}", hint="give a list: command=['bash', 'train.sh']")


def _warn_ignored(**arguments: Any) -> None:
    ignored = [name for name, value in arguments.items() if value is not None]
    if ignored:
        _log.warning("run_config was given, so %s is ignored; set it on run_config instead", ", ".join(ignored))


def _check_environment(environment: Any) -> None:
    if not isinstance(environment, Environment):
        name = environment if isinstance(environment, str) else "NAME"
        raise UserErrorException(
            f"environment is {environment!r}", hint=f"give the object: environment=Environment.get(workspace, {name!r})"
        )


def list_arguments(arguments: Any) -> List[Any]:
    """Return the arguments as a list; split a string as a shell does, and refuse parameters of an estimator."""
    if isinstance(arguments, str):
        return _split(arguments)
    if isinstance(arguments, Mapping):
        pairs = cast("Mapping[Any, Any]", arguments)
        flat = [word for pair in pairs.items() for word in pair]
        raise UserErrorException(f"arguments is {dict(pairs)!r}", hint=f"give a list: arguments={flat!r}")
    if not isinstance(arguments, Iterable) or isinstance(arguments, bytes):
        raise UserErrorException(f"arguments is {arguments!r}", hint="give a list: arguments=['--rate', 0.1]")
    return list(cast("Iterable[Any]", arguments))


def _split(arguments: str) -> List[Any]:
    try:
        return list(shlex.split(arguments))
    except ValueError as error:  # a quotation mark that is not closed
        raise UserErrorException(
            f"arguments is {arguments!r}: {error}", hint="give a list: arguments=['--rate', 0.1]"
        ) from None


@explained
def get_run_config_from_script_run(script_run_config: ScriptRunConfig) -> RunConfiguration:
    """Return a copy of the run configuration with the script and the arguments, to be saved to a file.

    Args:
        script_run_config: The configuration.

    Returns:
        The run configuration.

    Raises:
        UserErrorException: It is no ScriptRunConfig, or its arguments are not a list.

    Example:
        get_run_config_from_script_run(ScriptRunConfig("src", "train.py", ["--rate", 0.1])).save("src", "train")
    """
    config = copy.deepcopy(script_run_config.run_config)
    config.script, config.command = script_run_config.script, script_run_config.command
    config.arguments = []
    for value in list_arguments(script_run_config.arguments):
        if isinstance(value, DatasetConsumptionConfig):
            config.data[value.name] = value
        config.arguments.append(f"{PLACEHOLDER}{value.name}" if isinstance(value, DatasetConsumptionConfig) else value)
    return config


def to_run_spec(config: ScriptRunConfig, experiment: str, data: Optional[ConfiguredData] = None) -> RunSpec:
    """Return the configuration's request as a value. The configuration does not change and stays editable.

    `data` collects the inputs and outputs of the run; it needs the workspace if there are any.
    """
    data = data or ConfiguredData(None)
    run_config = copy.deepcopy(config.run_config)
    warn_unused(run_config)
    data.add_configured(run_config)
    program, texts = _program(config, data)
    run_config.script, run_config.command = program.script, program.command
    run_config.arguments = texts
    run_config.data, run_config.data_references = dict(data.data), dict(data.references)
    run_config.output_data = dict(data.output_data)
    processes = distribution(run_config)
    return RunSpec(
        experiment=experiment,
        type=SCRIPT_RUN,
        program=program,
        target=target_name(run_config.target),
        engine_options=_engine_options(run_config.engine_options),
        environment=_with_notebook_packages(
            to_spec(run_config.environment, run_config.docker, mpi=processes.kind == "mpi"), program.script
        ),
        environment_variables={str(k): str(v) for k, v in run_config.environment_variables.items()},
        distribution=processes,
        max_seconds=_seconds("max_run_duration_seconds", run_config.max_run_duration_seconds),
        warning_signal=getattr(run_config.warning_signal, "name", run_config.warning_signal),  # also signal.SIGUSR1
        warning_seconds=_seconds("warning_seconds", run_config.warning_seconds),
        gpus=GpuRequest(run_config.gpus, run_config.gpus_per_process, run_config.needs_gpus),
        max_attempts=run_config.max_attempts,
        restart=RestartPolicy(
            run_config.restart, tuple(run_config.restart_causes), float(run_config.restart_backoff_seconds)
        ),
        priority=run_config.priority or 0,
        notify=bool(run_config.notify),
        collect=("outputs",) if run_config.history.output_collection else (),
        watch=tuple(str(folder) for folder in run_config.history.directories_to_watch),
        definition=run_definition(run_config),
        inputs=tuple(data.inputs.values()),
        outputs=tuple(data.outputs.values()),
    )


def _with_notebook_packages(spec: EnvironmentSpec, script: Optional[str]) -> EnvironmentSpec:
    """Add the packages that execute a notebook, unless the environment is an existing interpreter."""
    if not (script or "").endswith(NOTEBOOK) or spec.builder == "existing":
        return spec
    conda = spec.options.get("conda")
    present = {package_name(line) for line in (conda["pip"] + conda["dependencies"] if conda else spec.requirements)}
    missing = [name for name in NOTEBOOK_PACKAGES if name not in present]
    if conda is None:
        return replace(spec, requirements=(*spec.requirements, *missing))
    return replace(spec, options=dict(spec.options, conda=dict(conda, pip=[*conda["pip"], *missing])))


def _program(config: ScriptRunConfig, data: ConfiguredData) -> Tuple[Program, List[str]]:
    """Return what each rank runs, and its arguments as the run's definition shows them."""
    _check_script(config.script)
    _check_command(config.command)
    if config.command:
        if config.script or config.arguments:
            raise UserErrorException(
                "both command and script or arguments were given", hint="give either script and arguments, or command"
            )
        command = config.command
        words = [command] if isinstance(command, str) else [_quote(part, data) for part in command]
        return Program(command=" ".join(words)), []
    if not config.script:
        raise UserErrorException("neither script nor command was given", hint="ScriptRunConfig(script='train.py', …)")
    arguments = [data.argument(value) or (argument(value),) * 2 for value in list_arguments(config.arguments)]
    if config.resume_from is not None:
        arguments += [(word, word) for word in data.add_resume(config.resume_from)]
    script = _script(config.source_directory, config.script)
    return Program(script, tuple(word for word, _ in arguments)), [text for _, text in arguments]


def _quote(part: Any, data: ConfiguredData) -> str:
    """Quote a word of a command for the shell: the path of data may contain spaces."""
    placeholder = data.argument(part)
    return str(part) if placeholder is None else f'"{placeholder[0]}"'


def _script(folder: str, script: str) -> str:
    """Return the script's path inside the source directory, with slashes."""
    inside = posixpath.normpath(os.path.relpath(os.path.join(folder, script), folder).replace(os.sep, "/"))
    is_outside = inside.startswith("../")
    path = os.path.join(folder, inside)
    if inside.endswith((".sh", ".bash")):
        raise ExperimentExecutionException(
            f"script {script!r} is a shell script, not Python", hint=f"use command='bash {inside}' instead of script"
        )
    if not is_outside and os.path.isfile(path):
        return inside
    hint = "script is a path relative to source_directory"
    if is_outside:
        hint += ", and files outside of it are not part of the run"
    elif os.path.isdir(path):
        raise ExperimentExecutionException(
            f"script {script!r} is a directory in the source directory {os.path.abspath(folder)}",
            hint=f"name a file in it: {inside}/train.py",
        )
    else:
        parent = os.path.dirname(path)
        hint = nearest(posixpath.basename(inside), os.listdir(parent) if os.path.isdir(parent) else ()) or hint
    raise ExperimentExecutionException(
        f"script {script!r} was not found in the source directory {os.path.abspath(folder)}", hint=hint
    )


def argument(value: Any) -> str:
    """Return an argument as a process receives it."""
    if isinstance(value, (str, numbers.Number, os.PathLike)):
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)  # pyright: ignore
    raise UserErrorException(
        f"argument {value!r} is {type_words(value)}", hint="arguments are strings, numbers and data"
    )


def _engine_options(options: Any) -> Dict[str, Any]:
    hint = "give a dict of names and plain values: {'partition': 'long', 'time_limit': '2:00:00'}"
    try:
        if isinstance(options, Mapping) and all(isinstance(name, str) for name in cast("Mapping[Any, Any]", options)):
            return json.loads(json.dumps(dict(cast("Mapping[str, Any]", options)), allow_nan=False))
    except (TypeError, ValueError):
        pass
    raise UserErrorException(f"engine_options is {options!r}", hint=hint)


def _seconds(name: str, value: Optional[float]) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):  # pyright: ignore
        raise UserErrorException(f"{name} is {value!r}", hint="give a positive number of seconds, or None")
    return float(value)
