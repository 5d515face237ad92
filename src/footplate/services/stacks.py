"""Request stack traces from the nodes of a run. A request lives in memory for a short time; clients repeat it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from footplate.domain.records import NodeState, RunRecord
from footplate.domain.runs import run_status
from footplate.domain.stacks import ProcessStacks, RunStacks
from footplate.errors import Conflict
from footplate.services.topics import Publish, StacksAnswered
from footplate.storage import Storage

KEEP_SECONDS = 120.0
_WITH_RANKS = (NodeState.RUNNING, NodeState.ATTENDING)


@dataclass
class _Question:
    opened: float
    nodes: tuple[int, ...]
    answers: dict[int, tuple[ProcessStacks, ...]] = field(default_factory=dict[int, "tuple[ProcessStacks, ...]"])


class StackService:
    """Open requests for stack traces. Nodes learn of a request from their next heartbeat."""

    def __init__(self, store: Storage, publish: Publish) -> None:
        self._store = store
        self._publish = publish
        self._guard = threading.Lock()
        self._questions: dict[tuple[str, str], _Question] = {}

    def ask(self, run: str, key: str) -> RunStacks:
        """Open a request, or return the answers to this `key` so far."""
        with self._guard:
            question = self._questions.get((run, key))
        if question is None:
            question = _Question(time.monotonic(), self._nodes(run))
            with self._guard:
                self._forget_old()
                question = self._questions.setdefault((run, key), question)
        answers = dict(question.answers)
        missing = tuple(node for node in question.nodes if node not in answers)
        if missing:  # a node that has ended since will not answer
            still = self._nodes(run) if not answers else _with_ranks(self._store.runs.record(run))
            missing = tuple(node for node in missing if node in still)
        return RunStacks(run, missing, tuple(each for _, processes in sorted(answers.items()) for each in processes))

    def open_questions(self, run: str, node: int) -> list[str]:
        with self._guard:
            return [
                key
                for (about, key), question in self._questions.items()
                if about == run and node in question.nodes and node not in question.answers
            ]

    def answer(self, run: str, node: int, key: str, processes: tuple[ProcessStacks, ...]) -> None:
        with self._guard:
            question = self._questions.get((run, key))
            if question is not None:  # otherwise nobody waits for it any more
                question.answers[node] = processes
        self._publish(StacksAnswered(run))

    def _nodes(self, run: str) -> tuple[int, ...]:
        record = self._store.runs.record(run)
        nodes = _with_ranks(record)
        if not nodes:
            raise Conflict(
                f"run {run} is {run_status.status(record)}: no process of it runs",
                f"see what happened to it with: footplate runs show {run}",
            )
        return nodes

    def _forget_old(self) -> None:
        old = [key for key, question in self._questions.items() if time.monotonic() - question.opened > KEEP_SECONDS]
        for key in old:
            del self._questions[key]


def _with_ranks(record: RunRecord) -> tuple[int, ...]:
    return tuple(node.index for node in record.nodes if node.state in _WITH_RANKS)
