"""The book of active runs beside lists that are filtered and sorted anew each time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.queue import Allocation
from footplate.domain.records import RunRecord, Stage, Waiting
from footplate.domain.runs.run_status import HOLDS_NODES
from footplate.domain.specs import Distribution, RunSpec
from footplate.services.orchestration.queues import QueueBook

NOW = 1000.0
A, B = ("w", "a"), ("w", "b")
limits = st.none() | st.sampled_from([60.0, 600.0])
changes = st.tuples(
    st.integers(0, 7), st.sampled_from(Stage), st.booleans(), st.none() | st.sampled_from([900.0, 950.0])
)


def record(number: int, limit: float | None = None) -> RunRecord:
    """Return a run whose priority, target and size follow from its number."""
    spec = RunSpec(
        "lab",
        target="ab"[number % 2],
        priority=number % 3,
        max_seconds=limit,
        distribution=Distribution("torch", node_count=1 + number % 4),
    )
    return RunRecord(f"r{number}", "w", spec, Stage.LOCKING, 100.0 - number)


def check(book: QueueBook, active: dict[str, RunRecord]) -> None:
    for target in (A, B):
        here = [run for run in active.values() if (run.workspace, run.spec.target) == target]
        queued = sorted(
            (run for run in here if run.stage is Stage.QUEUED), key=lambda r: (-r.spec.priority, r.created, r.id)
        )
        assert list(book.waiting(target)) == queued
        assert book.count_waiting(target) == len(queued)
        assert [book.find_queued(run.id) for run in queued] == [(run, place) for place, run in enumerate(queued, 1)]
        assert {r.id for r in book.list_unexplained(target)} == {r.id for r in queued if r.waiting is None}
        holding = [run for run in here if run.stage in HOLDS_NODES]
        assert {run.id for run in book.holding(target)} == {run.id for run in holding}
        nodes: defaultdict[float | None, int] = defaultdict(int)
        for run in holding:
            limit = run.spec.max_seconds
            nodes[None if limit is None else (run.started or NOW) + limit] += run.spec.distribution.node_count
        assert added_up(book.allocations(target, "line", NOW)) == nodes
    assert {run.id: run for run in book.active()} == active
    assert set(book.targets()) == {(run.workspace, run.spec.target) for run in active.values()}


def added_up(allocations: list[Allocation]) -> dict[float | None, int]:
    nodes: defaultdict[float | None, int] = defaultdict(int)
    for held in allocations:
        nodes[held.ends] += held.nodes
    return nodes


@given(st.lists(limits, min_size=8, max_size=8), st.lists(changes, max_size=40))
def test_the_book_agrees_with_a_search_through_all_runs(
    of: list[float | None], told: list[tuple[int, Stage, bool, float | None]]
) -> None:
    book, active = QueueBook(), dict[str, RunRecord]()
    for number, stage, explained, started in told:
        waiting = Waiting("busy", 1) if explained else None
        changed = replace(record(number, of[number]), stage=stage, waiting=waiting, started=started)
        active.pop(changed.id, None)
        if stage is not Stage.ENDED:
            active[changed.id] = changed
        book.note(changed)
        check(book, active)


def test_runs_that_have_left_the_queue_are_not_shown() -> None:
    book = QueueBook()
    for number in (0, 2, 4):
        book.note(replace(record(number), stage=Stage.QUEUED))
    waiting = book.waiting(A)
    first = next(waiting)
    for left in ("r0", "r2", "r4"):
        if left != first.id:
            book.note(replace(record(int(left[1:])), stage=Stage.ENDED))
    assert list(waiting) == []
    assert book.find_queued("r9") is None and (book.find_queued(first.id) or (None, 0))[1] == 1


def test_runs_without_nodes_are_left_out() -> None:
    book = QueueBook()
    book.note(RunRecord("own", "w", RunSpec("lab", kind="interactive"), Stage.RUNNING, 1.0))
    assert book.active() == [] and book.targets() == []
