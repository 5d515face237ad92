"""An engine whose nodes are network namespaces of this machine that do not see the server's home directory.

It proves that engines, agents and jobs need neither a shared directory nor the server's socket. An agent runs in the
network namespace of its node, with a root directory of its own, and in a mount namespace in which empty file systems
cover the directories of `hide`. It starts from the bundle, as on any other machine. `register` adds the engine
to a home, whose server needs `SERVER_VARIABLES`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from footplate import environ
from footplate.engines import agent_bootstrap
from footplate.engines.base import AgentJob, LaunchRequest, Observation
from footplate.engines.remote_start import COMMON_OPTIONS, remote_start
from footplate.errors import InvalidInput, Unavailable
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder

SERVER_VARIABLES = {"PYTHONPATH": str(Path(__file__).parents[1])}
"""A server with these variables finds this module."""

_START = """
hold=$1; shift
while [ -n "$hold" ] && [ ! -e "$hold" ]; do sleep 0.05; done
IFS=:; for directory in $0; do mount -t tmpfs -o size=4k,mode=755 hidden "$directory" || exit 1; done
exec "$@"
"""
_NEVER = 4102444800.0  # 2100: an estimate that tests recognize


def register(home: Path) -> None:
    (home / "settings.ini").write_text(f"[engines]\nnamespaces = {__name__}:NamespaceEngine\n")


class NamespaceEngine:
    """`program` is an argv that replaces the agent, in tests of the engine itself."""

    name = "namespaces"
    shares_home = False
    options: Mapping[str, str] = {
        "namespaces": "network namespaces, one for each node, separated by commas",
        "root": "directory in which each node gets a root directory of its own",
        "hide": "directories that agents must not see, separated by colons",
        "python": COMMON_OPTIONS["python"],
        "gpu_programs": "directory of programs, such as nvidia-smi, that only agents with GPUs find",
        "hold": "file that agents wait for, as if the cluster were full",
        "shared": COMMON_OPTIONS["shared"],
    }
    run_options = ("hold",)

    def __init__(self, program: Sequence[str] = ()) -> None:
        self._program = list(program)

    def node_shape(self) -> None:
        return None

    def reach(self, options: Mapping[str, Any]) -> int:
        names = _names(options)
        for name in names:
            if not os.path.exists(f"/run/netns/{name}"):
                raise Unavailable(f"there is no network namespace {name!r}", "make it with: ip netns add")
        return len(names)

    def prepare(self, job: AgentJob) -> LaunchRequest:
        names = _names(job.options)
        if not 1 <= job.node_count <= len(names):
            raise InvalidInput(f"node_count is {job.node_count}", f"give 1 to {len(names)}")
        for option in ("root", "hide"):
            if not job.options.get(option):
                raise InvalidInput(f"the compute target has no option {option!r}", self.options[option])
        agents = [_describe_agent(job, node, names[node], self._program) for node in range(job.node_count)]
        return LaunchRequest(self.name, job.run, job.attempt, {"agents": agents})

    def submit(self, request: LaunchRequest) -> str:
        started = [_start(agent, request) for agent in request.body["agents"]]
        return json.dumps({"run": request.run, "attempt": request.attempt, "agents": started}, sort_keys=True)

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        return {handle: _observe(_agents(handle)) for handle in handles}

    def cancel(self, handle: str, grace: float) -> None:
        agents = _agents(handle)
        process_tree.send([agent.pid for agent in agents if agent.is_alive()], signal.SIGTERM)
        timer = threading.Timer(grace, _end_by_force, [agents])
        timer.daemon = True
        timer.start()

    def forget(self, handle: str) -> bool:
        agents = _agents(handle)
        if any(agent.is_alive() for agent in agents):
            return False
        for agent in agents:
            if agent.folder.exists() and agent.folder.read_exit() != 0:  # else kept on purpose
                agent.folder.remove()
        return True


def _names(options: Mapping[str, Any]) -> list[str]:
    return [name for name in str(options.get("namespaces", "")).split(",") if name]


class _Agent:
    """An agent that was started, as the handle describes it."""

    def __init__(self, known: dict[str, Any], run: str, node: int, attempt: int) -> None:
        self.pid, self._identity, self.place = int(known["pid"]), str(known["identity"]), str(known["namespace"])
        self.hold = str(known["hold"])
        self.folder = NodeFolder(known["root"], run, node, attempt)

    def is_alive(self) -> bool:
        return process_tree.alive(self.pid, self._identity)


def _describe_agent(job: AgentJob, node: int, namespace: str, program: Sequence[str]) -> dict[str, Any]:
    root = os.path.join(str(job.options["root"]), namespace)
    start, hold = remote_start(job), str(job.options.get("hold") or "")
    command = program or [*start.interpreter, "-c", start.script]
    inside = ["sh", "-c", _START, str(job.options["hide"]), hold, *command]
    programs = [str(job.options.get("gpu_programs") or "")] if job.resources.gpus else []
    variables = {
        "PATH": os.pathsep.join([*filter(None, programs), os.environ.get("PATH", os.defpath)]),
        **({"PYTHONPATH": os.pathsep.join(sys.path)} if program else {}),
        process_tree.MACHINERY: f"{job.run}/{node}",
        **start.variables,
        environ.NODE_HOME: root,
    }
    argv = ["nsenter", f"--net=/run/netns/{namespace}", "unshare", "--mount", *inside, *start.arguments(node)]
    known = {"root": root, "namespace": namespace, "hold": hold}
    return {"argv": argv, "variables": variables, "node": node, **known}


def _start(agent: dict[str, Any], request: LaunchRequest) -> dict[str, Any]:
    """Start an agent unless it lives. Every program on the way replaces itself, so the pid and the lock stay."""
    folder = NodeFolder(agent["root"], request.run, agent["node"], request.attempt)
    known = {key: agent[key] for key in ("root", "namespace", "hold")}
    held = folder.take_lock()
    if held is None:
        holder = folder.read_holder() or {}
        return {**known, "pid": holder["pid"], "identity": holder["identity"]}
    with open(folder.agent_log, "ab") as log:
        process = subprocess.Popen(
            [*agent["argv"], "--lock", str(held)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=agent["variables"], pass_fds=[held],
            start_new_session=True,
        )  # fmt: skip
    identity = process_tree.identity(process.pid) or ""
    folder.write_holder(held, process.pid, identity, request.attempt)
    os.close(held)
    threading.Thread(target=_reap, args=(process, folder), name="reaper", daemon=True).start()
    return {**known, "pid": process.pid, "identity": identity}


def _reap(process: subprocess.Popen[bytes], folder: NodeFolder) -> None:
    """Record the exit code of a bootstrap that refused to start the agent, as the accounting of a cluster does."""
    code = process.wait()
    if code in (agent_bootstrap.REFUSED, agent_bootstrap.UNTRUSTED) and folder.exists():
        folder.write_exit(code)


def _agents(handle: str) -> list[_Agent]:
    try:
        known = json.loads(handle)
        return [_Agent(a, known["run"], node, known["attempt"]) for node, a in enumerate(known["agents"])]
    except (ValueError, KeyError, TypeError):
        return []


def _observe(agents: list[_Agent]) -> Observation:
    if not agents:
        return Observation("gone")
    codes = {n: a.folder.read_exit() if a.folder.exists() else 0 for n, a in enumerate(agents) if not a.is_alive()}
    if len(codes) == len(agents):
        # An agent that has finished removes its directory, too, but then nobody waits for it.
        is_lost = not any(agent.folder.exists() for agent in agents)
        return Observation("exited", codes, ended_by="node_lost" if is_lost else None)
    held = [agent.hold for agent in agents if agent.hold and not os.path.exists(agent.hold)]
    if held:
        return Observation("queued", reason=f"{held[0]} does not exist", estimated_start=_NEVER)
    lost = tuple(node for node, code in codes.items() if code is None)
    return Observation("running", codes, lost, places={node: agent.place for node, agent in enumerate(agents)})


def _end_by_force(agents: list[_Agent]) -> None:
    process_tree.send([agent.pid for agent in agents if agent.is_alive()], signal.SIGKILL)
    process_tree.end(lambda: [pid for agent in agents for pid in process_tree.members(agent.folder.marker())], 0.0)
