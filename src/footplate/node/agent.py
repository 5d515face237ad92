"""The life of one node of one run: join, prepare, start the ranks, watch them, deliver.

The time between the start of this process and the first line of the user's script is kept short: one round trip fetches
the orders. On one machine the process is forked from one that has everything loaded (`nursery`), and the agent of a
single node gets its orders with its start.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from footplate import environ
from footplate.client.transport import UNTRUSTED
from footplate.domain.codec import from_json
from footplate.domain.orders import Cause, NodeOrders
from footplate.errors import Conflict, FootplateError, NotAllowed, NotFound, OutOfSpace, Unavailable
from footplate.lazy import Deferred
from footplate.node import host_info, process_tree
from footplate.node.delivery.server_link import Abandoned
from footplate.node.log import say
from footplate.node.node_context import NodeContext
from footplate.node.node_directory import NodeFolder, describe_full_disk
from footplate.node.options import AgentOptions
from footplate.node.stopping import SIGNALS, Stopped

if TYPE_CHECKING:
    import traceback

    from footplate.node import ending, ports, preparation
    from footplate.node.delivery import log_limit, salvage
    from footplate.node.ranks import rank_start, rank_watch
else:  # ranks do not wait for the import of modules that only some runs need, or that the agent uses after their start
    traceback = Deferred("traceback")
    ending = Deferred("footplate.node.ending")
    ports = Deferred("footplate.node.ports")
    preparation = Deferred("footplate.node.preparation")
    rank_start = Deferred("footplate.node.ranks.rank_start")
    rank_watch = Deferred("footplate.node.ranks.rank_watch")
    log_limit = Deferred("footplate.node.delivery.log_limit")
    salvage = Deferred("footplate.node.delivery.salvage")

IMPORTED_MEANWHILE = ("footplate.node.ranks.rank_start", "footplate.node.delivery.checkpoints")
"""Modules that every run needs after it has joined: they are imported while the server answers."""

LEFTOVER_GRACE_SECONDS = 2.0
ABANDONED_GRACE_SECONDS = 10.0
UNTRUSTED_SERVER = 78
"""Exit code of an agent that does not trust the certificate of the server, as that of the bootstrap."""

NOT_JOINED = 75
"""Exit code of an agent that was stopped before it reached the server: its directory stays for the next one."""


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
        self._node = NodeContext(options, folder)
        self._early_orders = orders  # of an agent that need not request them
        # For programs that we start ourselves; ranks do not get it.
        os.environ[process_tree.MACHINERY] = f"{options.run}/{options.node}"

    def work(self) -> int:
        """Join the run, run the ranks, deliver what they made; return the exit code."""
        node = self._node
        node.stop.listen(node.ranks.waker)
        try:
            node.orders = node.link.retry(self._join_trusted, lambda: node.stop.reason is not None)
        except _UntrustedServer as error:
            say(str(error))
            return UNTRUSTED_SERVER
        except (Unavailable, OutOfSpace):
            say(f"giving up: {node.stop.reason}, and the server cannot be reached")
            node.ranks.end_leftovers(ABANDONED_GRACE_SECONDS)
            return NOT_JOINED
        except (NotFound, Conflict, NotAllowed) as error:
            raise Abandoned(error.message) from None
        self._report_outcome(self._deliver_outputs(self._run_ranks()))
        self._clean_up()
        if node.checkpoints is not None:
            node.checkpoints.finish(node.ranks.ended_by_themselves())
        ending.ship_everything(node)
        return 0

    def close(self) -> bool:
        """Close what the process has open, and block signals; return whether nobody asked the agent to stop."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._node.ranks.close_waker()
        self._node.link.close()
        return not self._node.stop.was_signalled

    def abandon(self, why: str) -> None:
        """End every process and remove every file of a node that nobody waits for."""
        say(f"giving up: {why}")
        self._node.ranks.end_leftovers(ABANDONED_GRACE_SECONDS)
        self._node.folder.remove()

    # ── Joining ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _join_trusted(self) -> NodeOrders:
        """Join the run. Raise an error of its own for a certificate that is not trusted, unless ranks run already."""
        try:
            return self._join()
        except Unavailable as error:
            if error.details.get(UNTRUSTED) and not self._node.folder.read_state():
                raise _UntrustedServer(str(error)) from None
            raise

    def _join(self) -> NodeOrders:
        node = self._node
        options = node.options
        try:
            node.folder.make()
        except OSError as error:
            reason = describe_full_disk(error, node.folder.path)
            if isinstance(reason, OutOfSpace):
                node.link.warn(f"node {options.node} waits: {reason.message}; free some space there")
            raise reason from None
        if options.address:
            address = ports.resolve_address(options.address)
        else:
            address = host_info.address_towards(options.endpoint)
        name = os.uname().nodename
        about = host_info.describe(node.folder.home)
        if self._early_orders is None:
            return node.link.join(name, address, about, _import_modules)
        node.unreported_host = name, address, about
        return from_json(NodeOrders, self._early_orders)

    # ── The ranks ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run_ranks(self) -> Cause | None:
        """Prepare, start and watch the ranks, or adopt them; return why they did not end well."""
        node = self._node
        try:
            if node.options.attempt > 1:
                self._continue_earlier_attempts()
            if not self._adopt_ranks():
                start = rank_start.RankStart(node)
                start.start(start.prepare())
            return rank_watch.RankWatch(node).run()
        except Stopped:
            return node.stop.cause(node.options.node)
        except preparation.Failed as failed:
            return failed.cause
        except (FootplateError, Abandoned):
            raise
        except Exception as error:
            if node.ranks.has_begun:
                raise  # the next agent adopts the ranks that run
            return self._report_bug(error)

    def _continue_earlier_attempts(self) -> None:
        """Save what earlier attempts could not deliver, and learn the lengths of the logs to continue."""
        node = self._node
        bases = node.folder.read_bases()
        if bases is None:
            for folder in node.folder.earlier():
                salvage.save(folder, node.orders, node.link, node.options.home, say)
            node.orders = node.link.retry(lambda: log_limit.orders_after_cut(node.link))
            bases = dict(node.orders.shipped.get("logs") or {})
            node.folder.write_bases(bases)
        node.log_bases = bases

    def _adopt_ranks(self) -> bool:
        """Adopt ranks, and their GPUs, that an earlier agent started; return whether there were any."""
        node = self._node
        if not node.ranks.adopt(node.orders):
            return False
        for uuid in node.leases.take_back(node.orders.gpus):
            say(f"GPU {uuid} belongs to another run by now")
        if node.orders.outputs:
            with contextlib.suppress(preparation.Failed):  # reported when it has to be done, at the end
                node.open_data().send_as_written()
        return True

    def _report_bug(self, error: Exception) -> Cause:
        """Report an unexpected error before the first rank: the next agent would only repeat it, unnoticed."""
        traceback.print_exc()
        words = f"the ranks could not be started: {type(error).__name__}: {error}"
        node = self._node.options.node
        hint = f"this is a bug in Footplate: please report it, with system_logs/node_{node}.txt"
        return Cause("start_failed", words, hint, node)

    # ── After the ranks ───────────────────────────────────────────────────────────────────────────────────────────────

    def _deliver_outputs(self, cause: Cause | None) -> Cause | None:
        """Deliver the outputs before the outcome is reported: a run whose outputs are lost did not end well."""
        node = self._node
        if not node.has_data():
            return cause
        try:
            data = node.data or node.open_data()
            if node.ranks.has_begun:
                data.deliver(cause)
        except preparation.Failed as failed:
            cause = cause or failed.cause
        finally:
            if node.data is not None and not node.data.waits_for_others:
                node.data.release()
        return cause

    def _report_outcome(self, cause: Cause | None) -> None:
        node = self._node
        say("ended well" if cause is None else f"ended: {cause.message}")
        node.reporter().tell("exited", cause=cause, wake=node.orders.nodes > 1)  # other nodes wait for it
        node.stop.reason = node.stop.reason or "the ranks have ended"  # from here on there is nothing left to stop

    def _clean_up(self) -> None:
        self._node.ranks.end_leftovers(LEFTOVER_GRACE_SECONDS)
        self._node.leases.release()
        if self._node.sampler is not None:
            self._node.sampler.stop()
