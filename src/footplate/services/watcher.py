"""Looks after the agents of runs: starts those again that died, gives up what stays lost, has ended ones forgotten.

One thread, which sleeps for good while nothing runs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from footplate.domain import events, outcomes, run_status
from footplate.domain.records import Cause, NodeState, RunRecord, Stage
from footplate.engines.base import Observation
from footplate.errors import Conflict, NotFound, OutOfSpace, Unavailable
from footplate.services.capacity import capacity_of
from footplate.services.effects import Effects, StoreAway, Tell
from footplate.storage import Storage

log = logging.getLogger(__name__)

FORGET_SECONDS = 60.0
"""How long the agents of a run that is over may take to clean up behind themselves."""

KEEP_SECONDS = 7 * 24 * 3600.0
"""How long the folder of a lost node is kept for somebody who restarts the run: nobody else can bring over what it has.
The server that starts after that has it removed."""

MAX_REVIVALS = 3


class AgentWatcher:
    """`resume(record)` performs the effects that a run's state asks for; `active_runs()` is how many there are."""

    def __init__(
        self,
        store: Storage,
        effects: Effects,
        tell: Tell,
        resume: Callable[[RunRecord], None],
        active_runs: Callable[[], int],
        seconds: float,
    ) -> None:
        self._store = store
        self._effects = effects
        self._tell = tell
        self._resume = resume
        self._active_runs = active_runs
        self._seconds = seconds
        self._revivals: defaultdict[str, int] = defaultdict(int)
        self._missing_since: dict[str, float] = {}
        self._earlier: defaultdict[str, list[str]] = defaultdict(list)
        self._to_forget: dict[str, tuple[RunRecord, float]] = {}
        self._unsure: set[str] = set()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch_forever, name="watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    # ── What it is told ───────────────────────────────────────────────────────────────────────────────────────────────

    def note(self, run: str, over: bool) -> None:
        """A run changed."""
        if over:
            self._start_counting_anew(run)
        else:
            self._wake.set()

    def doubt(self, run: str) -> None:
        """Nobody knows whether this run's last event was stored, or its effects performed: see to it."""
        self._unsure.add(run)
        self._wake.set()

    def begin_attempt(self, record: RunRecord, effect: events.BeginAttempt) -> None:
        """The agents of the next attempt save what those of the last one could not; so nothing is removed yet."""
        self._start_counting_anew(record.id)
        if effect.handle is not None:
            self._earlier[record.id].append(effect.handle)

    def forget_nodes(self, record: RunRecord, _: events.ForgetNodes | None = None) -> None:
        """A run is over: have the engine forget its agents, as soon as they are gone."""
        if _is_worth_keeping(record):
            return
        for handle in [*self._earlier.pop(record.id, []), *([record.handle] if record.handle else [])]:
            self._to_forget[handle] = (record, time.monotonic() + FORGET_SECONDS)
            self._wake.set()

    def take_up_leftovers(self, home: Path) -> None:
        """An agent that was killed after its last word left its folder; so did a server that was killed with it."""
        for folder in (home / "work").glob("*"):
            with contextlib.suppress(NotFound):  # of another database: not ours to judge
                record = self._store.runs.record(folder.name)
                if record.stage is Stage.ENDED:
                    self.forget_nodes(record)

    def _start_counting_anew(self, run: str) -> None:
        self._revivals.pop(run, None)
        self._missing_since.pop(run, None)

    # ── What it does ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _watch_forever(self) -> None:
        while not self._stopping.is_set():
            if self._is_idle():
                self._wake.clear()
                if self._is_idle():
                    self._wake.wait()
                continue
            try:
                self._watch_once()
            except (Unavailable, OutOfSpace) as error:
                log.warning("cannot look after the runs: %s", error.message)
            except StoreAway as away:
                log.warning("cannot look after the runs: %s", away.error.message)
            except Exception:
                log.exception("watching the agents failed")
            self._stopping.wait(self._seconds)

    def _is_idle(self) -> bool:
        return self._active_runs() == 0 and not self._unsure and not self._to_forget

    def _watch_once(self) -> None:
        self._forget_ended()
        by_engine: defaultdict[str, list[RunRecord]] = defaultdict(list)
        unsure = set(self._unsure)
        active = self._store.runs.active(with_nodes=True)
        self._unsure -= unsure
        for record in active:
            if record.id in unsure:
                self._resume(record)
            if record.handle is not None:
                by_engine[capacity_of(self._store, record.workspace, record.spec.target).engine].append(record)
        for records in by_engine.values():
            engine = self._effects.engine(records[0])
            handles = [r.handle for r in records if r.handle is not None]
            seen = engine.poll(handles)
            for record in records:
                self._report(record, seen[record.handle or ""])
                self._check(record, seen[record.handle or ""])

    def _report(self, record: RunRecord, seen: Observation) -> None:
        """Pass on the engine's explanation to a run whose agents are not all running yet."""
        if record.stage is Stage.PROVISIONING and (seen.reason or seen.places or record.waiting):
            reason = seen.reason if seen.state == "queued" else None
            hosts = tuple(seen.places.get(node.index) for node in record.nodes)
            with contextlib.suppress(Conflict):
                self._tell(record.id, events.EngineReported(reason, seen.estimated_start, hosts), record.attempt)

    def _forget_ended(self) -> None:
        for handle, (record, deadline) in list(self._to_forget.items()):
            if self._effects.engine(record).forget(handle) or time.monotonic() > deadline:
                del self._to_forget[handle]

    def _check(self, record: RunRecord, seen: Observation) -> None:
        """Agents that are gone without having said Done are started again a few times, then given up as lost."""
        over = (NodeState.DONE, NodeState.LOST)
        unfinished = {n.index for n in record.nodes if n.state not in over}
        gone = unfinished if seen.state in ("exited", "gone") else unfinished & set(seen.lost)
        if not gone:
            self._missing_since.pop(record.id, None)
            return
        self._tell_of_vanished(record, gone, seen)
        if record.outcome is not None and all(record.nodes[n].state is NodeState.LAUNCHED for n in gone):
            self._give_up(record, gone, "its agent ended before it had begun")
            return
        # The agent's last word may still be on its way to us.
        if time.monotonic() - self._missing_since.setdefault(record.id, time.monotonic()) < 2 * self._seconds:
            return
        self._missing_since.pop(record.id, None)
        if self._revivals[record.id] < MAX_REVIVALS:
            self._revivals[record.id] += 1
            log.warning("run %s: agent of node %s is gone, starting it again", record.id, sorted(gone))
            self._effects.launch(record, events.LaunchNodes())
            return
        self._give_up(record, gone, f"its agent died {MAX_REVIVALS + 1} times and was given up")

    def _tell_of_vanished(self, record: RunRecord, gone: set[int], seen: Observation) -> None:
        """An agent that died without a word takes its node out of the gang; the next one only cleans up there."""
        running = (NodeState.RUNNING, NodeState.ATTENDING)
        for node in sorted(gone):
            died = node in seen.lost or (seen.state == "exited" and seen.codes.get(node) is None)
            if len(record.nodes) == 1 or not died or record.nodes[node].state not in running:
                continue
            words = f"lost node {node} of {len(record.nodes)}: its agent died while the script ran there"
            hint = "see whether somebody ended it or the machine ran out of memory; the other nodes were stopped"
            with contextlib.suppress(Conflict):
                self._tell(record.id, events.NodeVanished(node, Cause(run_status.NODE_LOST, words, hint, node=node)))

    def _give_up(self, record: RunRecord, nodes: set[int], why: str) -> None:
        hint = "see system_logs of the run, and whether the machine runs out of memory"
        for node in sorted(nodes):
            with contextlib.suppress(Conflict):
                cause = Cause(run_status.NODE_LOST, f"lost node {node}: {why}", hint, node=node)
                self._tell(record.id, events.NodeLost(node, cause), record.attempt)


def _is_worth_keeping(record: RunRecord) -> bool:
    """Whether a node was lost with what its ranks had made, and the next attempt could save that."""
    lost = any(node.state is NodeState.LOST for node in record.nodes) and record.started is not None
    fresh = time.time() - (record.ended or 0.0) < KEEP_SECONDS
    return lost and fresh and outcomes.why_not_again(record) is None
