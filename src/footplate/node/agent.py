"""The life of one node of one run: join, prepare, start the ranks, watch them, deliver.

The time between the start of this process and the first line of the user's script is kept short: one round trip fetches
the orders. On one machine the process is forked from one that has everything loaded (`nursery`), and the agent of a
single node gets its orders with its start.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from footplate import environ
from footplate.client.transport import UNTRUSTED, Transport
from footplate.domain.codec import from_json
from footplate.domain.orders import AGENT_STOPPED, VISIBLE, Cause, NodeOrders
from footplate.errors import Conflict, FootplateError, NotAllowed, NotFound, OutOfSpace, Unavailable
from footplate.lazy import Deferred
from footplate.node import host_info, process_tree
from footplate.node.gpu_leases import Leases
from footplate.node.log import say
from footplate.node.node_directory import NodeFolder, is_full
from footplate.node.options import AgentOptions
from footplate.node.rank_group import RankGroup
from footplate.node.shipping.server_link import SHORT_PATIENCE, Abandoned, Link
from footplate.node.stopping import SIGNALS, Stopped, StopRequest, TimeLimit

if TYPE_CHECKING:
    import traceback

    from footplate.client import launcher
    from footplate.environments.base import Interpreter
    from footplate.node import (
        containers,
        data,
        ports,
        preparation,
        rank_environment,
        rendezvous,
        sampler,
        stacks,
    )
    from footplate.node.data import NodeData
    from footplate.node.shipping import checkpoints, disk_wait, log_limit, outputs, reporting, salvage, shipper
else:  # ranks do not wait for the import of modules that only some runs need, or that the agent uses after their start
    traceback = Deferred("traceback")
    launcher = Deferred("footplate.client.launcher")
    containers = Deferred("footplate.node.containers")
    data = Deferred("footplate.node.data")
    ports = Deferred("footplate.node.ports")
    preparation = Deferred("footplate.node.preparation")
    rank_environment = Deferred("footplate.node.rank_environment")
    rendezvous = Deferred("footplate.node.rendezvous")
    sampler = Deferred("footplate.node.sampler")
    stacks = Deferred("footplate.node.stacks")
    checkpoints = Deferred("footplate.node.shipping.checkpoints")
    disk_wait = Deferred("footplate.node.shipping.disk_wait")
    outputs = Deferred("footplate.node.shipping.outputs")
    log_limit = Deferred("footplate.node.shipping.log_limit")
    reporting = Deferred("footplate.node.shipping.reporting")
    salvage = Deferred("footplate.node.shipping.salvage")
    shipper = Deferred("footplate.node.shipping.shipper")

IMPORTED_MEANWHILE = (
    "footplate.node.preparation",
    "footplate.node.rank_environment",
    "footplate.node.rendezvous",
    "footplate.node.shipping.checkpoints",
)
"""Modules that every run needs after it has joined: they are imported while the server answers."""

GRACE_SECONDS = 10.0
"""Seconds between the request to end and the kill of ranks. FOOTPLATE_GRACE_SECONDS overrides it."""

LEFTOVER_GRACE_SECONDS = 2.0
UNTRUSTED_SERVER = 78
"""Exit code of an agent that does not trust the certificate of the server, as that of the bootstrap."""

NOT_JOINED = 75
"""Exit code of an agent that was stopped before it reached the server: its directory stays for the next one."""

_ALONE_SECONDS = 0.3
"""Seconds that ranks run before the sampler and the saver of checkpoints begin. Nothing is worth seeing earlier, and
their threads would take longer than many a trial of a sweep."""

_GANG_WAIT_SECONDS = 20.0
_MEETING_SECONDS = 1.0
"""Seconds that a node waits for the others before it starts the reporter, which sends heartbeats."""


class _UntrustedServer(Exception):
    """The certificate of the server is not signed by an authority that this node trusts."""


def main(arguments: list[str]) -> int:
    return work_on(arguments)[0]


def work_on(arguments: list[str], orders: dict[str, Any] | None = None) -> tuple[int, bool]:
    """Be the agent of one node; return the exit code, and whether the node is over and nobody asked the agent to stop.

    If it is over, the signals that stop an agent are blocked. Without `orders`, the agent requests them.
    """
    options = AgentOptions(arguments)
    folder = NodeFolder(options.root, options.run, options.node, options.attempt, shares=options.home is not None)
    lock = folder.take_lock() if options.lock is None else options.lock
    if lock is None:
        return 0, False  # another agent of this node lives
    os.set_inheritable(lock, False)
    folder.write_holder(lock, os.getpid(), process_tree.identity(os.getpid()) or "", options.attempt)
    folder.forget_exit()
    if environ.BUNDLE in os.environ:  # no engine on this machine has opened the log
        folder.redirect_output()
    code, is_over = 70, False
    agent = Agent(options, folder, orders)
    try:
        code = agent.work()
        is_over = code == 0 and agent.close()
    except Abandoned as why:
        agent.abandon(str(why))
        code = 0
    except Exception:
        if not folder.vanishes():
            raise
        agent.abandon("the work folder is gone")
        code = 0
    finally:
        if folder.exists():
            with contextlib.suppress(OSError):  # without it the agent counts as killed, and is started again
                folder.write_exit(code)
    return code, is_over and not folder.exists()


def _import_modules() -> None:
    for name in IMPORTED_MEANWHILE:
        if name not in sys.modules:  # an agent that was forked from the nursery has them all
            importlib.import_module(name)


class Agent:
    """The agent of one node, from joining the run to the removal of its directory. Read `work` first."""

    def __init__(self, options: AgentOptions, folder: NodeFolder, orders: dict[str, Any] | None) -> None:
        self._options = options
        self._folder = folder
        self._given = orders
        self._unreported: tuple[str, str, dict[str, Any]] | None = None  # this host, of an agent that has its orders
        starter = self._revive_server if options.home else None
        transport = Transport(options.endpoint, options.token, starter, SHORT_PATIENCE)
        self._link = Link(transport, options.run, options.node, folder.exists, options.attempt)
        self._ranks = RankGroup(folder, options.node, self._keep_mounts)
        self._orders: NodeOrders
        self._log_bases: dict[str, int] = {}
        self._stop = StopRequest()
        self._reporter: reporting.Reporter | None = None
        self._data: NodeData | None = None
        self._data_variables: dict[str, str] = {}
        self._sampler: sampler.Sampler | None = None
        self._ports: ports.HeldPorts | None = None
        self._is_attending = self._is_accompanied = False
        self._checkpoints: checkpoints.CheckpointSaver | None = None
        self._restored: dict[str, str] = {}  # digests of this node's own checkpoints, by name
        self._was_stopped = False
        self._leases = Leases(folder.home, folder.marker())
        self._gpu_wait_reason: str | None = None
        os.environ[process_tree.MACHINERY] = (
            f"{options.run}/{options.node}"  # for programs that we start ourselves; ranks do not get it
        )

    def work(self) -> int:
        """Join the run, run the ranks, deliver what they made; return the exit code."""
        self._stop.listen(self._ranks.waker)
        try:
            self._orders = self._link.retry(self._join_trusted, lambda: self._stop.reason is not None)
        except _UntrustedServer as error:
            say(str(error))
            return UNTRUSTED_SERVER
        except (Unavailable, OutOfSpace):
            say(f"giving up: {self._stop.reason}, and the server cannot be reached")
            self._ranks.end_leftovers(GRACE_SECONDS)
            return NOT_JOINED
        except (NotFound, Conflict, NotAllowed) as error:
            raise Abandoned(error.message) from None
        cause = self._deliver_outputs(self._run_ranks())
        self._report_outcome(cause)
        self._clean_up()
        if self._checkpoints is not None:
            was_asked_to_end = self._was_stopped or self._ranks.was_warned
            self._checkpoints.finish(self._ranks.ended_by_themselves(was_asked_to_end))
        self._ship_everything()
        return 0

    def close(self) -> bool:
        """Close what the process has open, and block signals; return whether nobody asked the agent to stop."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._ranks.close_waker()
        self._link.close()
        return not self._stop.was_signalled

    def abandon(self, why: str) -> None:
        """End every process and remove every file of a node that nobody waits for."""
        say(f"giving up: {why}")
        self._ranks.end_leftovers(GRACE_SECONDS)
        self._folder.remove()

    def _run_ranks(self) -> Cause | None:
        """Prepare, start and watch the ranks, or adopt them; return why they did not end well."""
        try:
            if self._options.attempt > 1:
                self._continue_earlier_attempts()
            if not self._adopt_ranks():
                self._start(self._prepare())
            return self._watch()
        except Stopped:
            return self._cause_of_stop()
        except preparation.Failed as failed:
            return failed.cause
        except (FootplateError, Abandoned):
            raise
        except Exception as error:
            if self._ranks.has_begun:
                raise  # the next agent adopts the ranks that run
            return self._unexpected_error(error)

    # ── Causes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _cause_of_stop(self) -> Cause:
        code = AGENT_STOPPED if self._stop.by_signal else "canceled"
        return Cause(code, self._stop.reason or "the run is to end", node=self._options.node)

    def _unexpected_error(self, error: Exception) -> Cause:
        """Report an unexpected error before the first rank: the next agent would only repeat it, unnoticed."""
        traceback.print_exc()
        words = f"the ranks could not be started: {type(error).__name__}: {error}"
        hint = f"this is a bug in Footplate: please report it, with system_logs/node_{self._options.node}.txt"
        return Cause("start_failed", words, hint, self._options.node)

    # ── Before the start ──────────────────────────────────────────────────────────────────────────────────────────────

    def _join_trusted(self) -> NodeOrders:
        """Join the run. Raise an error of its own for a certificate that is not trusted, unless ranks run already."""
        try:
            return self._join()
        except Unavailable as error:
            if error.details.get(UNTRUSTED) and not self._folder.read_state():
                raise _UntrustedServer(str(error)) from None
            raise

    def _join(self) -> NodeOrders:
        try:
            self._folder.make()
        except OSError as error:
            reason = self._describe_full_disk(error)
            if isinstance(reason, OutOfSpace):
                self._link.warn(f"node {self._options.node} waits: {reason.message}; free some space there")
            raise reason from None
        bind_address = self._options.address
        address = (
            ports.resolve_address(bind_address) if bind_address else host_info.address_towards(self._options.endpoint)
        )
        name = os.uname().nodename
        about = host_info.describe(self._folder.home)
        if self._given is None:
            return self._link.join(name, address, about, _import_modules)
        self._unreported = name, address, about
        return from_json(NodeOrders, self._given)

    def _continue_earlier_attempts(self) -> None:
        """Save what earlier attempts could not deliver, and learn the lengths of the logs to continue."""
        bases = self._folder.read_bases()
        if bases is None:
            for folder in self._folder.earlier():
                salvage.save(folder, self._orders, self._link, self._options.home, say)
            self._orders = self._link.retry(lambda: log_limit.orders_after_cut(self._link))
            bases = dict(self._orders.shipped.get("logs") or {})
            self._folder.write_bases(bases)
        self._log_bases = bases

    def _describe_full_disk(self, error: OSError) -> Exception:
        words = f"the disk of {self._folder.path} is full"
        return OutOfSpace(words, "free some space and submit the run again") if is_full(error) else error

    def _revive_server(self) -> str:
        if not self._folder.exists():
            raise Abandoned("the work directory is gone")
        with host_info.standing_up(), process_tree.adopting_nobody():
            return launcher.revive_server(self._options.home or "")

    def _prepare(self) -> Interpreter:
        """Prepare everything that the ranks need; the steps that can fail soonest come first."""
        with self._stop.interrupts():
            if self._orders.stop:
                raise Stopped
            preparation.check_gpus(self._orders)
            if self._folder.keeps_wd:
                self._write_working_directory()
            interpreter = preparation.build(self._orders, self._link, self._folder, self._report_progress)
            if self._has_data():
                self._data = self._open_data()
                self._data_variables = self._data.bring()
            if not self._orders.ready:
                self._wait_for_gang()
            if self._orders.gpus:
                self._leases.take(self._orders.gpus, self._wait_for_gpu)
        return interpreter

    def _write_working_directory(self) -> None:
        preparation.lay_out(self._orders, self._link, self._options.home, self._folder)
        if self._orders.restore:
            self._report_progress("restoring earlier outputs")
            restored = preparation.bring_back(self._orders, self._link, self._options.home, self._folder)
            self._restored = restored

    def _wait_for_gang(self) -> None:
        """Wait until every node of the gang is prepared; then all receive their plans and start."""
        self._ports = rendezvous.hold(self._orders)
        numbers = self._ports.numbers
        self._orders = self._link.retry(lambda: self._link.prepared(numbers, _MEETING_SECONDS))
        while not self._orders.ready and not self._orders.stop:
            with self._stop.deferred():
                self._reporting()
            # Reported again, not only asked for: the server then tries to assign the GPUs that the run waits for.
            self._orders = self._link.retry(lambda: self._link.prepared(numbers, _GANG_WAIT_SECONDS))
        if self._orders.stop:
            raise Stopped

    def _wait_for_gpu(self, why: str) -> None:
        if why != self._gpu_wait_reason:
            self._gpu_wait_reason = why
            say(f"waiting: {why}")
            self._report_progress(why)

    def _report_progress(self, message: str) -> None:
        with self._stop.deferred():
            self._reporting().tell("prepares", message)

    # ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _has_data(self) -> bool:
        return bool(self._orders.inputs or self._orders.outputs)

    def _open_data(self) -> NodeData:
        return data.NodeData(
            self._orders, self._link, self._options.home, self._folder, self._report_progress, self._ranks.members
        )

    def _deliver_outputs(self, cause: Cause | None) -> Cause | None:
        """Deliver the outputs before the outcome is reported: a run whose outputs are lost did not end well."""
        if not self._has_data():
            return cause
        try:
            opened = self._data = self._data or self._open_data()
            if self._ranks.has_begun:
                opened.deliver(cause)
        except preparation.Failed as failed:
            cause = cause or failed.cause
        finally:
            if self._data is not None and not self._data.waits_for_others:
                self._data.release()
        return cause

    # ── The ranks ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, interpreter: Interpreter) -> None:
        try:
            ours = {**rank_environment.own_variables(self._folder, self._options), **self._data_variables}
            chosen = rank_environment.for_ranks(interpreter, self._folder, self._orders, ours)
            if self._ports is not None:
                self._ports.let_go()
            if interpreter.container is not None:
                self._warn(containers.hidden_gpus(interpreter.container.engine, self._orders.gpus or ()))
            if self._folder.keeps_wd:
                self._open_checkpoints().begin(self._restored)
            self._ranks.start(self._orders, chosen)
        except OSError as error:
            reason = self._describe_full_disk(error)
            words, hint = (reason.message, reason.hint) if isinstance(reason, OutOfSpace) else (str(error), None)
            cause = Cause("start_failed", f"the ranks could not be started: {words}", hint, self._options.node)
            raise preparation.Failed(cause) from None
        self._keep_mounts(self._ranks.living())
        if self._data is not None:
            self._data.send_as_written()

    def _open_checkpoints(self) -> checkpoints.CheckpointSaver:
        ranks = self._ranks
        self._checkpoints = checkpoints.CheckpointSaver(
            self._link, self._folder, self._orders, self._options.home, ranks.members, say, has_failed=ranks.has_failed
        )
        return self._checkpoints

    def _warn(self, words: str | None) -> None:
        if words is not None:
            self._link.retry(lambda: self._link.warn(words))

    def _keep_mounts(self, pids: list[int]) -> None:
        """Keep mounts until these processes have ended."""
        if self._data is not None:
            self._data.guard(pids)

    def _own_gpus(self) -> tuple[str, ...] | None:
        """Return the GPUs to sample; None, which means all, if the user selected devices."""
        return None if VISIBLE in self._orders.variables else self._orders.gpus

    def _adopt_ranks(self) -> bool:
        """Adopt ranks, and their GPUs, that an earlier agent started; return whether there were any."""
        if not self._ranks.adopt(self._orders):
            return False
        for uuid in self._leases.take_back(self._orders.gpus):
            say(f"GPU {uuid} belongs to another run by now")
        if self._orders.outputs:
            with contextlib.suppress(preparation.Failed):  # reported when it has to be done, at the end
                self._data = self._open_data()
                self._data.send_as_written()
        return True

    def _watch(self) -> Cause | None:
        """Watch the ranks until they have ended, by themselves or by force; return why they did not end well."""
        self._reporting().tell("started")
        if self._folder.keeps_wd and self._checkpoints is None:
            self._open_checkpoints()
        limit = TimeLimit(self._orders, self._stop, self._ranks.seconds_run)
        while True:
            self._ranks.reap()
            cause = self._first_failure(limit) or self._reason_to_stop(limit)
            if cause is not None or not self._ranks.works():
                break
            self._report_attending()
            if name := limit.signal_due():
                self._ranks.warn(name)
            waits = [seconds for seconds in (limit.seconds_left(), self._accompany()) if seconds is not None]
            self._ranks.sleep(min(waits, default=None))
        self._ranks.close()
        if self._ranks.works():
            self._end_ranks(cause)
        # Ranks that serve others are ended when all is done: that is how they end well.
        was_stopped = cause is not None and cause.code in ("canceled", AGENT_STOPPED)
        return None if self._is_attending and was_stopped else cause

    def _accompany(self) -> float | None:
        """Start the threads beside the ranks, once; return the seconds until then, None if they have been started."""
        if self._is_accompanied:
            return None
        remaining = _ALONE_SECONDS - self._ranks.seconds_run()
        if remaining > 0:
            return remaining
        self._is_accompanied = True
        if self._checkpoints is not None:
            self._checkpoints.start()
        own = os.path.join(self._folder.journals, self._orders.run)
        try:
            node, attempt = self._options.node, self._options.attempt
            self._sampler = sampler.Sampler(own, node, self._folder.wd, attempt, self._own_gpus())
            self._sampler.start()
        except OSError as error:
            say(f"the machine cannot be sampled: {error}")
        return None

    def _end_ranks(self, cause: Cause | None) -> None:
        self._was_stopped = True
        if cause is not None and cause.rank is not None:
            if self._orders.nodes > 1:
                self._reporting().tell("failed", cause=cause)
            if self._checkpoints is not None and self._ranks.was_warned:
                self._checkpoints.settle()  # the rank wrote its last one a moment ago, and the others will be killed
        self._ranks.end(cause.message if cause else "the run is to end", self._grace())

    def _report_attending(self) -> None:
        """Report, once, that only ranks are left that never end by themselves."""
        if not self._is_attending and self._ranks.only_attends():
            self._is_attending = True
            self._reporting().tell("attends")

    def _first_failure(self, limit: TimeLimit) -> Cause | None:
        cause = self._ranks.first_failure()
        return limit.explain(cause) if cause is not None and self._ranks.was_warned else cause

    def _reason_to_stop(self, limit: TimeLimit) -> Cause | None:
        if self._stop.reason is not None:
            return self._cause_of_stop()
        return limit.passed() if self._ranks.works() else None

    def _grace(self) -> float:
        variables = {**os.environ, **self._orders.variables}
        return float(variables.get(environ.GRACE_SECONDS) or GRACE_SECONDS)

    # ── Talking to the server ─────────────────────────────────────────────────────────────────────────────────────────

    def _reporting(self) -> reporting.Reporter:
        """Return the reporter, started on first use: after the ranks, unless something before them takes time."""
        if self._reporter is None:
            gc.enable()
            everything = shipper.NodeShipper(self._link, self._folder, self._orders, say, self._log_bases)
            place = f"the disk of node {self._options.node} ({os.uname().nodename}:{self._folder.home})"
            disk = disk_wait.DiskWatch(self._folder.path, place, at_once=self._options.home is None)
            answers = stacks.Answers(self._link, self._ranks.members, self._options.node)
            self._reporter = reporting.Reporter(
                self._link, everything, self._stop.ask, self._folder, disk, answers.give
            )
            if self._unreported is not None:
                self._reporter.note_joined(*self._unreported)
        return self._reporter

    def _report_outcome(self, cause: Cause | None) -> None:
        say("ended well" if cause is None else f"ended: {cause.message}")
        self._reporting().tell("exited", cause=cause, wake=self._orders.nodes > 1)  # other nodes wait for it
        self._stop.reason = self._stop.reason or "the ranks have ended"  # from here on there is nothing left to stop

    def _clean_up(self) -> None:
        self._ranks.end_leftovers(LEFTOVER_GRACE_SECONDS)
        self._leases.release()
        if self._sampler is not None:
            self._sampler.stop()

    def _ship_everything(self) -> None:
        """Ship what is left, report that this was all, and remove the node's directory."""
        keep = os.environ.get(environ.KEEP_WORK) == "1"
        limit = self._orders.full_disk_seconds
        left_out: list[str] = []
        if self._folder.keeps_wd:
            self._wait_for_other_nodes()
            store = outputs.store_of(self._options.home, self._link, self._folder, self._orders, keep, say)
            left_out = outputs.collect(self._orders.collect, store, self._link, self._folder, say, limit)
        if self._data is not None and self._data.waits_for_others:
            self._data.conclude(say)
        reporter = self._reporting()
        is_shipped = reporter.finish(0.0 if left_out else limit, concludes=not left_out)
        cause = disk_wait.not_stored(left_out, not is_shipped, self._folder, self._options.node, limit)
        if cause is not None:
            self._link.retry(self._folder.keep)
        if not reporter.has_concluded:
            self._report_done(cause)
        if not keep and cause is None:
            self._folder.remove()

    def _report_done(self, cause: Cause | None) -> None:
        try:
            self._link.retry(lambda: self._link.tell("lost" if cause else "done", cause=cause))
        except (NotFound, Conflict, NotAllowed) as error:
            say(f"the run had already ended: {error.message}")

    def _wait_for_other_nodes(self) -> None:
        """Wait for the ranks of the other nodes, which write into the working directory of this one."""
        try:
            while self._folder.shared and self._orders.nodes > 1 and not self._orders.others_ended:
                self._orders = self._link.retry(lambda: self._link.orders(_GANG_WAIT_SECONDS, "ended"))
        except (NotFound, Conflict, NotAllowed) as error:
            say(f"the run had already ended: {error.message}")
