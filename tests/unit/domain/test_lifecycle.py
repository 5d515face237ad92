"""The life of a run, event by event: what each stage makes of each event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.domain import gpus
from footplate.domain.events import (
    Admitted,
    Attends,
    CancelAsked,
    Completes,
    Conclude,
    Done,
    Equipped,
    Event,
    Exited,
    Fails,
    Joined,
    Launch,
    Launched,
    Locked,
    Lost,
    NextAttempt,
    Prepared,
    Prepares,
    RankFailed,
    ResolveLock,
    Restarted,
    Schedule,
    Started,
    StopNodes,
    Submitted,
    Vanished,
    Waits,
    Warned,
    tell,
)
from footplate.domain.lifecycle import apply, resume
from footplate.domain.records import Cause, Outcome, RunRecord, Stage, Waiting
from footplate.domain.specs import Distribution, Program, RunSpec
from footplate.domain.states import holds_nodes, is_ready, status
from footplate.errors import InvalidTransition

BOOM = Cause("script_failed", "the script ended with exit code 3", exit_code=3)
GONE = Cause("node_lost", "node 0 is gone")


def accepted(nodes: int = 1, kind: str = "job") -> RunRecord:
    program = Program(script="train.py") if kind == "job" else None
    spec = RunSpec("exp", kind=kind, program=program, distribution=Distribution(node_count=nodes))
    return RunRecord("exp_1_ab", "w1", spec, Stage.ACCEPTED, created=1.0)


def joined(node: int = 0) -> Joined:
    return Joined(node, f"host{node}", f"10.0.0.{node}", {"cpus": 2})


def after(record: RunRecord, *events: Event) -> RunRecord:
    for now, event in enumerate(events, start=10):
        record, _ = apply(record, event, float(now))
    return record


TO_QUEUE = (Submitted("ada"), Locked("d1g3st"))
TO_NODES = (*TO_QUEUE, Admitted(), Launched("h1"))
TO_RUNNING = (*TO_NODES, joined(), Prepares(0, "fetching the snapshot"), Started(0))


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ((), "Starting"),
        (TO_QUEUE[:1], "Preparing"),
        (TO_QUEUE, "Queued"),
        ((*TO_QUEUE, Waits("1 of 1 node is busy", 1)), "Queued"),
        ((*TO_QUEUE, Admitted()), "Provisioning"),
        (TO_NODES, "Provisioning"),
        ((*TO_NODES, joined()), "Provisioning"),
        (TO_RUNNING[:-1], "Preparing"),
        (TO_RUNNING, "Running"),
        ((*TO_RUNNING, Exited(0)), "Finalizing"),
        ((*TO_RUNNING, Exited(0), Done(0)), "Completed"),
        ((*TO_RUNNING, Exited(0, BOOM)), "Finalizing"),
        ((*TO_RUNNING, Exited(0, BOOM), Done(0)), "Failed"),
        ((*TO_RUNNING, CancelAsked("ada")), "CancelRequested"),
        ((*TO_RUNNING, CancelAsked("ada"), Exited(0)), "CancelRequested"),
        ((*TO_RUNNING, CancelAsked("ada"), Exited(0), Done(0)), "Canceled"),
        ((*TO_RUNNING, Lost(0, GONE)), "Failed"),
        ((*TO_RUNNING, Exited(0), Lost(0, GONE)), "Failed"),
        ((*TO_RUNNING, CancelAsked(), Lost(0, GONE)), "Canceled"),
        ((*TO_RUNNING, Exited(0), CancelAsked(), Done(0)), "Completed"),
        ((*TO_QUEUE, CancelAsked()), "Canceled"),
        ((*TO_QUEUE[:1], Fails(BOOM)), "Failed"),
        ((*TO_NODES, Fails(BOOM)), "Provisioning"),
        ((*TO_QUEUE, Admitted(), Fails(BOOM)), "Failed"),  # the launch failed: no agent will ever report
        ((*TO_QUEUE, Admitted(), joined(), Fails(BOOM)), "Provisioning"),
        ((*TO_QUEUE, Admitted(), Fails(BOOM), Launched("late")), "Failed"),
        ((*TO_NODES, Fails(BOOM), Lost(0, GONE)), "Failed"),
    ],
)
def test_status_after(events: tuple[Event, ...], word: str) -> None:
    assert status(after(accepted(), *events)) == word


@pytest.mark.parametrize(
    ("events", "event", "effects"),
    [
        ((), Submitted(), (ResolveLock(),)),
        (TO_QUEUE[:1], Locked("d"), (Schedule(),)),
        (TO_QUEUE, Admitted(), (Launch(),)),
        (TO_QUEUE, Waits("busy", 1), ()),
        (TO_QUEUE, CancelAsked(), (Conclude(), Schedule())),
        (TO_NODES, CancelAsked(), (StopNodes((0,)),)),
        (TO_NODES, joined(), ()),
        ((*TO_QUEUE, Admitted()), Fails(BOOM), (Conclude(), Schedule())),
        (TO_RUNNING, Fails(BOOM), (StopNodes((0,)),)),
        (TO_RUNNING, Exited(0), ()),
        ((*TO_RUNNING, Exited(0)), Done(0), (Conclude(), Schedule())),
        (TO_RUNNING, Lost(0, GONE), (Conclude(), Schedule())),
        ((*TO_QUEUE, Admitted(), CancelAsked()), Launched("late"), (StopNodes((0,)),)),
    ],
)
def test_effects_of(events: tuple[Event, ...], event: Event, effects: tuple[object, ...]) -> None:
    assert apply(after(accepted(), *events), event, 99.0)[1] == effects


@pytest.mark.parametrize(
    ("events", "repeated"),
    [
        (TO_QUEUE[:1], Submitted("ada")),
        (TO_RUNNING, Submitted("ada")),
        (TO_QUEUE, Locked("d1g3st")),
        ((*TO_QUEUE, Waits("busy", 1)), Waits("busy", 1)),
        (TO_NODES, Admitted()),
        (TO_NODES, Launched("h1")),
        ((*TO_NODES, joined()), joined()),
        (TO_RUNNING[:-1], Prepares(0, "fetching the snapshot")),
        (TO_RUNNING, Prepares(0, "fetching the snapshot")),
        (TO_RUNNING, Started(0)),
        ((*TO_RUNNING, Exited(0)), Exited(0, BOOM)),
        ((*TO_RUNNING, Exited(0), Done(0)), Done(0)),
        ((*TO_RUNNING, Exited(0), Done(0)), Exited(0)),
        ((*TO_RUNNING, Exited(0), Done(0)), Lost(0, GONE)),
        ((*TO_RUNNING, Exited(0), Done(0)), CancelAsked()),
        ((*TO_RUNNING, CancelAsked("ada")), CancelAsked("bob")),
        ((*TO_RUNNING, CancelAsked("ada")), Fails(BOOM)),
        ((*TO_RUNNING, Warned("slow disk")), Warned("slow disk")),
    ],
)
def test_what_is_known_already_changes_nothing(events: tuple[Event, ...], repeated: Event) -> None:
    record = after(accepted(), *events)
    same, effects = apply(record, repeated, 99.0)
    assert same is record
    assert effects == ()


@pytest.mark.parametrize(
    "event", [joined(), Prepares(0, "x"), Started(0), Fails(BOOM), Completes(), Locked("d"), Admitted()]
)
def test_an_ended_run_takes_no_more(event: Event) -> None:
    record = after(accepted(), *TO_RUNNING, Exited(0, BOOM), Done(0))
    with pytest.raises(InvalidTransition, match=r"exp_1_ab has ended \(Failed\) and takes no") as caught:
        apply(record, event, 99.0)
    assert caught.value.hint == "see what happened to it with: footplate runs show exp_1_ab"


@pytest.mark.parametrize("node", [-1, 1, 7])
@pytest.mark.parametrize("kind", [joined, Started, Done, Exited])
def test_a_node_that_the_run_has_not_is_refused(kind: type, node: int) -> None:
    with pytest.raises(InvalidTransition, match=f"has 1 node and takes no .* of node {node}"):
        apply(after(accepted(), *TO_NODES), kind(node), 99.0)


def test_a_job_cannot_be_completed_from_outside() -> None:
    with pytest.raises(InvalidTransition, match="managed by Footplate"):
        apply(after(accepted(), *TO_RUNNING), Completes(), 99.0)


class TestInteractive:
    def test_runs_at_once_and_is_completed_by_its_client(self) -> None:
        record = after(accepted(kind="interactive"), Submitted("ada"))
        assert (status(record), record.started) == ("Running", 10.0)
        ended, effects = apply(record, Completes(), 20.0)
        assert (status(ended), ended.ended, effects) == ("Completed", 20.0, (Conclude(),))
        assert apply(ended, Completes(), 21.0) == (ended, ())

    def test_fails_by_its_own_word(self) -> None:
        record = after(accepted(kind="interactive"), Submitted(), Fails(BOOM))
        assert status(record) == "Failed"
        with pytest.raises(InvalidTransition):
            apply(record, Completes(), 30.0)

    def test_holds_no_nodes_and_needs_nothing_after_a_restart(self) -> None:
        record = after(accepted(kind="interactive"), Submitted())
        assert not holds_nodes(record)
        assert resume(record) == ()


class TestSeveralNodes:
    def gang(self, *events: Event) -> RunRecord:
        return after(accepted(nodes=2), *TO_NODES, joined(0), joined(1), *events)

    def test_runs_when_the_last_node_has_started(self) -> None:
        one = self.gang(Started(1))
        assert (status(one), one.started) == ("Preparing", None)
        both = self.gang(Started(1), Started(0))
        assert (status(both), both.started) == ("Running", 17.0)

    def test_runs_although_one_node_was_faster_than_the_other_could_start(self) -> None:
        record = self.gang(Started(0), Exited(0), Started(1))
        assert (status(record), record.started) == ("Running", 18.0)

    def test_first_failure_decides_and_stops_the_others(self) -> None:
        record, effects = apply(self.gang(Started(0), Started(1)), Exited(1, BOOM), 50.0)
        assert effects == (StopNodes((0,)),)
        record = after(record, Exited(0, Cause("killed", "killed by SIGTERM")), Done(0), Done(1))
        assert record.outcome == Outcome("failed", BOOM)

    def test_completes_when_the_last_node_is_done(self) -> None:
        record = self.gang(Started(0), Started(1), Exited(0), Done(0))
        assert status(record) == "Running"
        record = after(record, Exited(1))
        assert status(record) == "Finalizing"
        assert status(after(record, Done(1))) == "Completed"

    def test_a_node_that_only_ships_is_not_stopped(self) -> None:
        record = self.gang(Started(0), Started(1), Exited(0))
        assert apply(record, CancelAsked(), 50.0)[1] == (StopNodes((1,)),)

    def test_a_lost_node_stops_the_rest(self) -> None:
        record, effects = apply(self.gang(Started(0), Started(1)), Lost(0, GONE), 50.0)
        assert effects == (StopNodes((1,)),)
        assert status(after(record, Exited(1), Done(1))) == "Failed"

    def test_nobody_starts_before_all_are_prepared_and_says_for_whom_it_waits(self) -> None:
        record = self.gang(Prepared(1, (7,)))
        assert not is_ready(record)
        assert record.nodes[1].message == "ready, waits for node 0"
        record = after(record, Prepared(0))
        assert is_ready(record)
        assert [(n.message, n.ports) for n in record.nodes] == [(None, ()), (None, (7,))]
        assert status(after(record, Started(0), Started(1))) == "Running"

    def test_what_was_said_of_gpus_that_are_waited_for_holds_until_they_are_there(self) -> None:
        device = {"index": 0, "uuid": "GPU-0", "name": "Fake", "memory": 1}
        there = replace(joined(0), info={gpus.INFO: [device]})
        record = after(accepted(), *TO_NODES, there, Prepares(0, "waits for 1 GPU of host0"), Prepared(0))
        assert record.nodes[0].message == "waits for 1 GPU of host0"
        assert after(record, Equipped((("GPU-0",),))).nodes[0].message is None

    def test_an_agent_that_was_started_again_holds_other_ports_as_long_as_nobody_knows_the_old_ones(self) -> None:
        record = self.gang(Prepared(0, (7,)), Prepared(0, (8,)))
        assert record.nodes[0].ports == (8,)
        record = after(record, Prepared(1), Prepared(0, (9,)))
        assert record.nodes[0].ports == (8,)

    def test_one_plain_process_waits_for_nobody(self) -> None:
        assert is_ready(after(accepted(), *TO_NODES, joined(0)))

    def test_the_rank_that_failed_first_is_the_cause_whoever_speaks_first(self) -> None:
        fast = Cause("exit_code", "b", node=1, rank=1, time=8.0)
        first = Cause("exit_code", "a", node=0, rank=0, time=7.5)
        record = self.gang(Started(0), Started(1), Exited(1, fast), Exited(0, first))
        assert record.outcome == Outcome("failed", first)
        later = Cause("exit_code", "c", node=0, rank=0, time=9.0)
        assert self.gang(Started(0), Started(1), Exited(1, fast), Exited(0, later)).outcome == Outcome("failed", fast)

    def test_the_others_are_stopped_before_the_node_of_a_failed_rank_has_ended_its_own(self) -> None:
        failed = Cause("exit_code", "b", node=1, rank=1, time=8.0)
        record, effects = apply(self.gang(Started(0), Started(1)), RankFailed(1, failed), 50.0)
        assert (record.outcome, effects) == (Outcome("failed", failed), (StopNodes((0, 1)),))
        assert apply(record, RankFailed(1, failed), 51.0) == (record, ())
        assert apply(record, Exited(1, failed), 52.0)[1] == ()

    def test_a_rank_explains_more_than_mpirun(self) -> None:
        mpirun = Cause("mpi_failed", "mpirun ended with exit code 3", node=0)
        rank = Cause("exit_code", "rank 1", node=1, rank=1, time=99.0)
        record = self.gang(Started(0), Started(1), Exited(0, mpirun), Exited(1, rank))
        assert record.outcome == Outcome("failed", rank)

    def test_a_canceled_run_stays_canceled(self) -> None:
        failed = Cause("exit_code", "b", node=1, rank=1, time=0.0)
        record = self.gang(Started(0), Started(1), CancelAsked(), Exited(1, failed), Vanished(0, GONE))
        assert record.outcome is not None
        assert record.outcome.kind == "canceled"


class TestVanishedNodes:
    FELT = Cause("user_exception", "connection reset", node=1, rank=1, time=14.0)

    def gang(self, *events: Event, nodes: int = 2) -> RunRecord:
        ready = [event for node in range(nodes) for event in (joined(node), Prepared(node), Started(node))]
        return after(accepted(nodes=nodes), *TO_NODES, *ready, *events)

    def test_stops_all_and_waits_for_whoever_cleans_up(self) -> None:
        record, effects = apply(self.gang(), Vanished(0, GONE), 50.0)
        assert (record.outcome, effects) == (Outcome("failed", GONE), (StopNodes((0, 1)),))
        assert status(record) == "Running"
        assert status(after(record, Exited(0), Exited(1), Done(0), Done(1))) == "Failed"

    def test_is_the_cause_of_failures_elsewhere(self) -> None:
        assert self.gang(Exited(1, self.FELT), Vanished(0, GONE)).outcome == Outcome("failed", GONE)

    def test_repeated_changes_nothing_whatever_its_cause_names(self) -> None:
        told = Vanished(0, replace(GONE, rank=0))
        record = self.gang(told)
        assert apply(record, told, 51.0) == (record, ())

    def test_much_later_it_is_not(self) -> None:
        record, _ = apply(self.gang(Exited(1, self.FELT)), Vanished(0, GONE), 200.0)
        assert record.outcome == Outcome("failed", self.FELT)

    def test_a_run_of_one_node_only_gets_another_agent(self) -> None:
        assert self.gang(Vanished(0, GONE), nodes=1).outcome is None

    def test_a_node_that_ships_is_not_missed_yet(self) -> None:
        assert self.gang(Exited(0), Vanished(0, GONE)).outcome is None


class TestFailuresOfSeveralNodes:
    LOST_ANOTHER = Cause("user_exception", "…", node=0, rank=0, time=14.0, exception="ConnectionResetError")
    RAISED = Cause("user_exception", "ValueError: bad", node=1, rank=1, time=15.0, exception="ValueError")

    @pytest.mark.parametrize("causes", [(LOST_ANOTHER, RAISED), (RAISED, LOST_ANOTHER)], ids=["after", "before"])
    def test_who_blames_another_is_not_the_cause_whoever_speaks_first(self, causes: tuple[Cause, Cause]) -> None:
        ready = [event for node in (0, 1) for event in (joined(node), Prepared(node), Started(node))]
        told = [RankFailed(cause.node or 0, cause) for cause in causes]
        record = after(accepted(nodes=2), *TO_NODES, *ready, *told, *(Exited(c.node or 0, c) for c in causes))
        assert record.outcome == Outcome("failed", self.RAISED)


class TestAttendants:
    def gang(self, *events: Event) -> RunRecord:
        ready = [event for node in (0, 1) for event in (joined(node), Prepared(node), Started(node))]
        return after(accepted(nodes=2), *TO_NODES, *ready, *events)

    def test_are_stopped_when_all_others_are_done(self) -> None:
        record = self.gang(Attends(0))
        assert (status(record), record.outcome) == ("Running", None)
        record, effects = apply(record, Exited(1), 50.0)
        assert (record.outcome, effects) == (Outcome("completed"), (StopNodes((0,)),))
        record = after(record, Exited(0))
        assert status(record) == "Finalizing"
        assert status(after(record, Done(0), Done(1))) == "Completed"

    def test_a_worker_that_fails_is_a_failure(self) -> None:
        assert self.gang(Attends(0), Exited(1, BOOM)).outcome == Outcome("failed", BOOM)


@pytest.mark.parametrize(
    ("events", "effects"),
    [
        ((), (ResolveLock(),)),
        (TO_QUEUE[:1], (ResolveLock(),)),
        (TO_QUEUE, (Schedule(),)),
        ((*TO_QUEUE, Admitted()), (Launch(),)),
        (TO_NODES, ()),
        (TO_RUNNING, ()),
        ((*TO_RUNNING, CancelAsked()), (StopNodes((0,)),)),
        ((*TO_QUEUE, Admitted(), CancelAsked()), (Launch(),)),
        ((*TO_RUNNING, Exited(0), Done(0)), ()),
    ],
)
def test_a_restarted_server_resumes_with(events: tuple[Event, ...], effects: tuple[object, ...]) -> None:
    assert resume(after(accepted(), *events)) == effects


def test_the_record_keeps_what_events_say() -> None:
    record = after(accepted(), *TO_QUEUE, Waits("1 of 1 node of 'c' is busy", 2))
    assert record.waiting == Waiting("1 of 1 node of 'c' is busy", 2)
    record = after(record, Admitted(), Launched("h1"), joined(), Prepares(0, "building the environment"))
    node = record.nodes[0]
    assert (record.waiting, record.lock, record.handle) == (None, "d1g3st", "h1")
    assert (node.host, node.address, node.message, node.info) == (
        "host0",
        "10.0.0.0",
        "building the environment",
        {"cpus": 2},
    )
    assert after(record, Started(0)).nodes[0].message is None


def test_warnings_come_from_the_lock_and_from_events_also_after_the_end() -> None:
    record = after(accepted(), Submitted(), Locked("d", ("numpy was not pinned",)), CancelAsked(), Warned("late"))
    assert record.warnings == ("numpy was not pinned", "late")


def test_a_cancel_says_who_and_why() -> None:
    record = after(accepted(), *TO_QUEUE, CancelAsked("ada", "wrong data"))
    assert record.outcome == Outcome("canceled", Cause("canceled", "canceled by ada: wrong data"))


def test_nodes_are_held_from_admission_to_the_end() -> None:
    held = [holds_nodes(after(accepted(), *TO_RUNNING[:n])) for n in range(len(TO_RUNNING) + 1)]
    assert held == [False] * 3 + [True] * (len(TO_RUNNING) - 2)
    assert holds_nodes(after(accepted(), *TO_RUNNING, Exited(0)))
    assert not holds_nodes(after(accepted(), *TO_RUNNING, Exited(0), Done(0)))


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (Submitted("ada"), "submitted by ada"),
        (Submitted(), "submitted"),
        (Locked("0123456789abcdef"), "environment resolved (0123456789ab)"),
        (Waits("1 of 1 node is busy", 2), "waits in position 2: 1 of 1 node is busy"),
        (Admitted(), "got its nodes"),
        (Launched("h"), "the engine started its agents"),
        (joined(1), "node 1: agent on host1 reported"),
        (Prepares(0, "fetching"), "node 0: fetching"),
        (Started(3), "node 3: the script runs"),
        (Exited(0), "node 0: all processes ended well"),
        (Exited(0, BOOM), "node 0: the script ended with exit code 3"),
        (Done(0), "node 0: everything is stored"),
        (Lost(2, GONE), "node 2: node 0 is gone"),
        (Fails(BOOM), "the script ended with exit code 3"),
        (CancelAsked("ada", "enough"), "cancel asked by ada: enough"),
        (CancelAsked(), "cancel asked by the user"),
        (Completes(), "completed by its client"),
        (Warned("slow"), "warning: slow"),
    ],
)
def test_story(event: Event, sentence: str) -> None:
    assert tell(event) == sentence


def test_apply_leaves_the_record_it_was_given_as_it_was() -> None:
    before = after(accepted(), *TO_NODES)
    copy = replace(before)
    apply(before, joined(), 5.0)
    assert before == copy


def ended(record: RunRecord, cause: Cause | None) -> RunRecord:
    return after(record, *TO_RUNNING, Exited(0, cause), Done(0))


def test_a_restart_begins_in_the_queue_and_keeps_id_lock_and_warnings() -> None:
    failed = after(ended(accepted(), BOOM), Warned("old"))
    again, effects = apply(failed, Restarted(2, "ada", "more memory"), 50.0)
    assert (again.attempt, again.stage, again.lock, again.warnings) == (2, Stage.QUEUED, "d1g3st", ("old",))
    assert (again.nodes, again.handle, again.outcome, again.started, again.ended) == ((), None, None, None, None)
    assert effects == (NextAttempt("h1"), Schedule())
    assert status(after(again, Admitted(), Launched("h2"), joined(), Started(0), Exited(0), Done(0))) == "Completed"


def test_asking_twice_for_an_attempt_starts_one() -> None:
    again = after(ended(accepted(), BOOM), Restarted(2))
    assert apply(again, Restarted(2), 60.0) == (again, ())
    over = after(again, Admitted(), Launched("h2"), joined(), Started(0), Exited(0, BOOM), Done(0))
    assert apply(over, Restarted(2), 60.0) == (over, ())
    assert apply(over, Restarted(3), 60.0)[0].attempt == 3


def test_a_run_that_failed_before_it_was_resolved_is_resolved_by_the_next_attempt() -> None:
    failed = after(accepted(), Submitted(), Fails(BOOM))
    again, effects = apply(failed, Restarted(2), 50.0)
    assert (again.stage, effects) == (Stage.LOCKING, (NextAttempt(None), ResolveLock()))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (after(accepted(), *TO_RUNNING), "only a run that has ended"),
        (ended(accepted(), None), "has completed"),
        (after(accepted(kind="interactive"), Submitted(), Fails(BOOM)), "interactive"),
    ],
)
def test_what_cannot_be_restarted_says_why(record: RunRecord, words: str) -> None:
    with pytest.raises(InvalidTransition, match=words) as refused:
        apply(record, Restarted(2), 50.0)
    assert refused.value.hint


def test_attempts_cannot_be_skipped() -> None:
    with pytest.raises(InvalidTransition, match="is at attempt 1 and takes no attempt 3"):
        apply(ended(accepted(), BOOM), Restarted(3), 50.0)


def test_a_lost_node_is_tried_again_as_often_as_the_spec_allows() -> None:
    record = accepted(nodes=2)
    record = replace(record, spec=replace(record.spec, max_attempts=2))
    running = after(record, *TO_NODES, joined(0), joined(1), Started(0), Started(1))
    stopping, effects = apply(running, Lost(1, replace(GONE, node=1)), 20.0)
    assert effects == (StopNodes((0,)),)
    again, effects = apply(after(stopping, Exited(0, BOOM)), Done(0), 21.0)
    assert (again.attempt, again.stage, effects) == (2, Stage.QUEUED, (NextAttempt("h1"), Schedule()))
    twice = after(again, Admitted(), Launched("h2"), joined(0), joined(1), Lost(0, GONE), Done(1))
    assert (twice.attempt, status(twice)) == (2, "Failed")


def test_a_node_of_several_whose_agent_died_is_tried_again_too() -> None:
    """Another agent has cleaned up there, and said that all is stored."""
    record = accepted(nodes=2)
    record = replace(record, spec=replace(record.spec, max_attempts=2))
    ready = [event for node in (0, 1) for event in (joined(node), Prepared(node), Started(node))]
    vanished = after(record, *TO_NODES, *ready, Vanished(1, replace(GONE, node=1)), Exited(0), Exited(1), Done(0))
    again, effects = apply(vanished, Done(1), 21.0)
    assert (again.attempt, again.stage, effects) == (2, Stage.QUEUED, (NextAttempt("h1"), Schedule()))


def test_a_script_that_fails_is_not_tried_again_by_itself() -> None:
    record = accepted()
    record = replace(record, spec=replace(record.spec, max_attempts=5))
    assert status(ended(record, BOOM)) == "Failed"
    assert status(after(record, *TO_RUNNING, Fails(Cause("node_lost", "says the user")), Done(0))) == "Failed"
    assert status(after(record, *TO_RUNNING, CancelAsked(), Exited(0, GONE), Done(0))) == "Canceled"
