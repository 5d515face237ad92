"""All ranks of this node as one: started or adopted together, watched, and ended to the last process.

The agent decides when. `rank_process` starts and watches a single rank, `mpi/daemons` does so for mpirun.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from footplate.domain.orders import Cause, NodeOrders
from footplate.domain.runs.root_cause import blames_another
from footplate.lazy import Deferred
from footplate.node import process_tree, stopping
from footplate.node.log import say
from footplate.node.node_directory import NodeFolder
from footplate.node.ranks import failure_causes, rank_process

if TYPE_CHECKING:
    from footplate.node import preparation
    from footplate.node.mpi import daemons, mpirun
    from footplate.node.ranks import containers
    from footplate.node.ranks.rank_environment import RankEnvironment
else:  # most runs need none of these before their ranks have started, and preparation is imported while the node joins
    preparation = Deferred("footplate.node.preparation")
    containers = Deferred("footplate.node.ranks.containers")
    daemons = Deferred("footplate.node.mpi.daemons")
    mpirun = Deferred("footplate.node.mpi.mpirun")

_IDLE_LOOK_SECONDS = 5.0
_DOUBT_SECONDS = 3.0
"""Seconds for which the report of a lost peer is not final: the peer has left its group, is still exiting, and may yet
report the root cause. The same holds for a rank that a signal ended: an engine that ends a node signals all processes,
and the agent may receive its signal a moment later.
"""

_STOP_SIGNALS = tuple(number.name for number in stopping.SIGNALS)


class RankGroup:
    """`on_start(pids)` receives the processes that MPI starts, from any thread. For `linger` see AgentOptions."""

    def __init__(
        self,
        folder: NodeFolder,
        node: int,
        on_start: Callable[[list[int]], None],
        linger: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._node = node
        self._on_start = on_start
        self._linger = linger
        self._orders: NodeOrders
        self._ranks: list[rank_process.Rank] = []
        self._daemons: daemons.Daemons | None = None
        self._container_program: str | None = None  # of the container engine, if the ranks run in containers
        self._is_first = False  # no earlier agent has started ranks of this node
        self._saw_all_starts = False
        self._oom_before = failure_causes.oom_kills()
        self._doubts_until: float | None = None  # from the first failure on
        self._clock = clock
        self._began = clock()
        self._is_ending = False
        self._was_ended = False  # perhaps after a rank had failed
        self._warned: set[int] = set()  # processes that we have warned of a time limit
        self._failed_since: dict[int, float] = {}  # by rank: when we first saw its report of a failure
        self._wake, self.waker = os.pipe()  # a byte written to the waker ends a sleep
        for end in (self._wake, self.waker):
            os.set_blocking(end, False)

    # ── Beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, orders: NodeOrders, setting: RankEnvironment) -> None:
        """Start the ranks of these orders. Raise OSError if the directory is full or gone."""
        self._orders = orders
        folder = self._folder
        container = setting.interpreter.container
        self._container_program = container.program if container else None
        os.chdir(folder.wd)
        folder.write_state(self._state())
        # Early only where that costs nothing: the import of ctypes would delay the ranks.
        self._saw_all_starts = "ctypes" in sys.modules and process_tree.become_subreaper() and self._is_first
        try:
            if orders.mpi is not None:
                os.chdir("/")  # the only directory that exists on every node for certain; each rank changes to its own
                self._daemons = daemons.Daemons(orders, folder, self._enlist)
                self._daemons.start(setting)
            for plan in orders.ranks if self._daemons is None else ():
                self._ranks.append(rank_process.start(orders, plan, setting, folder))
        except rank_process.StartFailed as failed:
            cause = Cause("start_failed", failed.message, failed.hint, self._node, failed.rank)
            raise preparation.Failed(cause) from None
        finally:
            self._began = self._clock()
            os.chdir("/")  # another node may remove the working directory before we are done
            process_tree.become_subreaper()
            self._write_state()
        if self._daemons is None:
            say("started " + ", ".join(f"rank {rank.number} as process {rank.pid}" for rank in self._ranks))

    def adopt(self, orders: NodeOrders) -> bool:
        """Adopt ranks that an earlier agent started; return whether there were any."""
        state = self._folder.read_state()
        if not state:
            self._is_first = True
            return False
        adopted = rank_process.adopt(state, orders.ranks, self._folder.marker())
        if not adopted or ("ranks" not in state and not any(rank.pid or self._left_traces(rank) for rank in adopted)):
            return False  # it died between its decision and the first start
        self._refuse_if_incomplete(orders, adopted)
        self._orders, self._ranks = orders, adopted
        # The clock counts from boot. After another boot none of these ranks lives.
        self._began = float(state["began"]) if state.get("boot") == process_tree.boot() else self._clock()
        self._container_program = state.get("container_program")
        if orders.mpi is not None:
            self._daemons = daemons.Daemons(orders, self._folder, self._enlist)
        process_tree.become_subreaper()
        self._write_state()
        living = sum(rank.ended is None for rank in adopted)
        say(f"took over from an agent that died: {living} of {len(adopted)} ranks still run")
        return True

    def _refuse_if_incomplete(self, orders: NodeOrders, adopted: Sequence[rank_process.Rank]) -> None:
        """Fail the run if an earlier agent started only some of the ranks, even if these end well."""
        numbers = {rank.number for rank in adopted}
        missing = [] if orders.mpi is not None else [plan.rank for plan in orders.ranks if plan.rank not in numbers]
        if missing:
            words = f"the agent died before it had started rank {missing[0]}"
            hint = "submit the run again, or restart it: footplate runs restart " + orders.run
            raise preparation.Failed(Cause("start_failed", words, hint, self._node, missing[0]))

    def _left_traces(self, rank: rank_process.Rank) -> bool:
        log = os.path.join(self._folder.logs, rank.log)
        return os.path.exists(log) or bool(self._folder.read_rank_exit(rank.number))

    def _enlist(self, name: str, process: rank_process.Rank) -> None:
        """Watch a process of MPI with the others; called from any thread."""
        self._ranks.append(process)
        self._on_start([process.pid])
        say(f"started {name} as process {process.pid}")
        self._write_state()
        os.write(self.waker, b".")

    def _state(self) -> dict[str, Any]:
        state = {"run": self._orders.run, "began": self._began, "boot": process_tree.boot()}
        return {**state, "container_program": self._container_program}

    def _write_state(self) -> None:
        try:
            self._folder.write_state({**self._state(), "ranks": [rank.to_state() for rank in self._ranks]})
        except OSError as error:  # the ranks run: the next agent finds them by their marker
            say(f"the state of the ranks could not be written down: {error}")

    # ── Watching ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_begun(self) -> bool:
        return bool(self._ranks)

    def seconds_run(self) -> float:
        """Return for how long the ranks have run, also under earlier agents, whatever happens to the wall clock."""
        return self._clock() - self._began

    def living(self) -> list[int]:
        return [rank.pid for rank in self._ranks if rank.ended is None]

    def works(self) -> bool:
        """Whether a rank still runs, mpirun has yet to request its daemon here, or a root cause is still in doubt."""
        awaited = self._daemons is not None and self._daemons.awaited
        return awaited or self._seconds_of_doubt() > 0 or any(rank.ended is None for rank in self._ranks)

    def only_attends(self) -> bool:
        """Whether only ranks are left that serve others and never end by themselves."""
        living = [rank for rank in self._ranks if rank.ended is None]
        return bool(living) and all(rank.attends for rank in living) and self._doubts_until is None

    def reap(self) -> None:
        rank_process.reap(self._ranks)

    def sleep(self, limit: float | None) -> None:
        """Sleep until a rank ends or somebody wakes us, for at most `limit` seconds."""
        look = _IDLE_LOOK_SECONDS if self._daemons is None else daemons.LOOK_SECONDS
        look = min(look, self._seconds_of_doubt() or look)
        rank_process.wait(self._ranks, self._wake, look if limit is None else min(limit, look))
        try:
            os.read(self._wake, 4096)
        except BlockingIOError:
            pass

    def first_failure(self) -> Cause | None:
        """Return the cause of the rank that failed first: the others mostly fail because of it.

        None as long as another rank, of this node or another, may still turn out to be the first.
        """
        if self._daemons is None:
            cause = self._first_of_ranks()
        else:
            starved = failure_causes.oom_kills() > self._oom_before
            cause = self._daemons.first_failure(self._ranks, starved, failure_causes.has_no_room(self._folder.path))
        if cause is None or not self._is_doubtful(cause):
            self._doubts_until = None
            return cause
        if self._doubts_until is None:
            self._doubts_until = time.monotonic() + _DOUBT_SECONDS
        return None if self._seconds_of_doubt() > 0 else cause

    def _is_doubtful(self, cause: Cause) -> bool:
        if cause.signal in _STOP_SIGNALS:
            return True
        others = self._orders.nodes > 1 or bool(self.living())
        return others and (blames_another(cause) or any(self._reported_before(rank, cause) for rank in self._ranks))

    def _reported_before(self, rank: rank_process.Rank, cause: Cause) -> bool:
        """Whether a rank that is still exiting reported its own failure before this one."""
        if rank.ended is not None or not self._folder.read_rank_exit(rank.number).get("code"):
            return False
        return (self._folder.rank_exit_time(rank.number) or 0.0) < (cause.time or 0.0)

    def _lingers(self, rank: rank_process.Rank) -> bool:
        """Whether one of several ranks reported its failure long ago and is still there."""
        if self._orders.processes == 1 or not self._folder.read_rank_exit(rank.number).get("code"):
            return False
        return self._clock() - self._failed_since.setdefault(rank.number, self._clock()) >= self._linger

    def _seconds_of_doubt(self) -> float:
        return 0.0 if self._doubts_until is None else max(0.0, self._doubts_until - time.monotonic())

    def _first_of_ranks(self) -> Cause | None:
        failures: list[tuple[float, Cause]] = []
        for rank in self._ranks:
            if rank.ended is None and not self._lingers(rank):
                continue
            note = self._folder.read_rank_exit(rank.number)
            log = os.path.join(self._folder.logs, rank.log)
            starved = failure_causes.was_killed(rank, note) and failure_causes.oom_kills() > self._oom_before
            full = failure_causes.has_no_room(self._folder.path)
            cause = failure_causes.of_rank(rank, self._node, note, log, starved, full)
            if cause is not None:
                # A rank may also fail after its script has ended well, long after its report.
                noted = self._folder.rank_exit_time(rank.number) if note.get("code") else None
                failures.append((failure_causes.time_of_failure(cause, noted or rank.ended or time.time()), cause))
        tasks = {plan.rank: plan.task for plan in self._orders.ranks}
        return failure_causes.first(failures, self._orders.processes > 1, tasks) if failures else None

    def has_failed(self) -> bool:
        """Whether a rank has failed although nobody has asked the ranks to end. Called from any thread."""
        if self._is_ending or self._warned:
            return False
        return any(rank.code or self._folder.read_rank_exit(rank.number).get("code") for rank in list(self._ranks))

    def ended_by_themselves(self) -> bool:
        """Whether every rank left in an orderly way: with success, or after it was asked to end with any exit code.

        A rank that failed or was killed may have left half of a file.
        """
        codes = [self._folder.read_rank_exit(rank.number).get("code", rank.code) for rank in self._ranks]
        if any(rank.code is not None and rank.code < 0 for rank in self._ranks):
            return False
        was_asked = self._was_ended or bool(self._warned)
        return all(code == 0 or (was_asked and code is not None and code > 0) for code in codes)

    # ── Warning ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def was_warned(self) -> bool:
        return bool(self._warned)

    def warn(self, name: str) -> None:
        """Send a signal to the processes that run the script, once to each, as soon as it has a handler.

        Without a handler the signal would kill the process; often only rank 0 has one.
        """
        number = signal.Signals[name]
        pids = [p for p in self._scripts() if p not in self._warned and process_tree.handles(p, number)]
        if not pids:
            return
        if not self._warned:
            for plan in self._orders.ranks:
                with contextlib.suppress(OSError):
                    rank_process.mark(os.path.join(self._folder.logs, plan.log), f"the time limit is near: {name}")
        self._warned.update(pids)
        say(f"the time limit is near: sending {name} to the processes {', '.join(map(str, pids))}")
        process_tree.send(pids, number)

    def _scripts(self) -> list[int]:
        """Return the processes that run the script or its shell, without those that it started itself."""
        if self._daemons is None or self._container_program is not None:
            return process_tree.through_shells(self.living())
        of_ranks = {pid for pid in self.members() if mpirun.is_rank(process_tree.variables(pid))}
        looks = [process_tree.look(pid) for pid in of_ranks]
        return process_tree.through_shells(p.pid for p in looks if p is not None and p.parent not in of_ranks)

    # ── Ending ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Start nothing more."""
        if self._daemons is not None:
            self._daemons.close()

    def close_waker(self) -> None:
        """Forget that signals end a sleep: there is none any more."""
        signal.set_wakeup_fd(-1)
        for end in (self._wake, self.waker):
            os.close(end)

    def end(self, why: str, grace: float) -> None:
        """Ask the ranks to end and kill those that are left after `grace` seconds."""
        say(f"ending the ranks: {why}")
        self._was_ended = True
        self._is_ending = self._is_ending or not self.has_failed()
        killed = process_tree.end(self.members, grace, self.reap, ask=self._to_ask)
        self._remove_containers()
        if killed:
            say(f"{len(killed)} processes did not end within {grace:g} s and were killed")

    def _to_ask(self) -> list[int]:
        """Return the processes to ask when all are to end."""
        if self._container_program:
            return self.living()  # the engine forwards the signal; a rank asked directly as well would receive it twice
        members = self.members()
        if self._daemons is None:
            return members
        # An mpirun that is asked kills its ranks, whatever they are doing; it ends by itself when they have ended.
        return [pid for pid in members if mpirun.is_rank(process_tree.variables(pid))] or members

    def end_leftovers(self, grace: float) -> None:
        """End background processes of the ranks, and whatever an earlier agent left behind."""
        self._remove_containers()
        self.reap()
        if self._saw_all_starts and self._container_program is None and process_tree.has_no_descendants():
            return  # a look at all processes of the machine takes milliseconds
        leftovers = self.members()
        if leftovers:
            say(f"ending {len(leftovers)} processes that the ranks left behind")
            process_tree.end(self.members, grace, self.reap)

    def members(self) -> list[int]:
        """Return all processes of this node. An mpirun carries no marker, so that it cannot pass it to other nodes."""
        return process_tree.members(self._folder.marker(), self.living(), os.getpid())

    def _remove_containers(self) -> None:
        if self._container_program is not None:
            containers.remove(self._container_program, self._folder)
