"""The user's processes on this node: start, watch and, after the death of an agent, find them again.

A rank writes to files and reads nothing, so the agent may die and come back without the rank noticing.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from footplate import environ
from footplate.domain.orders import NodeOrders, RankPlan
from footplate.lazy import Deferred
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder

if TYPE_CHECKING:
    from footplate.node.ranks import containers, rank_environment
    from footplate.node.ranks.rank_environment import RankEnvironment
else:
    containers = Deferred("footplate.node.ranks.containers")
    rank_environment = Deferred("footplate.node.ranks.rank_environment")  # imported while the node joins

_POLL_SECONDS = 0.05
# Python ignores these signals, and ignored signals stay ignored across exec: programs expect the defaults.
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Rank:
    """One process of the user.

    `child` is false if an earlier agent started it, `enclosed` is true if it is the container engine's program, and
    `attends` if it serves the others until they are done. `code` is minus the number of a signal that ended it, and
    None if nobody saw it end. `peak` is its largest resident size in bytes.
    """

    def __init__(
        self, number: int, pid: int, identity: str | None, log: str, *,
        child: bool = True, code: int | None = None, peak: int | None = None, enclosed: bool = False,
        attends: bool = False,
    ) -> None:  # fmt: skip
        self.number, self.pid, self.identity, self.log = number, pid, identity, log
        self.child, self.enclosed, self.attends = child, enclosed, attends
        self.code, self.peak = code, peak
        self.ended: float | None = None
        self.watch: int | None = None  # a pidfd

    def to_state(self) -> dict[str, Any]:
        state = {"rank": self.number, "pid": self.pid, "identity": self.identity, "log": self.log}
        return {**state, "enclosed": self.enclosed}


class StartFailed(Exception):
    """The process could not be started; the text explains why."""

    def __init__(self, message: str, hint: str, rank: int) -> None:
        super().__init__(message)
        self.message, self.hint, self.rank = message, hint, rank


# ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def start(orders: NodeOrders, plan: RankPlan, setting: RankEnvironment, folder: NodeFolder) -> Rank:
    """Start one rank in the current directory: in its own session, with both outputs in one file."""
    argv = rank_environment.rank_argv(orders.program, setting)
    variables = rank_environment.rank_variables(orders, plan, setting)
    container = setting.interpreter.container
    if container is not None:
        alone = len(orders.ranks) == 1
        argv, variables = containers.enclose(container, argv, variables, setting.engine, alone, setting.runtime, folder)
    log = os.path.join(folder.logs, plan.log)
    if orders.attempt > 1:
        mark_attempt(log, orders.attempt)
    try:
        pid = spawn(argv, variables, log)
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        hint = "check that the interpreter exists on this machine and can be executed"
        raise StartFailed(f"{argv[0]} could not be started: {words}", hint, plan.rank) from None
    rank = Rank(
        plan.rank, pid, process_tree.identity(pid), plan.log, enclosed=container is not None, attends=plan.attends
    )
    rank.watch = watch(pid)
    return rank


def mark_attempt(log: str, attempt: int) -> None:
    """Write a line to the log that separates this attempt from the last one."""
    mark(log, f"attempt {attempt}")


def mark(log: str, words: str) -> None:
    """Write a line of our own to the log of a rank."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"──── {words} · {stamp} ────\n")


def spawn(argv: Sequence[str], variables: Mapping[str, str], log: str) -> int:
    """Start a process in its own session and the current directory, without input; return its pid."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(
        argv[0], list(argv), variables, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULTS
    )


def watch(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):  # an old kernel, or not Linux: then we poll
        return None


# ── After the death of an agent ───────────────────────────────────────────────────────────────────────────────────────


def adopt(state: Mapping[str, Any], plans: Sequence[RankPlan], marker: Mapping[str, str]) -> list[Rank]:
    """Return the ranks that an earlier agent started, as far as known; empty if it started none.

    The state is written before the first start and again after the last. If only the first was written, the processes
    are found by their marker.
    """
    if "ranks" in state:
        adopted = [
            Rank(r["rank"], r["pid"], r["identity"], r["log"], child=False, enclosed=bool(r.get("enclosed")))
            for r in state["ranks"]
        ]
    else:
        adopted = [_find(plan, marker) for plan in plans]
    attendants = {plan.rank for plan in plans if plan.attends}
    for rank in adopted:
        rank.attends = rank.number in attendants
        if rank.identity is not None and process_tree.alive(rank.pid, rank.identity):
            rank.watch = watch(rank.pid)
        else:
            rank.ended = time.time()
    return adopted


def _find(plan: RankPlan, marker: Mapping[str, str]) -> Rank:
    pids = process_tree.members({**marker, environ.RANK: str(plan.rank)})
    leaders = [pid for pid in pids if os.getsid(pid) == pid]
    pid = min(leaders or pids, default=0)
    return Rank(plan.rank, pid, process_tree.identity(pid) if pid else None, plan.log, child=False)


# ── Watching ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def reap(ranks: Sequence[Rank]) -> None:
    """Record the end of every rank that has ended, and reap other dead children."""
    for rank in ranks:
        if rank.ended is None:
            _note_end(rank)
    process_tree.reap_strays(rank.pid for rank in ranks if rank.child and rank.ended is None)


def _note_end(rank: Rank) -> None:
    if rank.child:
        pid, status, usage = os.wait4(rank.pid, os.WNOHANG)
        if pid == 0:
            return
        rank.code = process_tree.exit_code(status)
        rank.peak = None if rank.enclosed else usage.ru_maxrss * 1024
    elif rank.identity is not None and process_tree.alive(rank.pid, rank.identity):
        return
    rank.ended = time.time()
    if rank.watch is not None:
        os.close(rank.watch)
        rank.watch = None


def wait(ranks: Sequence[Rank], wake: int, timeout: float | None) -> None:
    """Sleep until a rank ends, `wake` is readable, or `timeout` seconds have passed."""
    living = [rank for rank in ranks if rank.ended is None]
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    for rank in living:
        if rank.watch is not None:
            poll.register(rank.watch, select.POLLIN)
    if any(rank.watch is None for rank in living):
        timeout = _POLL_SECONDS if timeout is None else min(timeout, _POLL_SECONDS)
    poll.poll(None if timeout is None else max(0.0, timeout) * 1000)
