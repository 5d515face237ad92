"""The program that a Ray job runs. It travels to the cluster as text: standard library, and `ray` for several nodes.

    node K    runs the agent of node K on this machine: the job itself for one node, or started by an actor below
    gang      reserves one bundle per node, has an actor start the agent in each, and waits until all have ended

A guard outside the process group of Ray's job holds the agent and everything that descends from it. Ray signals and
kills only the launcher; the guard passes a request to stop on to the agent alone, and when the launcher dies it kills
every descendant, whatever sessions they have made. `JOB` is the description of the job that the entrypoint has decoded.
"""

import ctypes
import importlib
import json
import os
import select
import signal
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

JOB: Dict[str, Any] = globals().get("JOB", {})
PR_SET_CHILD_SUBREAPER = 36
LOOK_SECONDS = 0.5
FORCE_SECONDS = 10.0
RESULT = "footplate-result "
LOST = 70
"""The exit code of a launcher whose guard is gone."""

_HIDDEN = ("RAY_JOB_CONFIG_JSON_ENV_VAR", "PYTHONUNBUFFERED", "PYTHONBREAKPOINT")
"""Variables of Ray's job that are not the agent's: the first repeats our own, with the token of the run."""


# ── One node ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_node(node: int) -> int:
    """Start the guard, pass SIGTERM on to it, and return the agent's exit code."""
    requests, stop_pipe = os.pipe()  # we hold the writing end, so that our death closes it
    answer, answered = os.pipe()
    parent = os.getppid()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(stop_pipe)
            os.close(answer)
            os._exit(guard(node, requests, answered))
        os._exit(0)
    os.wait()
    os.close(requests)
    os.close(answered)
    signal.signal(signal.SIGTERM, lambda _number, _frame: os.write(stop_pipe, b"T") and None)
    while not select.select([answer], [], [], LOOK_SECONDS)[0]:
        if os.getppid() != parent:  # Ray's own process is dead, and nobody else would end us
            return LOST
    code = os.read(answer, 16)
    return int(code) if code else LOST


def guard(node: int, requests: int, answered: int) -> int:
    """Run the agent until it ends; kill everything below when the launcher has died, or when the agent has ended."""
    code = None
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        agent = os.fork()
        if agent == 0:
            run_bootstrap(node, (requests, answered))
        while code is None:
            code = reap(agent)
            if code is None and select.select([requests], [], [], LOOK_SECONDS / 5)[0]:
                if not os.read(requests, 1):
                    break
                os.kill(agent, signal.SIGTERM)
    finally:
        end_descendants()
    if code is not None:
        os.write(answered, str(code).encode())
    return 0


def run_bootstrap(node: int, files: Tuple[int, int]) -> None:
    """Become the bootstrap, in a session of its own. It never returns."""
    for file in files:
        os.close(file)
    os.setsid()
    for name in _HIDDEN:
        os.environ.pop(name, None)
    os.environ.update(JOB["variables"])
    sys.argv = ["bootstrap", *JOB["arguments"][node]]
    code = 1
    try:
        exec(compile(JOB["script"], "bootstrap", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stdout.flush()
        os._exit(code)


def reap(agent: int) -> Optional[int]:
    """Reap dead children; return the agent's exit code if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == agent:
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def end_descendants() -> None:
    """Kill every descendant. Orphans are children of this process, so none escapes."""
    give_up = time.monotonic() + FORCE_SECONDS
    while time.monotonic() < give_up:
        reap(0)
        pids = descendants(os.getpid())
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def descendants(root: int) -> List[int]:
    children: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    pids: List[int] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop()
        pids.append(pid)
        waiting += children.get(pid, ())
    return pids


# ── Several nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────


class FootplateNode:
    """An actor: it starts the launcher of one node on the machine where Ray has put it."""

    def __init__(self, argv: List[str], variables: Dict[str, str]) -> None:
        import subprocess  # noqa: PLC0415  # this class travels without its module

        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=dict(os.environ, **variables))

    def poll(self) -> Optional[int]:
        return self._process.poll()

    def stop(self) -> None:
        self._process.terminate()


class Gang:
    """The nodes of one run. `codes` are the exit codes of the ended ones, None where a node was lost."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._stopping = False
        self._asked = False
        self._actors: Dict[int, Any] = {}
        self._ended: List[Any] = []  # kept, because an actor that nobody refers to dies and looks lost
        self.codes: Dict[int, Optional[int]] = {}
        self.lost: Dict[int, str] = {}
        signal.signal(signal.SIGTERM, self._on_stop)  # replaces the handler that ray.init installs

    def _on_stop(self, *_: Any) -> None:
        self._stopping = True

    def reserve(self) -> Any:
        """Wait for the bundles, for ever if need be; return the group, or None if asked to stop."""
        groups = importlib.import_module("ray.util.placement_group")
        count = len(JOB["arguments"])
        bundles = [dict(JOB["bundle"]) for _ in range(count)]
        strategy = "STRICT_SPREAD" if count > 1 else "PACK"
        group = groups.placement_group(bundles, strategy=strategy, name=JOB["name"])
        while not self._stopping:
            if group.wait(timeout_seconds=LOOK_SECONDS):
                return group
        return None

    def start(self, group: Any) -> None:
        groups = importlib.import_module("ray.util.placement_group")
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        hosts = {node["NodeID"]: node["NodeManagerAddress"] for node in self._ray.nodes()}
        places = groups.placement_group_table(group).get("bundles_to_node_id", {})
        remote = self._ray.remote(FootplateNode)
        for node in range(len(JOB["arguments"])):
            bundle = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=node)
            needs = dict(JOB["bundle"])
            argv = [*JOB["python"], "-c", JOB["loader"], "node", str(node)]
            self._actors[node] = remote.options(
                name="/".join((JOB["name"], str(node), hosts.get(places.get(node), ""))),
                num_cpus=needs.pop("CPU", 0), num_gpus=needs.pop("GPU", 0), memory=needs.pop("memory", None),
                resources=needs, max_restarts=0, scheduling_strategy=bundle,
                runtime_env={"env_vars": {JOB["variable"]: ""}},  # long, and Ray would keep a copy for each actor
            ).remote(argv, {JOB["variable"]: JOB["text"]})  # fmt: skip

    def watch(self) -> None:
        """Wait until every node has ended or is lost."""
        while self._actors:
            self._pass_stop_on()
            polls = {node: actor.poll.remote() for node, actor in self._actors.items()}
            self._ray.wait(list(polls.values()), num_returns=len(polls), timeout=LOOK_SECONDS)
            for node, answer in polls.items():
                self._take(node, answer)
            time.sleep(LOOK_SECONDS if self._actors else 0)

    def _take(self, node: int, answer: Any) -> None:
        errors = self._ray.exceptions
        try:
            code = self._ray.get(answer, timeout=0.01)
        except errors.GetTimeoutError:
            return
        except errors.RayActorError as error:
            if type(error).__name__ == "ActorUnavailableError":  # it may come back
                return
            self.lost[node] = " ".join(str(error).split())[:300]
            code = None
        else:
            if code is None:
                return
        self.codes[node] = code
        self._ended.append(self._actors.pop(node))

    def _pass_stop_on(self) -> None:
        """Ask the agents once. After their grace Ray kills this driver, then its actors, and the guards do the rest."""
        if self._stopping and not self._asked:
            self._asked = True
            for actor in self._actors.values():
                actor.stop.remote()


def run_gang() -> int:
    """Run the agents of several nodes; report their exit codes in the last line of the log, which Ray keeps."""
    ray = importlib.import_module("ray")  # only several nodes need it
    ray.init(address="auto", namespace="footplate", log_to_driver=False, logging_level="ERROR")
    gang = Gang(ray)
    group = gang.reserve()
    if group is not None:
        gang.start(group)
        gang.watch()
    failed = group is None or any(code != 0 for code in gang.codes.values())
    ray.shutdown()
    if failed:  # the last line, because Ray keeps only the last ones, and prints some when it shuts down
        sys.stdout.write(RESULT + json.dumps({"codes": gang.codes, "lost": gang.lost}) + "\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    os._exit(run_node(int(sys.argv[2])) if sys.argv[1] == "node" else run_gang())
