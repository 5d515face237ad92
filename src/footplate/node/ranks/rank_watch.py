"""Watches the ranks of a node until they have ended, by themselves or by force."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from footplate import environ
from footplate.domain.orders import AGENT_STOPPED, VISIBLE, Cause
from footplate.lazy import Deferred
from footplate.node.log import say
from footplate.node.node_context import NodeContext
from footplate.node.stopping import TimeLimit

if TYPE_CHECKING:
    from footplate.node import sampler
else:  # imported when the ranks have run for a while
    sampler = Deferred("footplate.node.sampler")

GRACE_SECONDS = 10.0
"""Seconds between the request to end and the kill of ranks. FOOTPLATE_GRACE_SECONDS overrides it."""

_ALONE_SECONDS = 0.3
"""Seconds that ranks run before the sampler and the saver of checkpoints begin. Nothing is worth seeing earlier, and
their threads would take longer than many a trial of a sweep."""


class RankWatch:
    def __init__(self, node: NodeContext) -> None:
        self._node = node
        self._ranks = node.ranks
        self._limit = TimeLimit(node.orders, node.stop, node.ranks.seconds_run)
        self._is_attending = False
        self._is_accompanied = False

    def run(self) -> Cause | None:
        """Watch the ranks until they have ended; return why they did not end well."""
        self._node.reporter().tell("started")
        if self._node.folder.keeps_wd and self._node.checkpoints is None:
            self._node.open_checkpoints()
        while True:
            self._ranks.reap()
            cause = self._find_failure() or self._find_reason_to_stop()
            if cause is not None or not self._ranks.works():
                break
            self._report_attending()
            if name := self._limit.signal_due():
                self._ranks.warn(name)
            waits = [seconds for seconds in (self._limit.seconds_left(), self._accompany()) if seconds is not None]
            self._ranks.sleep(min(waits, default=None))
        self._ranks.close()
        if self._ranks.works():
            self._end_ranks(cause)
        # Ranks that serve others are ended when all is done: that is how they end well.
        was_stopped = cause is not None and cause.code in ("canceled", AGENT_STOPPED)
        return None if self._is_attending and was_stopped else cause

    def _find_failure(self) -> Cause | None:
        cause = self._ranks.first_failure()
        return self._limit.explain(cause) if cause is not None and self._ranks.was_warned else cause

    def _find_reason_to_stop(self) -> Cause | None:
        if self._node.stop.reason is not None:
            return self._node.stop.cause(self._node.options.node)
        return self._limit.cause_if_passed() if self._ranks.works() else None

    def _report_attending(self) -> None:
        """Report, once, that only ranks are left that never end by themselves."""
        if not self._is_attending and self._ranks.only_attends():
            self._is_attending = True
            self._node.reporter().tell("attends")

    def _accompany(self) -> float | None:
        """Start the threads beside the ranks, once; return the seconds until then, None if they have been started."""
        if self._is_accompanied:
            return None
        remaining = _ALONE_SECONDS - self._ranks.seconds_run()
        if remaining > 0:
            return remaining
        self._is_accompanied = True
        node = self._node
        orders = node.orders
        if node.checkpoints is not None:
            node.checkpoints.start()
        journals = os.path.join(node.folder.journals, orders.run)
        gpus = None if VISIBLE in orders.variables else orders.gpus  # all if the user selected devices
        try:
            node.sampler = sampler.Sampler(journals, node.options.node, node.folder.wd, node.options.attempt, gpus)
            node.sampler.start()
        except OSError as error:
            say(f"the machine cannot be sampled: {error}")
        return None

    def _end_ranks(self, cause: Cause | None) -> None:
        orders = self._node.orders
        if cause is not None and cause.rank is not None:
            if orders.nodes > 1:
                self._node.reporter().tell("failed", cause=cause)
            if self._node.checkpoints is not None and self._ranks.was_warned:
                # The rank wrote its last one a moment ago, and the others will be killed.
                self._node.checkpoints.settle()
        variables = {**os.environ, **orders.variables}
        grace = float(variables.get(environ.GRACE_SECONDS) or GRACE_SECONDS)
        self._ranks.end(cause.message if cause else "the run is to end", grace)
