"""Everything between the join and the first line of the user's script: prepare the node, wait for others, start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footplate.domain.orders import Cause
from footplate.environments.base import Interpreter
from footplate.errors import OutOfSpace
from footplate.lazy import Deferred
from footplate.node import preparation, rendezvous
from footplate.node.log import say
from footplate.node.node_context import NodeContext
from footplate.node.node_directory import describe_full_disk
from footplate.node.ranks import rank_environment
from footplate.node.stopping import Stopped

if TYPE_CHECKING:
    from footplate.node.ranks import containers
else:  # most ranks run without containers
    containers = Deferred("footplate.node.ranks.containers")

GANG_WAIT_SECONDS = 20.0
_MEETING_SECONDS = 1.0
"""Seconds that a node waits for the others before it starts the reporter, which sends heartbeats."""


class RankStart:
    """Prepares one node and starts its ranks."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node
        self._data_variables: dict[str, str] = {}
        self._restored: dict[str, str] = {}  # digests of this node's own checkpoints, by name
        self._gpu_wait_reason: str | None = None

    def prepare(self) -> Interpreter:
        """Prepare everything that the ranks need; the steps that can fail soonest come first."""
        node = self._node
        with node.stop.interrupts():
            if node.orders.stop:
                raise Stopped
            preparation.check_gpus(node.orders)
            if node.folder.keeps_wd:
                self._write_working_directory()
            interpreter = preparation.build(node.orders, node.link, node.folder, node.report_progress)
            if node.has_data():
                self._data_variables = node.open_data().bring()
            if not node.orders.ready:
                self._wait_for_gang()
            if node.orders.gpus:
                node.leases.take(node.orders.gpus, self._wait_for_gpu)
        return interpreter

    def _write_working_directory(self) -> None:
        node = self._node
        preparation.lay_out(node.orders, node.link, node.options.home, node.folder)
        if node.orders.restore:
            node.report_progress("restoring earlier outputs")
            self._restored = preparation.bring_back(node.orders, node.link, node.options.home, node.folder)

    def _wait_for_gang(self) -> None:
        """Wait until every node of the gang is prepared; then all receive their plans and start."""
        node = self._node
        node.ports = rendezvous.hold(node.orders)
        numbers = node.ports.numbers
        node.orders = node.link.retry(lambda: node.link.report_prepared(numbers, _MEETING_SECONDS))
        while not node.orders.ready and not node.orders.stop:
            with node.stop.deferred():
                node.reporter()
            # Reported again, not only asked for: the server then tries to assign the GPUs that the run waits for.
            node.orders = node.link.retry(lambda: node.link.report_prepared(numbers, GANG_WAIT_SECONDS))
        if node.orders.stop:
            raise Stopped

    def _wait_for_gpu(self, why: str) -> None:
        if why != self._gpu_wait_reason:
            self._gpu_wait_reason = why
            say(f"waiting: {why}")
            self._node.report_progress(why)

    def start(self, interpreter: Interpreter) -> None:
        """Start the ranks. Raise Failed if that is not possible."""
        node = self._node
        try:
            self._start(interpreter)
        except OSError as error:
            reason = describe_full_disk(error, node.folder.path)
            words, hint = (reason.message, reason.hint) if isinstance(reason, OutOfSpace) else (str(error), None)
            cause = Cause("start_failed", f"the ranks could not be started: {words}", hint, node.options.node)
            raise preparation.Failed(cause) from None
        node.keep_mounts(node.ranks.living())
        if node.data is not None:
            node.data.send_as_written()

    def _start(self, interpreter: Interpreter) -> None:
        node = self._node
        ours = {**rank_environment.own_variables(node.folder, node.options), **self._data_variables}
        environment = rank_environment.for_ranks(interpreter, node.folder, node.orders, ours)
        if node.ports is not None:
            node.ports.let_go()
        if interpreter.container is not None:
            warning = containers.hidden_gpus(interpreter.container.engine, node.orders.gpus or ())
            if warning is not None:
                node.link.retry(lambda: node.link.warn(warning))
        if node.folder.keeps_wd:
            node.open_checkpoints().begin(self._restored)
        node.ranks.start(node.orders, environment)
