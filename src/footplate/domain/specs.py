"""The request that a client sends: a frozen value that the run keeps unchanged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.datasets import check_data
from footplate.domain.orders import DataInput, DataOutput, Program
from footplate.domain.runs.run_kinds import JOB, kind_of
from footplate.domain.targets import LOCAL
from footplate.errors import InvalidInput

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,254}")
_EXPERIMENT = re.compile(r"[a-zA-Z0-9][\w\-]{0,254}", re.ASCII)
_CHILD_KEY = re.compile(r"[A-Za-z0-9_]{1,64}")
_ENV_NAME = re.compile(r"[^=\0]+")


MAX_PROCESSES = 10_000
"""The most processes, or nodes, of one run: the server and the agents keep a record of each in memory."""


@dataclass(frozen=True)
class Distribution:
    """The number of nodes and processes, and how these communicate. `kind`: none, mpi, torch or tensorflow."""

    kind: str = "none"
    node_count: int = 1
    process_count: Optional[int] = None  # torch: the total over all nodes
    processes_per_node: int = 1  # mpi
    worker_count: int = 1  # tensorflow
    parameter_server_count: int = 0  # tensorflow
    backend: Optional[str] = None  # torch: nccl or gloo
    chief: bool = False  # tensorflow: one more task, which leads while workers and parameter servers only serve


@dataclass(frozen=True)
class GpuRequest:
    """GPUs for exclusive use, by number or just `needed`; `domain.gpus` describes the default."""

    per_node: Optional[int] = None
    per_process: Optional[int] = None
    needed: bool = False


RESTART_CAUSES: Dict[str, Tuple[str, ...]] = {
    "node_lost": ("node_lost",),
    "preempted": ("preempted",),
    "exit_code": ("exit_code", "user_exception", "mpi_failed", "unknown_exit"),
    "signal": ("signal",),
    "out_of_memory": ("out_of_memory",),
    "out_of_space": ("out_of_space",),
    "time_limit": ("time_limit", "engine_time_limit"),
    "engine_time_limit": ("engine_time_limit",),
    "start_failed": ("start_failed", "data_failed", "launch_failed", "environment_failed"),
}
"""The causes that a restart policy can name, and the codes of failures (`Cause.code`) that each covers."""


WARNING_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP")
"""The signals that can warn a script of a time limit."""

WARNING_SECONDS = 120.0
"""Seconds between the warning and the time limit of a run that gives none, but at most half of the limit."""


@dataclass(frozen=True)
class RestartPolicy:
    """When a run gets another attempt by itself, as long as its `max_attempts` allows it.

    `when`: never, on_failure (a failure that `causes` covers) or always (every end except a cancel). The default causes
    are those that say nothing about the script: the engine took its nodes away. The first pause
    is `backoff_seconds`; each further one is twice as long, up to `max_backoff_seconds`.
    """

    when: str = "on_failure"
    causes: Tuple[str, ...] = ("node_lost", "preempted", "engine_time_limit")
    backoff_seconds: float = 0.0
    max_backoff_seconds: float = 300.0


@dataclass(frozen=True)
class EnvironmentSpec:
    """The interpreter that ranks run under.

    `builder`: existing (use `interpreter` unchanged, install nothing) or venv (build from `requirements`); other
    builders read their own keys from `options`.
    """

    name: str = "default-environment"
    version: Optional[str] = None
    builder: str = "existing"
    interpreter: Optional[str] = None
    python: Optional[str] = None  # a version such as "3.11", for builders that choose an interpreter
    requirements: Tuple[str, ...] = ()
    variables: Dict[str, str] = field(default_factory=lambda: {})
    options: Dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class ControllerSpec:
    """The controller of a group: its kind, a row of `services.orchestration.controller_table`, and its input.

    `children` are specs by key: children to submit, or templates of children. The server checks them with the group.
    The controller sees summaries of `metrics` for every child, and is consulted whenever a child has logged the first
    of them `interval` more times; with an interval of 0 only when children end.
    """

    kind: str
    options: Dict[str, Any] = field(default_factory=lambda: {})
    children: Dict[str, RunSpec] = field(default_factory=lambda: {})
    metrics: Tuple[str, ...] = ()
    interval: int = 1


@dataclass(frozen=True)
class RunSpec:
    """The request of `experiment.submit`, `experiment.start_logging` or `experiment.start_group`.

    `kind`: job (an engine runs it), interactive (the client's own process is the run) or group (a controller on the
    server starts its children); `domain.runs.run_kinds` has the table. `definition` is the run in the words of the
    client's own API; the core stores it and never reads it.
    """

    experiment: str
    kind: str = JOB
    type: Optional[str] = None  # the client API's name for this type of run, e.g. azureml.scriptrun
    program: Optional[Program] = None
    target: str = LOCAL
    engine_options: Dict[str, Any] = field(default_factory=lambda: {})  # options of the target, for this run only
    environment: EnvironmentSpec = EnvironmentSpec()
    environment_variables: Dict[str, str] = field(default_factory=lambda: {})
    distribution: Distribution = Distribution()
    gpus: GpuRequest = GpuRequest()
    snapshot: Optional[str] = None
    describe_nodes: bool = False  # nodes on other machines tell what can be installed there, and the server keeps it
    lock: Optional[str] = None  # digest of a lock to use unchanged; without one the environment is resolved
    max_seconds: Optional[float] = None
    warning_signal: Optional[str] = None  # one of WARNING_SIGNALS, for the script before a time limit; None: no signal
    warning_seconds: Optional[float] = None  # before `max_seconds`; engines have an option for their own limit
    max_attempts: Optional[int] = 1  # attempts in all, the first included; None: no limit
    outputs_from: Optional[str] = None  # a run whose stored ./outputs this one begins with, as after a restart
    restart: RestartPolicy = RestartPolicy()
    priority: int = 0
    notify: bool = False  # people get a message when the run has ended
    parent: Optional[str] = None
    name: Optional[str] = None
    display_name: Optional[str] = None
    description: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    properties: Dict[str, str] = field(default_factory=lambda: {})
    collect: Tuple[str, ...] = ("outputs",)  # folders of the working directory that are kept when the ranks have ended
    watch: Tuple[str, ...] = ("logs",)  # folders of the working directory that are shipped while they grow
    definition: Dict[str, Any] = field(default_factory=lambda: {})
    inputs: Tuple[DataInput, ...] = ()
    outputs: Tuple[DataOutput, ...] = ()
    controller: Optional[ControllerSpec] = None  # of a group
    process: Optional[str] = None  # of an interactive run: the client's process (`engines/client_processes`)
    heartbeats: bool = False  # of an interactive run: its client sends heartbeats, because the server cannot see it


def warning_time(spec: RunSpec) -> float:
    """Return the seconds between the warning of a script and the time limit of its run."""
    if spec.warning_seconds is not None:
        return spec.warning_seconds
    return WARNING_SECONDS if spec.max_seconds is None else min(WARNING_SECONDS, spec.max_seconds / 2)


def check_run_id(run_id: str) -> None:
    if not _RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise InvalidInput(
            f"{run_id!r} is not a run id",
            "use letters, digits, '_', '-' and single dots, starting with a letter or digit, at most 255 in all",
        )


def check_experiment_name(name: str) -> None:
    if not _EXPERIMENT.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is not an experiment name",
            "use letters, digits, '_' and '-', starting with a letter or digit, at most 255 in all",
        )


def check_spec(spec: RunSpec) -> None:
    """Raise InvalidInput, naming the field, for every mistake that can be known before anything is started."""
    kind = kind_of(spec)
    if kind.has_nodes:  # others may belong to an experiment that MLflow has named, which is less strict
        check_experiment_name(spec.experiment)
    for name, value in [*spec.environment_variables.items(), *spec.environment.variables.items()]:
        if not _ENV_NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} cannot be an environment variable's name", "remove '=' and NUL from it")
        _check_passable(f"environment variable {name}", value)
    for folder in spec.collect + spec.watch:
        if _leaves(folder):
            raise InvalidInput(f"folder {folder!r} is outside the working folder", "give a path relative to it")
    if spec.max_seconds is not None and not 0 < spec.max_seconds < float("inf"):
        raise InvalidInput(f"max_seconds is {spec.max_seconds:g}", "give a positive number of seconds, or none at all")
    _check_warning(spec)
    check_data(spec.inputs, spec.outputs)
    if spec.max_attempts is not None and spec.max_attempts < 1:
        raise InvalidInput(f"max_attempts is {spec.max_attempts}", "give 1 for no retries, or more")
    _check_restart(spec.restart)
    _check_gpus(spec.gpus)
    _check_controller(spec)
    if kind.has_nodes:
        _check_program(spec.program)
        _check_distribution(spec.distribution)


def _check_warning(spec: RunSpec) -> None:
    name, seconds, limit = spec.warning_signal, spec.warning_seconds, spec.max_seconds
    if name is not None and name not in WARNING_SIGNALS:
        raise InvalidInput(f"warning_signal is {name!r}", f"use one of {', '.join(WARNING_SIGNALS)}, or None")
    if seconds is None:
        return
    if not 0 < seconds < float("inf"):
        raise InvalidInput(f"warning_seconds is {seconds:g}", "give a positive number of seconds, or none at all")
    if name is None:
        raise InvalidInput(f"warning_seconds is {seconds:g} without a warning_signal", "name the signal to send")
    if limit is not None and seconds >= limit:
        raise InvalidInput(f"warning_seconds is {seconds:g} and the time limit {limit:g}", "warn after the start")


def _check_controller(spec: RunSpec) -> None:
    kind = kind_of(spec)
    controller = spec.controller
    if (kind.ended_by == "controller") != (controller is not None):
        needs = "needs" if controller is None else "does not take"
        raise InvalidInput(f"a run of the kind {spec.kind!r} {needs} a controller", "only a group has one")
    if controller is None:
        return
    if controller.interval < 0:
        raise InvalidInput(f"the controller's interval is {controller.interval}", "give 0 or more")
    for key, child in controller.children.items():
        if not _CHILD_KEY.fullmatch(key):
            raise InvalidInput(f"{key!r} is not a key of a child", "use letters, digits and '_', at most 64 in all")
        if child.kind not in kind.children:
            raise InvalidInput(
                f"child {key!r} is of the kind {child.kind!r}", f"use {', '.join(sorted(kind.children))}"
            )
        check_spec(child)


def _check_program(program: Optional[Program]) -> None:
    if program is None or bool(program.script) == bool(program.command):
        raise InvalidInput("a run needs either a script or a command", "give exactly one of the two")
    for text in (program.script, program.command, *program.arguments):
        _check_passable("the program", text or "")
    if program.script and _leaves(program.script):
        raise InvalidInput(
            f"script {program.script!r} is outside the source folder", "give a path relative to the source folder"
        )


def _leaves(path: str) -> bool:
    return path.startswith("/") or ".." in path.split("/")


def _check_passable(what: str, text: str) -> None:
    if "\0" in text:
        raise InvalidInput(f"{what} has a NUL character in {text!r}", "remove it: a process cannot receive one")


def _check_restart(policy: RestartPolicy) -> None:
    if policy.when not in ("never", "on_failure", "always"):
        raise InvalidInput(f"restart is {policy.when!r}", "use never, on_failure or always")
    for cause in policy.causes:
        if cause not in RESTART_CAUSES:
            raise InvalidInput(f"restart cause {cause!r} is unknown", f"use some of {', '.join(RESTART_CAUSES)}")
    for name, seconds in (("backoff", policy.backoff_seconds), ("max_backoff", policy.max_backoff_seconds)):
        if not 0 <= seconds < float("inf"):
            raise InvalidInput(f"restart {name}_seconds is {seconds:g}", "give 0 or a positive number of seconds")


def _check_gpus(request: GpuRequest) -> None:
    for name, count in (("gpus", request.per_node), ("gpus_per_process", request.per_process)):
        if count is not None and count < 0:
            raise InvalidInput(f"{name} is {count}", "give 0 or more, or nothing for one for each process")
    if request.per_node is not None and request.per_process is not None:
        raise InvalidInput(
            f"gpus is {request.per_node} and gpus_per_process is {request.per_process}", "give one of the two"
        )


def _check_process_total(counts: Dict[str, int]) -> None:
    for name, count in counts.items():
        if count > MAX_PROCESSES:
            raise InvalidInput(f"{name} is {count}", f"give at most {MAX_PROCESSES}")
    nodes, each = counts["node_count"], counts["processes_per_node"]
    if nodes * each > MAX_PROCESSES:
        raise InvalidInput(
            f"node_count is {nodes} and processes_per_node is {each}, {nodes * each} processes in all",
            f"a run has at most {MAX_PROCESSES} processes",
        )


def _check_distribution(distribution: Distribution) -> None:
    if distribution.kind not in ("none", "mpi", "torch", "tensorflow"):
        raise InvalidInput(f"distribution {distribution.kind!r} is unknown", "use none, mpi, torch or tensorflow")
    counts = {
        "node_count": distribution.node_count,
        "processes_per_node": distribution.processes_per_node,
        "worker_count": distribution.worker_count,
        "process_count": 1 if distribution.process_count is None else distribution.process_count,
    }
    for name, count in counts.items():
        if count < 1:
            raise InvalidInput(f"{name} is {count}", "give at least 1")
    _check_process_total({**counts, "parameter_server_count": distribution.parameter_server_count})
    if distribution.parameter_server_count < 0:
        raise InvalidInput(f"parameter_server_count is {distribution.parameter_server_count}", "give 0 or more")
    nodes = distribution.node_count
    if distribution.kind == "torch" and (distribution.process_count or nodes) < nodes:
        raise InvalidInput(
            f"process_count is {distribution.process_count}, less than node_count, which is {nodes}",
            "give at least one process for each node: process_count is the total over all of them",
        )
