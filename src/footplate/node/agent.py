"""The story of one node of one run: join, prepare, start the ranks, see them end, hand everything over.

What stands between the start of this process and the first line of the user's script is kept short: one round trip,
which fetches the orders. On one machine the process is forked from one that has everything loaded (`nursery`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from typing import TYPE_CHECKING

from footplate import environ
from footplate.client.launcher import revive_server
from footplate.client.transport import Transport
from footplate.domain import gpus
from footplate.domain.launch import NodeOrders
from footplate.domain.records import Cause
from footplate.environments.base import Interpreter
from footplate.errors import Conflict, FootplateError, NotFound, OutOfSpace, Unavailable
from footplate.lazy import Deferred
from footplate.node import containers, host_info, preparation, process_tree, rank_environment, rendezvous, stacks
from footplate.node.gpu_leases import Leases
from footplate.node.log import say
from footplate.node.node_directory import NodeFolder, is_full
from footplate.node.options import AgentOptions
from footplate.node.ports import HeldPorts, own_address
from footplate.node.rank_group import RankGroup
from footplate.node.sampler import Sampler
from footplate.node.shipping import outputs, salvage
from footplate.node.shipping.reporting import Reporter
from footplate.node.shipping.server_link import SHORT_PATIENCE, Abandoned, Link
from footplate.node.shipping.shipper import NodeShipper

if TYPE_CHECKING:
    from footplate.node import data
    from footplate.node.data import NodeData
else:
    data = Deferred("footplate.node.data")  # a run without data does not wait for it

GRACE_SECONDS = 10.0
"""Between the request to end and the force, for ranks that are to stop. FOOTPLATE_GRACE_SECONDS changes it."""

LEFTOVER_GRACE_SECONDS = 2.0
NOT_JOINED = 75
"""The exit code of an agent that was told to stop before it reached the server: its folder stays for the next one."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""By which an agent is told to stop. Whoever forks one blocks them until the agent listens."""

_GANG_WAIT_SECONDS = 20.0
_MEETING_SECONDS = 1.0
"""How long a node waits for the others before it has more to do meanwhile, such as telling that it lives."""


class _Stopped(Exception):
    """Told to stop while the ranks were not yet started."""


def main(arguments: list[str]) -> int:
    options = AgentOptions(arguments)
    folder = NodeFolder(options.root, options.run, options.node, options.attempt, shares=options.home is not None)
    held = folder.take_lock() if options.lock is None else options.lock
    if held is None:
        return 0  # another agent of this node lives: nothing to do, and nothing to say about its end
    os.set_inheritable(held, False)
    folder.write_holder(held, os.getpid(), process_tree.identity(os.getpid()) or "", options.attempt)
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
            with contextlib.suppress(OSError):  # without it the agent counts as killed, and is started again
                folder.write_exit(code)
    return code


class Agent:
    def __init__(self, options: AgentOptions, folder: NodeFolder) -> None:
        self._options = options
        self._folder = folder
        starter = self._revive_server if options.home else None
        transport = Transport(options.endpoint, options.token, starter, SHORT_PATIENCE)
        self._link = Link(transport, options.run, options.node, folder.exists, options.attempt)
        self._crew = RankGroup(folder, options.node, options.home, self._guard)
        self._orders: NodeOrders
        self._bases: dict[str, int] = {}
        self._answers = stacks.Answers(self._link, self._crew.members, options.node)
        self._why_stop: str | None = None
        self._interruptible = False
        self._courier: Reporter | None = None
        self._data: NodeData | None = None
        self._data_variables: dict[str, str] = {}
        self._sampler: Sampler | None = None
        self._ports: HeldPorts | None = None
        self._attending = False
        self._leases = Leases(folder.home, folder.marker())
        self._obstacle: str | None = None
        os.environ[process_tree.MACHINERY] = (
            f"{options.run}/{options.node}"  # for what we start ourselves; ranks do not get it
        )

    def work(self) -> int:
        self._listen_to_signals()
        try:
            self._orders = self._link.retry(self._join, lambda: self._why_stop is not None)
        except (Unavailable, OutOfSpace):
            say(f"giving up: {self._why_stop}, and the server is away")
            self._crew.end_leftovers(GRACE_SECONDS)
            return NOT_JOINED
        except (NotFound, Conflict) as error:
            self._crew.end_leftovers(GRACE_SECONDS)
            raise Abandoned(error.message) from None
        try:
            if self._options.attempt > 1:
                self._follow_earlier_attempts()
            if not self._adopt():
                self._start(self._prepare())
            cause = self._watch()
        except _Stopped:
            cause = self._canceled()
        except preparation.Failed as failed:
            cause = failed.cause
        except (FootplateError, Abandoned):
            raise
        except Exception as error:
            if self._crew.has_begun:
                raise  # the next agent takes care of those that run
            cause = self._mistake(error)
        self._hand_over(self._deliver(cause))
        return 0

    # ── Being told to stop ────────────────────────────────────────────────────────────────────────────────────────────

    def _listen_to_signals(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._crew.waker, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

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

    def _mistake(self, error: Exception) -> Cause:
        """What nobody has foreseen and no rank was started before: the next agent would only make it again, unheard."""
        traceback.print_exc()
        words = f"the ranks could not be started: {type(error).__name__}: {error}"
        hint = f"that is a mistake in Footplate: please report it, with system_logs/node_{self._options.node}.txt"
        return Cause("start_failed", words, hint, self._options.node)

    # ── Before the start ──────────────────────────────────────────────────────────────────────────────────────────────

    def _join(self) -> NodeOrders:
        try:
            self._folder.make()
        except OSError as error:
            raise self._no_room(error) from None
        given = self._options.address
        address = own_address(given) if given else host_info.address_towards(self._options.endpoint)
        return self._link.join(os.uname().nodename, address, host_info.describe())

    def _follow_earlier_attempts(self) -> None:
        """Save what earlier attempts could not hand over, and find out how long the logs are that this one goes on."""
        bases = self._folder.read_bases()
        if bases is None:
            for folder in self._folder.earlier():
                salvage.save(folder, self._orders, self._link, self._options.home, say)
            self._orders = self._link.retry(lambda: self._link.orders(0.0))
            bases = dict(self._orders.shipped.get("logs") or {})
            self._folder.write_bases(bases)
        self._bases = bases

    def _no_room(self, error: OSError) -> Exception:
        words = f"the disk of {self._folder.path} is full"
        return OutOfSpace(words, "free some space and submit the run again") if is_full(error) else error

    def _revive_server(self) -> str:
        if not self._folder.exists():
            raise Abandoned("the work folder is gone")
        with host_info.standing_up():
            return revive_server(self._options.home or "")

    def _prepare(self) -> Interpreter:
        """Everything that the ranks need; what can fail soonest comes first."""
        self._interruptible = True
        if self._why_stop is not None or self._orders.stop:
            raise _Stopped
        if self._folder.keeps_wd:
            preparation.lay_out(self._orders, self._link, self._options.home, self._folder)
            if self._options.attempt > 1:
                self._talk().tell("prepares", "bringing back the outputs of the last attempt")
                preparation.bring_back(self._orders, self._link, self._options.home, self._folder)
        interpreter = preparation.build(self._orders, self._folder, self._tell_preparing)
        if self._has_data():
            self._data = self._open_data()
            self._data_variables = self._data.bring()
        if not self._orders.ready:
            self._meet()
        if self._orders.gpus:
            self._leases.take(self._orders.gpus, self._wait_for_gpu)
        self._interruptible = False
        return interpreter

    def _meet(self) -> None:
        """Wait until every node of the gang is as far as this one. Then all have their plans, and start."""
        held = self._ports = rendezvous.hold(self._orders)
        self._orders = self._link.retry(lambda: self._link.prepared(held.numbers, _MEETING_SECONDS))
        while not self._orders.ready and not self._orders.stop:
            self._talk()
            self._orders = self._link.retry(lambda: self._link.orders(_GANG_WAIT_SECONDS))
        if self._orders.stop:
            raise _Stopped

    def _wait_for_gpu(self, why: str) -> None:
        if why != self._obstacle:
            self._obstacle = why
            say(f"waiting: {why}")
            self._tell_preparing(why)

    def _tell_preparing(self, message: str) -> None:
        self._talk().tell("prepares", message)

    # ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _has_data(self) -> bool:
        return bool(self._orders.inputs or self._orders.outputs)

    def _open_data(self) -> NodeData:
        return data.NodeData(
            self._orders, self._link, self._options.home, self._folder, self._tell_preparing, self._crew.members
        )

    def _deliver(self, cause: Cause | None) -> Cause | None:
        """Bring the outputs home before it is said how the run ended: one whose outputs are lost did not end well."""
        if not self._has_data():
            return cause
        try:
            opened = self._data = self._data or self._open_data()
            if self._crew.has_begun:
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
            self._crew.start(self._orders, chosen)
        except OSError as error:
            known = self._no_room(error)
            words, hint = (known.message, known.hint) if isinstance(known, OutOfSpace) else (str(error), None)
            cause = Cause("start_failed", f"the ranks could not be started: {words}", hint, self._options.node)
            raise preparation.Failed(cause) from None
        self._guard(self._crew.living())
        if self._data is not None:
            self._data.send_as_written()

    def _warn(self, words: str | None) -> None:
        if words is not None:
            self._link.retry(lambda: self._link.warn(words))

    def _guard(self, pids: list[int]) -> None:
        """Mounts have to outlive these processes."""
        if self._data is not None:
            self._data.guard(pids)

    def _own_gpus(self) -> tuple[str, ...] | None:
        """Those whose use is of interest; None, which is all, when the user has chosen for himself."""
        return None if gpus.VISIBLE in self._orders.variables else self._orders.gpus

    def _adopt(self) -> bool:
        """Whether an earlier agent had started the ranks; then they, and their GPUs, are ours now."""
        if not self._crew.adopt(self._orders):
            return False
        for uuid in self._leases.take_back(self._orders.gpus):
            say(f"GPU {uuid} is another run's by now")
        if self._orders.outputs:
            with contextlib.suppress(preparation.Failed):  # said when it has to be done, which is at the end
                self._data = self._open_data()
                self._data.send_as_written()
        return True

    def _watch(self) -> Cause | None:
        """Until the ranks have ended, by themselves or because they must; returns why they did not end well."""
        self._talk().tell("started")
        own = os.path.join(self._folder.journals, self._orders.run)
        try:
            self._sampler = Sampler(own, self._options.node, self._folder.wd, self._options.attempt, self._own_gpus())
            self._sampler.start()
        except OSError as error:
            say(f"the machine is not sampled: {error}")
        while True:
            self._crew.reap()
            cause = self._crew.first_failure() or self._reason_to_stop()
            if cause is not None or not self._crew.works():
                break
            self._attend()
            self._crew.sleep(self._seconds_left())
        self._crew.close()
        if self._crew.works():
            if cause is not None and cause.rank is not None and self._orders.nodes > 1:
                self._talk().tell("failed", cause=cause)
            self._crew.end(cause.message if cause else "the run is to end", self._grace())
        # Ranks that serve others are told to end when all is done: that is how they end well.
        return None if self._attending and cause is not None and cause.code == "canceled" else cause

    def _attend(self) -> None:
        """Say so, once, when only ranks are left that never end by themselves."""
        if not self._attending and self._crew.only_attends():
            self._attending = True
            self._talk().tell("attends")

    def _seconds_left(self) -> float | None:
        limit = self._orders.max_seconds
        return None if limit is None else self._crew.began + limit - time.time()

    def _reason_to_stop(self) -> Cause | None:
        left = self._seconds_left()
        if self._why_stop is not None:
            return self._canceled()
        if left is not None and left <= 0 and self._crew.works():
            words = f"ran longer than the limit of {self._orders.max_seconds:g} seconds"
            return Cause("time_limit", words, "raise max_run_duration_seconds", self._options.node)
        return None

    def _grace(self) -> float:
        variables = {**os.environ, **self._orders.variables}
        return float(variables.get(environ.GRACE_SECONDS) or GRACE_SECONDS)

    # ── Talking to the server ─────────────────────────────────────────────────────────────────────────────────────────

    def _talk(self) -> Reporter:
        """The courier, started when it is first needed: not before the ranks, unless something else takes time."""
        if self._courier is None:
            shipper = NodeShipper(self._link, self._folder, self._orders, say, self._bases)
            self._courier = Reporter(self._link, shipper, self._on_stop, self._folder.exists, self._answers.give)
            self._courier.start()
        return self._courier

    def _hand_over(self, cause: Cause | None) -> None:
        """Say how it ended at once, then bring over everything there is, then say that this was all."""
        courier = self._talk()
        say("ended well" if cause is None else f"ended: {cause.message}")
        courier.tell("exited", cause=cause)
        self._why_stop = self._why_stop or "the ranks have ended"  # from here on there is nothing left to stop
        self._crew.end_leftovers(LEFTOVER_GRACE_SECONDS)
        self._leases.release()
        if self._sampler is not None:
            self._sampler.stop()
        keep = os.environ.get(environ.KEEP_WORK) == "1"
        if self._folder.keeps_wd:
            self._wait_for_the_others()
            outputs.collect(self._orders.collect, self._link, self._options.home, self._folder, keep, say)
        if self._data is not None and self._data.waits_for_others:
            self._data.conclude(say)
        courier.finish()
        try:
            self._link.retry(lambda: self._link.tell("done"))
        except (NotFound, Conflict) as error:
            say(f"the run was over already: {error.message}")
        if not keep:
            self._folder.remove()

    def _wait_for_the_others(self) -> None:
        """The ranks of all nodes write into the folder that this one keeps, when they share it."""
        try:
            while self._folder.shared and self._orders.nodes > 1 and not self._orders.others_ended:
                self._orders = self._link.retry(lambda: self._link.orders(_GANG_WAIT_SECONDS, "ended"))
        except (NotFound, Conflict) as error:
            say(f"the run was over already: {error.message}")
