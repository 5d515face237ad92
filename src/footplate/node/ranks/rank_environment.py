"""Composes what ranks are started with: interpreter, arguments and environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from footplate import __version__, environ
from footplate.domain import azure_variables, inherited_variables
from footplate.domain.locks import AZUREML, MLFLOW
from footplate.domain.orders import CHECKPOINTS, NodeOrders, Program, RankPlan
from footplate.domain.values import Value, field
from footplate.environments.base import Interpreter
from footplate.node import distributions, host_info, rendezvous
from footplate.node.node_directory import NodeFolder, runtime_folder
from footplate.node.options import AgentOptions

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")
# The bootstrap does this for scripts: an agent that is not the shell's parent reads there how the command ended.
_NOTE_AT_EXIT = r"""trap 'set -- $? "$FOOTPLATE_EXITS/rank_$FOOTPLATE_RANK"
printf "{\"code\": %d}" $1 > "$2.new" && mv -f "$2.new" "$2.json"' EXIT
"""


class RankEnvironment(Value):
    """The parts of the environment that all ranks of a node share."""

    interpreter: Interpreter
    runtime: str  # the directory from which jobs import Footplate
    python: str  # a directory in which `python` is the interpreter
    inherited: Mapping[str, str]
    ours: Mapping[str, str]
    marker: Mapping[str, str]
    shared: Mapping[str, str] = field(default_factory=lambda: {})  # overrides the plan if nodes share a directory
    metadata: str = ""  # a directory with the metadata of the azureml packages
    defaults: Mapping[str, str] = field(default_factory=lambda: {})  # settings of the user or the machine come first

    @property
    def base(self) -> dict[str, str]:
        """The variables of the machine that every job gets."""
        choose = inherited_variables.job_variables
        if self.interpreter.container is not None:
            choose = inherited_variables.container_variables
        return choose(self.inherited)

    @property
    def engine(self) -> dict[str, str]:
        """The variables of the container engine itself."""
        return inherited_variables.engine_variables(self.inherited)


def for_ranks(
    interpreter: Interpreter, folder: NodeFolder, orders: NodeOrders, ours: Mapping[str, str]
) -> RankEnvironment:
    # A container sees the run's own directory; other jobs share one that exists already.
    shared = folder.path if interpreter.container is not None else os.path.join(folder.home, "runtime")
    metadata = distributions.write(os.path.join(shared, "distributions"), orders.lock)
    return RankEnvironment(
        interpreter, runtime_folder(folder.home, __version__), python_folder(interpreter, folder),
        inherited=dict(os.environ), ours=ours, marker=folder.marker(),
        shared=rendezvous.shared_variables(orders, folder), metadata=metadata,
        defaults=rendezvous.network_defaults(orders),
    )  # fmt: skip


def own_variables(folder: NodeFolder, options: AgentOptions) -> dict[str, str]:
    """Return Footplate's own variables, the same for every rank of this node."""
    variables = {
        environ.ENDPOINT: options.endpoint,
        environ.JOURNALS: folder.journals,
        environ.ATTEMPT: str(options.attempt),
        environ.CHECKPOINTS: os.path.join(folder.wd, CHECKPOINTS),
        "AZ_BATCHAI_JOB_TEMP": folder.tmp,
        "AZ_BATCHAI_SHARED_JOB_TEMP": folder.shared or folder.tmp,
        "AZ_BATCHAI_JOB_WORK_DIR": folder.wd,
        environ.DATA_WORKER: json.dumps(host_info.own_python()),
        environ.CACHE: os.path.join(folder.home, "cache"),
    }
    if options.token:
        variables[environ.TOKEN] = options.token
    if environ.CA in os.environ:
        variables[environ.CA] = os.environ[environ.CA]
    if options.home:
        variables[environ.HOME] = options.home
    return variables


def rank_argv(program: Program, setting: RankEnvironment) -> list[str]:
    if program.command is not None:
        return ["/bin/sh", "-c", _NOTE_AT_EXIT + program.command]
    bootstrap = os.path.join(setting.runtime, "footplate", "job", "bootstrap.py")
    container = setting.interpreter.container
    python = setting.interpreter.argv if container is None else (container.python,)
    return [*python, bootstrap, program.script or "", *program.arguments]


def rank_variables(orders: NodeOrders, plan: RankPlan, setting: RankEnvironment) -> dict[str, str]:
    """Compose the environment of one rank; later parts win: machine, Footplate, user, environment, rank."""
    brought = setting.interpreter.variables
    variables = {
        **plan.defaults,
        **setting.defaults,
        **setting.base,
        "PYTHONUNBUFFERED": "1",
        **setting.ours,
        **orders.variables,
        **brought,
    }
    variables.update({**plan.variables, **setting.shared})
    variables.update(_mlflow_variables(orders, variables))
    variables.update(_straight_to(orders.peers, variables))
    variables.update(setting.marker)
    variables[environ.RANK] = str(plan.rank)
    variables["PYTHONPATH"] = os.pathsep.join(
        filter(None, [setting.runtime, variables.get("PYTHONPATH"), setting.metadata])
    )
    if setting.interpreter.container is None:  # an image has a PATH of its own
        searched = [setting.python, variables.get("PATH") or os.defpath, *setting.interpreter.programs]
        variables["PATH"] = os.pathsep.join(searched)
    return variables


def _mlflow_variables(orders: NodeOrders, variables: Mapping[str, str]) -> dict[str, str]:
    """Return MLflow's variables for this run; none of them if the user has chosen another place for MLflow's runs."""
    if azure_variables.TRACKING_URI in variables or "AZUREML_ARM_WORKSPACE_NAME" not in orders.variables:
        return {}
    has_plugin = MLFLOW in orders.lock.content.get(AZUREML, {})
    settings = azure_variables.mlflow_variables(orders.variables, has_plugin)
    return {name: value for name, value in settings.items() if name not in variables}


def _straight_to(peers: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Bypass proxies for other nodes: gRPC and others would ask a proxy that cannot reach them, and hang."""
    if not peers or not any(variables.get(name) or variables.get(name.upper()) for name in _PROXIES):
        return {}
    exceptions = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    hosts = [host.strip() for host in exceptions.split(",") if host.strip()]
    merged = ",".join([*hosts, *(peer for peer in dict.fromkeys(peers) if peer not in hosts)])
    return {"no_proxy": merged, "NO_PROXY": merged}


def python_folder(interpreter: Interpreter, folder: NodeFolder) -> str:
    """Return a directory in which `python` is the environment's interpreter, for commands that use this name."""
    program = interpreter.argv[0]
    beside = os.path.dirname(program)
    if len(interpreter.argv) == 1 and _is_same(program, os.path.join(beside, "python")):
        return beside
    # A symlink would not do: a virtual environment is recognized by the path that its interpreter is started by.
    own = os.path.join(folder.path, "bin")
    os.makedirs(own, exist_ok=True)
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in interpreter.argv)
    for name in ("python", "python3"):
        with open(os.open(os.path.join(own, name), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o755), "w") as file:
            file.write(f'#!/bin/sh\nexec {words} "$@"\n')
    return own


def _is_same(program: str, other: str) -> bool:
    return program == other or (os.path.exists(other) and os.path.samefile(program, other))
