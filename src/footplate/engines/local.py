"""The engine of one machine: agents are detached processes of it that outlive the server.

An agent holds the flock of its `agent.lock` for life. The engine takes the lock *before* it starts the agent and passes
it on as an open file. So two concurrent starts never give two agents, and a held lock means a living agent even if the
server that started it is gone. The handle identifies each agent by pid and start time, so a reused pid is harmless.

An agent may serve several nodes, one after the other (`footplate.node.nursery`). The engine knows the last one of each:
an agent that has gone on to another node has ended for the earlier ones, and is not signalled because of them.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any, cast

from footplate import environ
from footplate.backoff import Backoff
from footplate.domain.codec import to_json
from footplate.domain.inherited_variables import agent_variables
from footplate.domain.orders import NodeOrders
from footplate.domain.shapes import Shape
from footplate.domain.targets import LOCAL
from footplate.engines.base import AgentJob, LaunchRequest, NotStarted, Observation
from footplate.engines.nursery_client import Nursery
from footplate.errors import InvalidInput, Unavailable
from footplate.node import host_info, process_tree
from footplate.node.node_directory import LOCK_NUMBER, PACKAGE, NodeFolder

_HOLDER_SECONDS = 10.0
_MOST_ASSIGNED = 1000
_LONGEST_ORDERS = 64 << 10
_NOT_NOW = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_NOT_NOW_HINT = "it starts when other processes have ended: see free, and ulimit -u and -n"
_FIRST_ADDRESS = IPv4Address("127.0.0.2")


def agent_argv() -> list[str]:
    """Return an argv that is isolated and ignores site-packages: it starts faster, and PYTHON* variables do not reach
    it.
    """
    return [sys.executable, "-I", "-S", os.path.join(PACKAGE, "node", "__main__.py")]


class LocalEngine:
    """`program` is an argv that replaces the agent, in tests of the engine itself."""

    name = LOCAL
    shares_home = True
    options: Mapping[str, str] = {}

    def __init__(self, program: Sequence[str] = ()) -> None:
        self._program = list(program)
        self._nursery = Nursery(agent_argv())
        self._assigning = threading.Lock()  # nobody signals an agent for one node while it is given another
        self._assigned: dict[int, str] = {}  # directory of the last node, by pid

    # ── The protocol ──────────────────────────────────────────────────────────────────────────────────────────────────

    def node_shape(self) -> Shape:
        return machine_shape()

    def prepare(self, job: AgentJob) -> LaunchRequest:
        if job.home is None:
            raise InvalidInput("the job has no home, and the local engine needs the server's", "set home of the job")
        if job.node_count < 1:
            raise InvalidInput(f"node_count is {job.node_count}", "give at least 1")
        common = ["--run", job.run, "--attempt", str(job.attempt), "--endpoint", job.endpoint, "--home", job.home]
        agents = [
            {
                "arguments": [
                    *common,
                    "--node",
                    str(node),
                    "--address",
                    _address(node, job.node_count),
                    "--lock",
                    str(LOCK_NUMBER),
                ],
                "variables": {
                    process_tree.MACHINERY: f"{job.run}/{node}",
                    environ.HOME: job.home,
                    **({environ.TOKEN: job.token} if job.token else {}),
                },
                "orders": _encode_orders(job.orders),
            }
            for node in range(job.node_count)
        ]
        return LaunchRequest(
            self.name, job.run, job.attempt, {"home": job.home, "program": self._program, "agents": agents}
        )

    def submit(self, request: LaunchRequest) -> str:
        home = str(request.body["home"])
        agents = cast("list[dict[str, Any]]", request.body["agents"])
        folders = [NodeFolder(home, request.run, node, request.attempt) for node in range(len(agents))]
        try:
            started = [self._start(folder, agent, request) for folder, agent in zip(folders, agents, strict=True)]
        except OSError as error:  # a full disk: directories without an agent would stay for ever
            for folder in folders:
                with contextlib.suppress(OSError):
                    _remove(folder)
            if error.errno in _NOT_NOW:
                raise NotStarted(f"the agents of {request.run} cannot be started: {error}", _NOT_NOW_HINT) from None
            raise
        handle = {"home": home, "run": request.run, "attempt": request.attempt, "agents": started}
        return json.dumps(handle, sort_keys=True, separators=(",", ":"))

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        try:
            return {handle: self._observe(handle) for handle in handles}
        except OSError as error:
            raise Unavailable(f"the agents cannot be checked: {error}", "see: footplate server logs") from None

    def cancel(self, handle: str, grace: float) -> None:
        fields = _parse(handle)
        if fields is None:
            return
        self._signal_agents(fields, signal.SIGTERM)
        timer = threading.Timer(grace, self._end_by_force, [fields])
        timer.daemon = True
        timer.start()

    def forget(self, handle: str) -> bool:
        """Remove the directories of agents that were killed before they could do so themselves."""
        fields = _parse(handle)
        if fields is None:
            return True
        removed = [_remove(folder) for folder in _folders(fields)]
        return all(removed)

    # ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, folder: NodeFolder, agent: dict[str, Any], request: LaunchRequest) -> dict[str, Any]:
        """Start one agent unless it lives; return its identity."""
        message = {
            "program": request.body["program"],
            "arguments": agent["arguments"],
            "variables": {**agent_variables(os.environ), **agent["variables"]},
            "log": folder.agent_log,
            "orders": agent["orders"],
        }
        backoff = Backoff(0.01, 0.5)
        deadline = time.monotonic() + _HOLDER_SECONDS
        can_fork = True
        while True:
            lock = folder.take_lock()
            if lock is None:  # by an agent, or for a moment by a nursery that is dying
                if (holder := _find_holder(folder)) is not None:
                    return holder
                if time.monotonic() > deadline:
                    raise NotStarted(f"{folder.path} is locked by an unknown process", "find it with: lsof agent.lock")
                backoff.wait()
                continue
            try:
                folder.forget_exit()
                pid = self._assign(folder, message, lock, can_fork)
                if pid is not None:
                    identity = process_tree.identity(pid) or ""
                    with contextlib.suppress(OSError):  # a full disk: the agent lives, and writes it as well
                        folder.write_holder(lock, pid, identity, request.attempt)
                    return {"pid": pid, "identity": identity}
                can_fork = False
            finally:
                # The agent holds the lock now. If the nursery died and it is unknown whether there is an agent, the
                # lock tells.
                os.close(lock)

    def _assign(self, folder: NodeFolder, message: dict[str, Any], lock: int, can_fork: bool) -> int | None:
        with self._assigning:
            pid = self._nursery.fork(message, lock) if can_fork else self._nursery.start_alone(message, lock)
            if pid is not None:
                if len(self._assigned) >= _MOST_ASSIGNED:
                    self._assigned = {other: path for other, path in self._assigned.items() if os.path.exists(path)}
                self._assigned[pid] = folder.path
            return pid

    # ── Watching and ending ───────────────────────────────────────────────────────────────────────────────────────────

    def _serves(self, agent: tuple[int, str], folder: NodeFolder) -> bool:
        """Whether an agent lives and has not gone on to another node."""
        return process_tree.alive(*agent) and self._assigned.get(agent[0], folder.path) == folder.path

    def _observe(self, handle: str) -> Observation:
        fields = _parse(handle)
        if fields is None:
            return Observation("gone")
        agents = _agents(fields)
        codes = dict[int, int | None]()
        for node, (agent, folder) in enumerate(zip(agents, _folders(fields), strict=True)):
            if not self._serves(agent, folder):
                # An agent removes its directory when it is done, and leaves its exit code when it is not; one that was
                # killed leaves neither.
                codes[node] = folder.read_exit() if folder.exists() else 0
        if len(codes) == len(agents):
            return Observation("exited", codes)
        return Observation("running", codes, tuple(node for node, code in codes.items() if code is None))

    def _signal_agents(self, fields: dict[str, Any], number: int) -> None:
        with self._assigning:
            pairs = zip(_agents(fields), _folders(fields), strict=True)
            process_tree.send([agent[0] for agent, folder in pairs if self._serves(agent, folder)], number)

    def _end_by_force(self, fields: dict[str, Any]) -> None:
        """Kill the agents first, so that they start nothing new; then every process with the marker of their nodes."""
        self._signal_agents(fields, signal.SIGKILL)
        folders = _folders(fields)
        process_tree.end(lambda: [pid for folder in folders for pid in process_tree.members(folder.marker())], 0.0)


@functools.cache  # every submission asks, and GPU drivers are slow
def machine_shape() -> Shape:
    """Return the shape of this machine, which every virtual node shares."""
    about = host_info.describe()
    return Shape(int(about["cpus"] or 1), about["memory"] / 2**30, int(about["gpus"]))


def _encode_orders(orders: NodeOrders | None) -> dict[str, Any] | None:
    """Return the orders as JSON; None if they are too long for a message. Then the agent requests them."""
    document = None if orders is None else to_json(orders)
    return document if len(json.dumps(document)) <= _LONGEST_ORDERS else None


def _address(node: int, count: int) -> str:
    """Return the loopback address of a virtual node: 127.0.0.2, 127.0.0.3, … if there are several nodes."""
    return "127.0.0.1" if count == 1 else str(_FIRST_ADDRESS + node)


def _find_holder(folder: NodeFolder) -> dict[str, Any] | None:
    """Return the identity of the process that holds the lock; None if it has just started and not written it yet."""
    holder = folder.read_holder()
    if holder is not None and process_tree.alive(int(holder["pid"]), str(holder["identity"])):
        return {"pid": holder["pid"], "identity": holder["identity"]}
    return None


def _remove(folder: NodeFolder) -> bool:
    if not folder.exists() or folder.read_exit() == 0:  # done, and kept because of FOOTPLATE_KEEP_WORK
        return True
    try:
        lock = folder.take_lock()
    except FileNotFoundError:  # its agent is removing it
        return False
    if lock is None:
        return False
    try:
        folder.remove()
    finally:
        os.close(lock)
    return True


# ── Handles ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parse(handle: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(handle)
        return cast("dict[str, Any]", fields) if fields["home"] and fields["run"] and fields["agents"] else None
    except (ValueError, KeyError, TypeError):
        return None


def _agents(fields: dict[str, Any]) -> list[tuple[int, str]]:
    return [(int(agent["pid"]), str(agent["identity"])) for agent in fields["agents"]]


def _folders(fields: dict[str, Any]) -> list[NodeFolder]:
    home = str(fields["home"])
    run = str(fields["run"])
    attempt = int(fields.get("attempt", 1))
    return [NodeFolder(home, run, node, attempt) for node in range(len(fields["agents"]))]
