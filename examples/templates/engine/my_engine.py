"""An engine that starts agents as processes of this machine, in place of a cluster.

Replace `_start`, `_Agent.is_alive` and `_end` by requests to your cluster. The class itself can stay as it is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footplate import environ
from footplate.engines import agent_bootstrap
from footplate.engines.base import AgentJob, LaunchRequest, NotStarted, Observation
from footplate.engines.remote_start import COMMON_OPTIONS, remote_start
from footplate.errors import InvalidInput
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder


class MyEngine:
    """`program` is an argv that replaces the agent, for the conformance suite."""

    name = "mine"
    shares_home = False
    options: Mapping[str, str] = COMMON_OPTIONS  # add options of your own: name → meaning, in a few words

    def __init__(self, program: Sequence[str] = ()) -> None:
        self._program = list(program)

    def node_shape(self) -> None:
        return None  # the machines differ; return a Shape if the nodes share one machine

    def prepare(self, job: AgentJob) -> LaunchRequest:
        """Render everything that `submit` needs as JSON: after a crash, another process submits it again."""
        if job.node_count < 1:
            raise InvalidInput(f"node_count is {job.node_count}", "give 1 or more")
        start = remote_start(job)
        root = os.path.expanduser(str(job.options.get("scratch") or agent_bootstrap.DEFAULT_HOME))
        variables = {"PATH": os.environ.get("PATH", os.defpath), **start.variables, environ.NODE_HOME: root}
        command = self._program or [*start.interpreter, "-c", start.script]
        argvs = [[*command, *start.arguments(node)] for node in range(job.node_count)]
        return LaunchRequest(self.name, job.run, job.attempt, {"root": root, "argvs": argvs, "variables": variables})

    def submit(self, request: LaunchRequest) -> str:
        body = request.body
        folders = [NodeFolder(body["root"], request.run, n, request.attempt) for n in range(len(body["argvs"]))]
        agents = [
            _start(folder, argv, body["variables"], request.attempt) for folder, argv in zip(folders, body["argvs"])
        ]
        handle = {"root": body["root"], "run": request.run, "attempt": request.attempt, "agents": agents}
        return json.dumps(handle, sort_keys=True)

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        return {handle: _observe(_agents(handle)) for handle in handles}

    def cancel(self, handle: str, grace: float) -> None:
        agents = _agents(handle)
        process_tree.send([agent.pid for agent in agents if agent.is_alive()], signal.SIGTERM)
        timer = threading.Timer(grace, _end, [agents])
        timer.daemon = True
        timer.start()

    def forget(self, handle: str) -> bool:
        agents = _agents(handle)
        if any(agent.is_alive() for agent in agents):
            return False
        for agent in agents:
            if agent.folder.exists():
                agent.folder.remove()
        return True


@dataclass(frozen=True)
class _Agent:
    folder: NodeFolder
    pid: int
    identity: str
    """Tells the process from a later one with the same number."""

    def is_alive(self) -> bool:
        return process_tree.alive(self.pid, self.identity)


def _agents(handle: str) -> list[_Agent]:
    """Return the agents that a handle describes: none if it is not ours."""
    try:
        fields = json.loads(handle)
        return [
            _Agent(NodeFolder(fields["root"], fields["run"], node, fields["attempt"]), agent["pid"], agent["identity"])
            for node, agent in enumerate(fields["agents"])
        ]
    except (ValueError, KeyError, TypeError):
        return []


def _observe(agents: list[_Agent]) -> Observation:
    if not agents:
        return Observation("gone")
    codes = {
        node: agent.folder.read_exit() if agent.folder.exists() else 0
        for node, agent in enumerate(agents)
        if not agent.is_alive()
    }
    if len(codes) == len(agents):
        return Observation("exited", codes)
    return Observation("running", codes, lost=tuple(node for node, code in codes.items() if code is None))


def _start(folder: NodeFolder, argv: list[str], variables: dict[str, str], attempt: int) -> dict[str, Any]:
    """Start an agent unless it lives. It holds the lock of its folder, so two servers never start it twice."""
    lock = folder.take_lock()
    if lock is None:
        holder = folder.read_holder()
        if holder is None:
            raise NotStarted("an agent of this run is just being started", "the server repeats the launch")
        return {"pid": holder["pid"], "identity": holder["identity"]}
    with open(folder.agent_log, "ab") as log:
        process = subprocess.Popen(
            [*argv, "--lock", str(lock)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables, pass_fds=[lock], start_new_session=True,
        )  # fmt: skip
    identity = process_tree.identity(process.pid) or ""
    folder.write_holder(lock, process.pid, identity, attempt)
    os.close(lock)
    threading.Thread(target=process.wait, name="reaper", daemon=True).start()
    return {"pid": process.pid, "identity": identity}


def _end(agents: list[_Agent]) -> None:
    """End agents and everything that they have started, by force."""
    process_tree.send([agent.pid for agent in agents if agent.is_alive()], signal.SIGKILL)
    process_tree.end(lambda: [pid for agent in agents for pid in process_tree.members(agent.folder.marker())], 0.0)
