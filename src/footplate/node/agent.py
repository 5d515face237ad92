"""The story of one node of one run: join, prepare, start the ranks, see them end, hand everything over.

What stands between the start of this process and the first line of the user's script is kept short: one round trip,
which fetches the orders. On one machine the process is forked from one that has everything loaded (`nursery`).
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from footplate import __version__, environments
from footplate.client.home import read_record
from footplate.client.launcher import revive_server
from footplate.client.transport import Transport
from footplate.domain.launch import NodeOrders
from footplate.domain.records import Cause
from footplate.environments.base import Interpreter
from footplate.errors import Conflict, FootplateError, NotFound
from footplate.node import causes, outputs, ranks, sampler, snapshot, tree
from footplate.node.courier import Courier
from footplate.node.link import SHORT_PATIENCE, Abandoned, Link
from footplate.node.sampler import Sampler
from footplate.node.sync import Shipper
from footplate.node.workdir import NodeFolder, runtime_folder, see_installed_packages

GRACE_SECONDS = 10.0
"""Between the request to end and the force, for ranks that are to stop. FOOTPLATE_GRACE_SECONDS changes it."""

LEFTOVER_GRACE_SECONDS = 2.0
_IDLE_LOOK_SECONDS = 5.0
_GANG_WAIT_SECONDS = 20.0
BUILD_LOG = "azureml-logs/20_image_build_log.txt"


class Options:
    """What the engine said. Parsed by hand: argparse would cost more than all of it is worth."""

    NAMES = ("run", "node", "attempt", "endpoint", "home", "lock")

    def __init__(self, arguments: list[str]) -> None:
        given = dict(zip(arguments[::2], arguments[1::2], strict=False))
        unknown = [name for name in given if name.removeprefix("--") not in self.NAMES]
        missing = [name for name in ("run", "node", "endpoint") if f"--{name}" not in given]
        if unknown or missing or len(arguments) % 2:
            sys.exit(
                f"footplate.node: {'unknown: ' + ' '.join(unknown) if unknown else 'missing: ' + ' '.join(missing)}\n"
                "usage: python -m footplate.node --run RUN --node N --endpoint URL [--attempt N] [--home FOLDER]"
            )
        self.run = given["--run"]
        self.node = int(given["--node"])
        self.attempt = int(given.get("--attempt", "1"))
        self.endpoint = given["--endpoint"]
        self.home = given.get("--home")  # only when it is the server's own
        self.lock = int(given["--lock"]) if "--lock" in given else None  # an open file: the lock, taken for us


class _Stopped(Exception):
    """Told to stop while the ranks were not yet started."""


class _Failed(Exception):
    """The ranks cannot be started."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.message)
        self.cause = cause


def main(arguments: list[str]) -> int:
    options = Options(arguments)
    home = options.home or os.environ.get("FOOTPLATE_NODE_HOME") or os.path.expanduser("~/.cache/footplate")
    folder = NodeFolder(home, options.run, options.node)
    held = _inherited_lock(options.lock) if options.lock is not None else folder.take_lock()
    if held is None:
        return 0  # another agent of this node lives: nothing to do, and nothing to say about its end
    folder.write_holder(held, os.getpid(), tree.identity(os.getpid()) or "", options.attempt)
    folder.forget_exit()
    code = 70
    try:
        code = Agent(options, folder).work()
    except Abandoned as why:
        say(f"giving up: {why}")
        folder.remove()
        code = 0
    finally:
        if folder.exists():
            folder.write_exit(code)
    return code


def preload() -> None:
    """Load now what would otherwise be loaded later: for a process that agents are forked from."""
    see_installed_packages()
    for name in ("existing", "venv"):
        environments.load(name)
    sampler.preload()


def _inherited_lock(number: int) -> int:
    """The lock that the engine took for us. The ranks must not inherit it, nor anything else that the engine had open."""
    os.set_inheritable(number, False)
    os.closerange(number + 1, 65536)
    return number


def say(line: str) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    print(f"{stamp}.{int(now % 1 * 1000):03d}Z {line}", flush=True)  # noqa: T201 (stdout is the agent's log)


class Agent:
    def __init__(self, options: Options, folder: NodeFolder) -> None:
        self._options = options
        self._folder = folder
        starter = self._revive_server if options.home else None
        self._token = os.environ.get("FOOTPLATE_TOKEN")
        transport = Transport(options.endpoint, self._token, starter, SHORT_PATIENCE)
        self._link = Link(transport, options.run, options.node, folder.exists)
        self._ranks: list[ranks.Rank] = []
        self._orders: NodeOrders
        self._began = time.time()
        self._why_stop: str | None = None
        self._interruptible = False
        self._courier: Courier | None = None
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        os.environ[tree.MACHINERY] = f"{options.run}/{options.node}"

    def work(self) -> int:
        self._listen_to_signals()
        self._folder.make()
        oom_before = causes.oom_kills()
        try:
            self._orders = self._link.insist(self._join)
        except (NotFound, Conflict) as error:
            self._end_leftovers(GRACE_SECONDS)
            raise Abandoned(error.message) from None
        try:
            if not self._adopt():
                self._start(self._prepare())
            cause = self._watch(oom_before)
        except _Stopped:
            cause = self._canceled()
        except _Failed as failed:
            cause = failed.cause
        self._end_leftovers(LEFTOVER_GRACE_SECONDS)
        self._hand_over(cause)
        return 0

    # ── Being told to stop ────────────────────────────────────────────────────────────────────────────────────────────

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def _on_signal(self, number: int, _frame: object) -> None:
        self._why_stop = self._why_stop or f"the node agent was told to stop ({signal.Signals(number).name})"
        if self._interruptible:
            self._interruptible = False
            raise _Stopped

    def _on_stop(self, why: str) -> None:
        """From the courier's thread. The signal is what reaches a main thread that waits for a build."""
        if self._why_stop is None:
            self._why_stop = why
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    def _canceled(self) -> Cause:
        return Cause("canceled", self._why_stop or "the run is to end", node=self._options.node)

    # ── Before the start ──────────────────────────────────────────────────────────────────────────────────────────────

    def _join(self) -> NodeOrders:
        host, address = os.uname().nodename, "127.0.0.1"
        if not self._options.home:
            address = _address_towards(self._options.endpoint) or host
        return self._link.join(self._options.attempt, host, address, _machine())

    def _revive_server(self) -> str:
        if not self._folder.exists():
            raise Abandoned("the work folder is gone")
        return revive_server(self._options.home or "")

    def _prepare(self) -> Interpreter:
        """Everything that the ranks need, in the order in which it can fail soonest."""
        self._interruptible = True
        if self._why_stop is not None or self._orders.stop:
            raise _Stopped
        self._wait_for_the_gang()
        self._fetch_snapshot()
        interpreter = self._build_environment()
        self._interruptible = False
        return interpreter

    def _wait_for_the_gang(self) -> None:
        while not self._orders.ready:
            self._talk()
            self._orders = self._link.insist(lambda: self._link.orders(_GANG_WAIT_SECONDS))
            if self._orders.stop:
                raise _Stopped

    def _fetch_snapshot(self) -> None:
        home = self._options.home
        try:
            if self._orders.snapshot is not None:
                snapshot.fetch(self._orders.snapshot, self._link, home, self._folder)
            for name in {"outputs", "logs", *self._orders.collect, *self._orders.watch}:
                os.makedirs(os.path.join(self._folder.wd, name), exist_ok=True)
        except (FootplateError, OSError) as error:
            raise _Failed(self._cause_of("snapshot_failed", "the source folder could not be laid out", error)) from None
        script = self._orders.program.script
        if script is not None and not os.path.isfile(os.path.join(self._folder.wd, script)):
            hint = "check script= and source_directory=, and that no ignore file leaves it out"
            words = f"the script {script!r} is not in the source folder"
            raise _Failed(Cause("start_failed", words, hint, node=self._options.node))

    def _build_environment(self) -> Interpreter:
        lock = self._orders.lock
        try:
            root = Path(self._folder.home) / "environments"
            return environments.load(lock.builder).build(lock, root, self._say_build)
        except (FootplateError, OSError) as error:
            raise _Failed(self._cause_of("environment_failed", "the environment could not be built", error)) from None

    def _say_build(self, line: str) -> None:
        """A line of the build log. That there is one means that it takes time: now the server is told, too."""
        name = BUILD_LOG if self._options.node == 0 else BUILD_LOG.replace(".txt", f"_{self._options.node}.txt")
        path = os.path.join(self._folder.logs, name)
        first = not os.path.exists(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")
        if first:
            self._talk().tell("prepares", f"building the environment: {line}")

    def _cause_of(self, code: str, what: str, error: Exception) -> Cause:
        if isinstance(error, FootplateError):
            return Cause(code, f"{what}: {error.message}", error.hint, node=self._options.node)
        return Cause(code, f"{what}: {error}", "see the system_logs of the run", node=self._options.node)

    # ── The ranks ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, interpreter: Interpreter) -> None:
        orders, folder = self._orders, self._folder
        runtime = runtime_folder(folder.home, __version__)
        argv = ranks.rank_argv(orders.program, interpreter, runtime)
        python = ranks.python_folder(interpreter, folder)
        ours, inherited = self._job_variables(), dict(os.environ)
        del inherited[tree.MACHINERY]
        os.chdir(folder.wd)
        folder.write_state({"run": orders.run, "began": self._began})
        try:
            for plan in orders.ranks:
                variables = ranks.rank_variables(inherited, orders, plan, interpreter, ours, runtime, python)
                self._ranks.append(ranks.start(plan, argv, variables, folder))
        except ranks.StartFailed as failed:
            cause = Cause("start_failed", failed.message, failed.hint, node=self._options.node, rank=failed.rank)
            raise _Failed(cause) from None
        finally:
            self._began = time.time()
            tree.become_subreaper()
            self._write_state()
        say("started " + ", ".join(f"rank {rank.number} as process {rank.pid}" for rank in self._ranks))

    def _job_variables(self) -> dict[str, str]:
        """What Footplate itself tells every rank of this node."""
        folder, options = self._folder, self._options
        variables = {
            "FOOTPLATE_ENDPOINT": options.endpoint,
            "FOOTPLATE_JOURNALS": folder.journals,
            "FOOTPLATE_EXITS": folder.exits,
            "AZ_BATCHAI_JOB_TEMP": folder.tmp,
            "AZ_BATCHAI_JOB_WORK_DIR": folder.wd,
        }
        if self._token:
            variables["FOOTPLATE_TOKEN"] = self._token
        if options.home:
            variables["FOOTPLATE_HOME"] = options.home
        return variables

    def _write_state(self) -> None:
        state = {"run": self._orders.run, "began": self._began, "ranks": [rank.to_state() for rank in self._ranks]}
        self._folder.write_state(state)

    def _adopt(self) -> bool:
        """Whether an earlier agent had started the ranks; then they are ours now."""
        state = self._folder.read_state()
        if not state:
            return False
        found = ranks.adopt(state, self._orders.ranks)
        if "ranks" not in state and not any(rank.pid or self._left_traces(rank) for rank in found):
            return False  # it died between its decision and the first start
        self._ranks, self._began = found, float(state["began"])
        tree.become_subreaper()
        self._write_state()
        living = sum(rank.ended is None for rank in found)
        say(f"took over from an agent that died: {living} of {len(found)} ranks still run")
        return True

    def _left_traces(self, rank: ranks.Rank) -> bool:
        return os.path.exists(os.path.join(self._folder.logs, rank.log)) or bool(
            self._folder.read_rank_exit(rank.number)
        )

    def _watch(self, oom_before: int) -> Cause | None:
        """Until the ranks have ended, by themselves or because they must; returns why they did not end well."""
        self._talk().tell("started")
        samples = self._start_sampler()
        limit = self._orders.max_seconds
        try:
            while True:
                ranks.reap(self._ranks)
                cause = self._first_failure(oom_before)
                left = None if limit is None else self._began + limit - time.time()
                if cause is None and self._why_stop is not None:
                    cause = self._canceled()
                elif cause is None and left is not None and left <= 0 and self._some_run():
                    words = f"ran longer than the limit of {limit:g} seconds"
                    cause = Cause("time_limit", words, "raise max_run_duration_seconds", node=self._options.node)
                if cause is not None or not self._some_run():
                    break
                self._sleep(_IDLE_LOOK_SECONDS if left is None else min(left, _IDLE_LOOK_SECONDS))
            if self._some_run():
                self._end_ranks(cause)
            return cause
        finally:
            samples.stop()

    def _some_run(self) -> bool:
        return any(rank.ended is None for rank in self._ranks)

    def _sleep(self, seconds: float) -> None:
        ranks.wait(self._ranks, self._wake, seconds)
        try:
            os.set_blocking(self._wake, False)
            os.read(self._wake, 4096)
        except BlockingIOError:
            pass

    def _first_failure(self, oom_before: int) -> Cause | None:
        """Of the ranks that ended badly, the one that did so first: the others mostly fail because of it."""
        found: list[tuple[float, Cause]] = []
        for rank in self._ranks:
            if rank.ended is None:
                continue
            note = self._folder.read_rank_exit(rank.number)
            log = os.path.join(self._folder.logs, rank.log)
            starved = rank.code == -signal.SIGKILL and causes.oom_kills() > oom_before
            cause = causes.of_rank(rank.number, self._options.node, rank.code, note, log, rank.peak, starved)
            if cause is not None:
                found.append((float(note.get("time") or rank.ended), cause))
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _end_ranks(self, cause: Cause | None) -> None:
        variables = {**os.environ, **self._orders.variables}
        grace = float(variables.get("FOOTPLATE_GRACE_SECONDS") or GRACE_SECONDS)
        say(f"ending the ranks: {cause.message if cause else 'the run is to end'}")
        killed = tree.end(self._members, grace, lambda: ranks.reap(self._ranks))
        if killed:
            say(f"{len(killed)} processes did not end within {grace:g} s and were killed")

    def _end_leftovers(self, grace: float) -> None:
        """What the ranks left running in the background, and what is left of an earlier agent's time."""
        left = self._members()
        if left:
            say(f"ending {len(left)} processes that the ranks left behind")
            tree.end(self._members, grace, lambda: ranks.reap(self._ranks))

    def _members(self) -> list[int]:
        wanted = tree.marker(self._options.run, self._options.node)
        return tree.members(wanted, os.getpid(), self._machinery())

    def _machinery(self) -> list[int]:
        """The server's process: a job, or this agent, may have had to start it again."""
        if not self._options.home:
            return []
        pid = read_record(self._options.home).get("pid")
        return [pid] if isinstance(pid, int) else []

    # ── The others ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _talk(self) -> Courier:
        """The courier, started when it is first needed: not before the ranks, unless something else takes time."""
        if self._courier is None:
            shipper = Shipper(self._link, self._folder, self._orders, say)
            self._courier = Courier(self._link, shipper, self._on_stop, self._folder.exists)
            self._courier.start()
        return self._courier

    def _start_sampler(self) -> Sampler:
        own = os.path.join(self._folder.journals, self._orders.run)
        samples = Sampler(own, self._options.node, self._members, self._folder.wd)
        samples.start()
        return samples

    # ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _hand_over(self, cause: Cause | None) -> None:
        """Say how it ended at once, then bring over everything there is, then say that this was all."""
        courier = self._talk()
        say("ended well" if cause is None else f"ended: {cause.message}")
        courier.tell("exited", cause=cause)
        self._why_stop = self._why_stop or "the ranks have ended"  # from here on there is nothing left to stop
        keep = os.environ.get("FOOTPLATE_KEEP_WORK") == "1"
        outputs.collect(self._orders.collect, self._link, self._options.home, self._folder, keep, say)
        courier.finish()
        try:
            self._link.insist(lambda: self._link.tell("done"))
        except (NotFound, Conflict) as error:
            say(f"the run was over already: {error.message}")
        if not keep:
            os.chdir("/")
            self._folder.remove()


def _machine() -> dict[str, Any]:
    """What a person wants to know about the node; nothing that takes time to find out."""
    try:
        gpus = len(os.listdir("/proc/driver/nvidia/gpus"))
    except OSError:
        gpus = 0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = os.uname()
    return {
        "cpus": os.cpu_count(),
        "memory": memory,
        "gpus": gpus,
        "system": f"{system.sysname} {system.release}",
        "agent": __version__,
        "pid": os.getpid(),
    }


def _address_towards(endpoint: str) -> str | None:
    """The address of this machine on the way to the server, where other nodes may find us as well."""
    parts = urlsplit(endpoint)
    if not parts.hostname:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((parts.hostname, parts.port or 80))  # a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return None
