"""Watches the agents of runs through their engines: reports missing ones, and has agents of ended runs forgotten.

It only observes; the lifecycle decides about revivals. One thread, which sleeps while nothing runs. It also states why
a run ended whose agents its engine has ended: preemption, lost nodes, limits, or another client.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from footplate.background import Loop
from footplate.domain.orders import NODE_LOST, STOPPED_ELSEWHERE, Cause
from footplate.domain.records import NodeState, RunRecord, Stage
from footplate.domain.runs import events, restarts, run_status
from footplate.engines import agent_bootstrap
from footplate.engines.base import Engine, Observation
from footplate.errors import Conflict, NotFound, OutOfSpace, Unavailable
from footplate.services.orchestration.effects import Effects, StoreAway, Tell
from footplate.services.orchestration.queues import target_of
from footplate.storage import Storage

log = logging.getLogger(__name__)

FORGET_SECONDS = 60.0
"""How long the agents of an ended run may take to clean up."""

KEEP_SECONDS = 7 * 24 * 3600.0
"""How long the directory of a lost node is kept for a restart of the run, which can recover its files. A server that
starts after that has it removed.
"""


class AgentWatcher:
    """The watcher. `resume(record)` performs the effects that a run's state requires.

    One call of an engine asks about all its runs. A run costs more only when its record or the engine's answer has
    changed, or while its agents are missing.
    """

    def __init__(
        self,
        store: Storage,
        effects: Effects,
        tell: Tell,
        resume: Callable[[RunRecord], None],
        seconds: float,
    ) -> None:
        self._store = store
        self._effects = effects
        self._tell = tell
        self._resume = resume
        self._launched: dict[str, RunRecord] = {}  # runs with agents: all others cost nothing here
        self._settled: dict[str, tuple[int, Observation]] = {}  # version and answer that left nothing to do
        self._seconds = seconds
        self._missing_since: dict[str, float] = {}  # when the agents of a run were first found missing
        self._earlier: defaultdict[str, list[str]] = defaultdict(list)
        self._to_forget: dict[str, tuple[RunRecord, float]] = {}
        self._unsure: set[str] = set()
        self._loop = Loop("watcher", self._watch)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop(timeout=10)

    # ── What it is told ───────────────────────────────────────────────────────────────────────────────────────────────

    def note(self, record: RunRecord) -> None:
        """Take notice of a run that changed."""
        if record.stage is Stage.ENDED or record.handle is None:
            for table in (self._launched, self._settled, self._missing_since):
                table.pop(record.id, None)
        else:
            self._launched[record.id] = record
            self._loop.wake()

    def doubt(self, run: str) -> None:
        """Resume the run soon: it is unknown whether its last event was stored and its effects were performed."""
        self._unsure.add(run)
        self._loop.wake()

    def begin_attempt(self, record: RunRecord, effect: events.BeginAttempt) -> None:
        """Keep the last attempt's agents: the agents of the next attempt recover files that those could not ship."""
        self._missing_since.pop(record.id, None)
        if effect.handle is not None:
            self._earlier[record.id].append(effect.handle)

    def forget_nodes(self, record: RunRecord, _: events.ForgetNodes | None = None) -> None:
        """Have the engine forget the agents of an ended run as soon as they are gone."""
        if _is_worth_keeping(record):
            return
        for handle in [*self._earlier.pop(record.id, []), *([record.handle] if record.handle else [])]:
            self._to_forget[handle] = (record, time.monotonic() + FORGET_SECONDS)
            self._loop.wake()

    def take_up_leftovers(self, home: Path) -> None:
        """Forget agents of ended runs whose directories are left: the agent or the server was killed at the end."""
        for folder in (home / "work").glob("*"):
            with contextlib.suppress(NotFound):  # a run of another database: none of our business
                record = self._store.runs.record(folder.name)
                if record.stage is Stage.ENDED:
                    self.forget_nodes(record)

    # ── What it does ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _watch(self) -> float | None:
        if not self._launched and not self._unsure and not self._to_forget:
            return None
        try:
            self._watch_once()
        except (Unavailable, OutOfSpace) as error:
            log.warning("cannot watch the runs: %s", error.message)
        except StoreAway as away:
            log.warning("cannot watch the runs: %s", away.error.message)
        except Exception:
            log.exception("watching the agents failed")
        self._loop.sleep(self._seconds)
        return 0.0

    def _watch_once(self) -> None:
        self._forget_ended()
        self._resume_unsure()
        for engine, records in self._by_engine():
            try:
                seen = engine.poll([record.handle for record in records if record.handle is not None])
            except Unavailable as error:
                log.warning("cannot query engine %s about its agents: %s", engine.name, error.message)
                continue  # an agent that cannot be checked is not dead
            for record in records:
                if (observation := seen.get(record.handle or "")) is not None:
                    self._look(record, observation)

    def _by_engine(self) -> list[tuple[Engine, list[RunRecord]]]:
        records = list(self._launched.values())
        engines = {target: self._effects.engine_of(*target) for target in {target_of(record) for record in records}}
        by_name: dict[str, tuple[Engine, list[RunRecord]]] = {}
        for record in records:
            engine = engines[target_of(record)]
            by_name.setdefault(engine.name, (engine, []))[1].append(record)
        return list(by_name.values())

    def _look(self, record: RunRecord, seen: Observation) -> None:
        if self._settled.get(record.id) == (record.version, seen):
            return
        if self._launched.get(record.id) is not record:
            return  # the answer may be older than the new record
        after = self._report(record, seen)
        if not self._report_end(after, seen) and self._check(after, seen):
            self._settled[record.id] = (after.version, seen)

    def _report(self, record: RunRecord, seen: Observation) -> RunRecord:
        """Pass on the engine's explanation to a run whose agents are not all running yet; return the new record."""
        if record.stage is Stage.PROVISIONING and (seen.reason or seen.places or record.waiting):
            reason = seen.reason if seen.state == "queued" else None
            hosts = tuple(seen.places.get(node.index) for node in record.nodes)
            event = events.EngineReported(reason, seen.estimated_start, hosts)
            with contextlib.suppress(Conflict):
                return self._tell(record.id, event, record.attempt, record)
        return record

    def _report_end(self, record: RunRecord, seen: Observation) -> bool:
        """Report agents that the engine ended, or stopped agents that have ended; return whether that was so."""
        if seen.state not in ("exited", "gone"):
            return False
        cause = cause_of(seen, record, self._effects.engine(record))
        if cause is None and not run_status.awaits_engine(record):
            return False
        with contextlib.suppress(Conflict):
            self._tell(record.id, events.EngineEnded(cause), record.attempt)
        return True

    def _resume_unsure(self) -> None:
        for run in list(self._unsure):
            with contextlib.suppress(NotFound):  # the database has not stored it
                self._resume(self._store.runs.record(run))
            self._unsure.discard(run)

    def _forget_ended(self) -> None:
        for handle, (record, deadline) in list(self._to_forget.items()):
            if self._forget(record, handle) or time.monotonic() > deadline:
                del self._to_forget[handle]

    def _forget(self, record: RunRecord, handle: str) -> bool:
        engine = self._effects.engine(record)
        try:
            return engine.forget(handle)
        except Unavailable as error:
            log.warning("engine %s cannot forget the agents of %s yet: %s", engine.name, record.id, error.message)
            return False

    def _check(self, record: RunRecord, seen: Observation) -> bool:
        """Report agents that are gone although their nodes have not finished; return whether none is.

        Only positive evidence counts.
        """
        unfinished = {n.index for n in record.nodes if n.state not in run_status.OVER_NODES}
        missing = sorted(unfinished if seen.state in ("exited", "gone") else unfinished & set(seen.lost))
        if not missing:
            self._missing_since.pop(record.id, None)
            return True
        if self._effects.repeat_launch(record):
            return False  # the agents did not die again: they could not be started
        self._report_vanished(record, missing, seen)
        confirmed = self._confirm_missing(record.id)
        with contextlib.suppress(Conflict):
            self._tell(record.id, events.AgentsMissing(tuple(missing), record.revivals, confirmed), record.attempt)
        return False

    def _confirm_missing(self, run: str) -> bool:
        """Return whether the agents were missing two looks ago, too: their last report may still be on its way to us.

        Then the next confirmation takes as long again.
        """
        if time.monotonic() - self._missing_since.setdefault(run, time.monotonic()) < 2 * self._seconds:
            return False
        del self._missing_since[run]
        return True

    def _report_vanished(self, record: RunRecord, missing: list[int], seen: Observation) -> None:
        """Report agents that died without an exit code: such a node is lost to the other nodes at once."""
        for node in missing:
            if node in seen.lost or (seen.state == "exited" and seen.codes.get(node) is None):
                message = f"lost node {node} of {len(record.nodes)}: its agent died while the script ran there"
                hint = "see whether somebody killed it or the machine ran out of memory; the other nodes were stopped"
                cause = Cause(NODE_LOST, message, hint, node=node)
                with contextlib.suppress(Conflict):
                    self._tell(record.id, events.NodeVanished(node, cause), record.attempt)


def _is_worth_keeping(record: RunRecord) -> bool:
    """Whether a node was lost together with files of its ranks that the next attempt could recover."""
    lost = any(node.state is NodeState.LOST for node in record.nodes) and record.started is not None
    fresh = time.time() - (record.ended or 0.0) < KEEP_SECONDS
    return lost and fresh and restarts.why_not_again(record) is None


class _Ending(NamedTuple):
    """The code of the cause, its words and a hint for the user."""

    code: str
    words: str
    hint: str


_MORE_ATTEMPTS = "with max_attempts above 1 it continues by itself, from what it has saved in ./checkpoints"
_ENDINGS = {
    "preempted": _Ending("preempted", "{engine} preempted the run", _MORE_ATTEMPTS),
    "node_lost": _Ending(NODE_LOST, "{engine} lost a node of the run", _MORE_ATTEMPTS),
    "time_limit": _Ending("engine_time_limit", "the time limit of {engine} ended the run", _MORE_ATTEMPTS),
    "out_of_memory": _Ending(
        "out_of_memory", "{engine} ended the run: out of memory", "give its nodes more memory, or use less of it"
    ),
    "stopped_elsewhere": _Ending(
        STOPPED_ELSEWHERE,
        "the run was stopped in {engine}, and not by Footplate",
        "see who stopped it there; start it again with: footplate runs restart {run}",
    ),
}
"""By `Observation.ended_by`."""


_REFUSALS = {
    agent_bootstrap.UNTRUSTED: (
        "does not trust the certificate of the server",
        "start the server with --ca-file, or set SSL_CERT_FILE on the nodes, to name the authority that signed it",
    ),
    agent_bootstrap.REFUSED: (
        "refused to start the agent: its Python is older than 3.8, or the server does not have this version any more",
        "set the option python of the compute target; see the log of the engine's job on that node",
    ),
}
"""By the exit code of the bootstrap."""


def cause_of(seen: Observation, record: RunRecord, engine: Engine) -> Cause | None:
    """Return why the engine ended the agents; None if it did not end them.

    An engine on other machines that does not know the agents any more has lost them: others would begin anew, where
    nothing is left of what these did.
    """
    refused = _refusal(seen, record)
    if refused is not None:
        return refused
    lost = seen.state == "gone" and not engine.shares_home
    ending = _ENDINGS["node_lost"] if lost else _ENDINGS.get(seen.ended_by or "")
    if ending is None:
        return None
    unfinished = (node.index for node in record.nodes if node.state not in run_status.OVER_NODES)
    message = ending.words.format(engine=engine.name) + (f": {seen.reason}" if seen.reason else "")
    return Cause(ending.code, message, ending.hint.format(run=record.id), node=next(unfinished, 0))


def _refusal(seen: Observation, record: RunRecord) -> Cause | None:
    """Return why the bootstrap of a node refused to start the agent: the node itself can tell nobody else."""
    if seen.state != "exited":
        return None
    for node in record.nodes:
        code = seen.codes.get(node.index)
        if node.state not in run_status.OVER_NODES and code in _REFUSALS:
            words, hint = _REFUSALS[code]
            return Cause("start_failed", f"node {node.index} {words}", hint, node=node.index)
    return None
