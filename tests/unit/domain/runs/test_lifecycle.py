"""The life of a run, event by event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.domain import orders
from footplate.domain.orders import Cause, Program
from footplate.domain.records import Outcome, RunRecord, Stage, Waiting
from footplate.domain.runs.events import (
    AnnounceEnd,
    BeginAttempt,
    EngineReported,
    EnvironmentDeferred,
    EnvironmentLocked,
    Event,
    ForgetNodes,
    GpusAssigned,
    LaunchNodes,
    NodeExited,
    NodeFinished,
    NodeJoined,
    NodeLost,
    NodePrepared,
    NodeProgressed,
    NodesLaunched,
    NodeStarted,
    NodeVanished,
    NodeWorkersFinished,
    RankFailed,
    ResolveEnvironment,
    RunAdmitted,
    RunCancelRequested,
    RunCompleted,
    RunFailed,
    RunRestarted,
    RunSubmitted,
    ScheduleQueue,
    StopNodes,
    WaitReasonChanged,
    WarningAdded,
    describe,
)
from footplate.domain.runs.lifecycle import apply, resume
from footplate.domain.runs.run_status import holds_nodes, is_ready, status
from footplate.domain.specs import Distribution, RunSpec
from footplate.errors import InvalidTransition

BOOM = Cause("script_failed", "the script ended with exit code 3", exit_code=3)
GONE = Cause("node_lost", "node 0 is gone")


def accepted(nodes: int = 1, kind: str = "job") -> RunRecord:
    program = Program(script="train.py") if kind == "job" else None
    spec = RunSpec("exp", kind=kind, program=program, distribution=Distribution(node_count=nodes))
    return RunRecord("exp_1_ab", "w1", spec, Stage.ACCEPTED, created=1.0)


def joined(node: int = 0) -> NodeJoined:
    return NodeJoined(node, f"host{node}", f"10.0.0.{node}", {"cpus": 2})


def after(record: RunRecord, *events: Event) -> RunRecord:
    for now, event in enumerate(events, start=10):
        record, _ = apply(record, event, float(now))
    return record


TO_QUEUE = (RunSubmitted("ada"), EnvironmentLocked("d1g3st"))
TO_NODES = (*TO_QUEUE, RunAdmitted(), NodesLaunched("h1"))
TO_RUNNING = (*TO_NODES, joined(), NodeProgressed(0, "fetching the snapshot"), NodeStarted(0))


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ((), "Starting"),
        (TO_QUEUE[:1], "Preparing"),
        (TO_QUEUE, "Queued"),
        ((*TO_QUEUE, WaitReasonChanged("1 of 1 node is busy", 1)), "Queued"),
        ((*TO_QUEUE, RunAdmitted()), "Provisioning"),
        (TO_NODES, "Provisioning"),
        ((*TO_NODES, joined()), "Provisioning"),
        (TO_RUNNING[:-1], "Preparing"),
        (TO_RUNNING, "Running"),
        ((*TO_RUNNING, NodeExited(0)), "Finalizing"),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), "Completed"),
        ((*TO_RUNNING, NodeExited(0, BOOM)), "Finalizing"),
        ((*TO_RUNNING, NodeExited(0, BOOM), NodeFinished(0)), "Failed"),
        ((*TO_RUNNING, RunCancelRequested("ada")), "CancelRequested"),
        ((*TO_RUNNING, RunCancelRequested("ada"), NodeExited(0)), "CancelRequested"),
        ((*TO_RUNNING, RunCancelRequested("ada"), NodeExited(0), NodeFinished(0)), "Canceled"),
        ((*TO_RUNNING, NodeLost(0, GONE)), "Failed"),
        ((*TO_RUNNING, NodeExited(0), NodeLost(0, GONE)), "Failed"),
        ((*TO_RUNNING, RunCancelRequested(), NodeLost(0, GONE)), "Canceled"),
        ((*TO_RUNNING, NodeExited(0), RunCancelRequested(), NodeFinished(0)), "Completed"),
        ((*TO_QUEUE, RunCancelRequested()), "Canceled"),
        ((*TO_QUEUE[:1], RunFailed(BOOM)), "Failed"),
        ((*TO_NODES, RunFailed(BOOM)), "Provisioning"),
        ((*TO_QUEUE, RunAdmitted(), RunFailed(BOOM)), "Failed"),  # the launch failed: no agent will ever report
        ((*TO_QUEUE, RunAdmitted(), joined(), RunFailed(BOOM)), "Provisioning"),
        ((*TO_QUEUE, RunAdmitted(), RunFailed(BOOM), NodesLaunched("late")), "Failed"),
        ((*TO_NODES, RunFailed(BOOM), NodeLost(0, GONE)), "Failed"),
    ],
)
def test_the_status_follows_from_the_events(events: tuple[Event, ...], word: str) -> None:
    assert status(after(accepted(), *events)) == word


@pytest.mark.parametrize(
    ("events", "event", "effects"),
    [
        ((), RunSubmitted(), (ResolveEnvironment(),)),
        (TO_QUEUE[:1], EnvironmentLocked("d"), (ScheduleQueue(),)),
        (TO_QUEUE, RunAdmitted(), (LaunchNodes(is_first=True),)),
        (TO_QUEUE, WaitReasonChanged("busy", 1), ()),
        (TO_QUEUE, RunCancelRequested(), (ForgetNodes(), ScheduleQueue(), AnnounceEnd())),
        (TO_NODES, RunCancelRequested(), (StopNodes((0,)),)),
        (TO_NODES, joined(), ()),
        ((*TO_QUEUE, RunAdmitted()), RunFailed(BOOM), (ForgetNodes(), ScheduleQueue(), AnnounceEnd())),
        (TO_RUNNING, RunFailed(BOOM), (StopNodes((0,)),)),
        (TO_RUNNING, NodeExited(0), ()),
        ((*TO_RUNNING, NodeExited(0)), NodeFinished(0), (ForgetNodes(), ScheduleQueue(), AnnounceEnd())),
        (TO_RUNNING, NodeLost(0, GONE), (ForgetNodes(), ScheduleQueue(), AnnounceEnd())),
        ((*TO_QUEUE, RunAdmitted(), RunCancelRequested()), NodesLaunched("late"), (StopNodes((0,)),)),
    ],
)
def test_the_effects_follow_from_the_event(
    events: tuple[Event, ...], event: Event, effects: tuple[object, ...]
) -> None:
    assert apply(after(accepted(), *events), event, 99.0)[1] == effects


@pytest.mark.parametrize(
    ("events", "repeated"),
    [
        (TO_QUEUE[:1], RunSubmitted("ada")),
        (TO_RUNNING, RunSubmitted("ada")),
        (TO_QUEUE, EnvironmentLocked("d1g3st")),
        ((*TO_QUEUE, WaitReasonChanged("busy", 1)), WaitReasonChanged("busy", 1)),
        (TO_NODES, RunAdmitted()),
        (TO_NODES, NodesLaunched("h1")),
        ((*TO_NODES, joined()), joined()),
        (TO_RUNNING[:-1], NodeProgressed(0, "fetching the snapshot")),
        (TO_RUNNING, NodeProgressed(0, "fetching the snapshot")),
        (TO_RUNNING, NodeStarted(0)),
        ((*TO_RUNNING, NodeExited(0)), NodeExited(0, BOOM)),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), NodeFinished(0)),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), NodeExited(0)),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), NodeLost(0, GONE)),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), RunCancelRequested()),
        ((*TO_RUNNING, RunCancelRequested("ada")), RunCancelRequested("bob")),
        ((*TO_RUNNING, RunCancelRequested("ada")), RunFailed(BOOM)),
        ((*TO_RUNNING, WarningAdded("slow disk")), WarningAdded("slow disk")),
    ],
)
def test_a_repeated_event_changes_nothing(events: tuple[Event, ...], repeated: Event) -> None:
    record = after(accepted(), *events)
    same, effects = apply(record, repeated, 99.0)
    assert same is record
    assert effects == ()


@pytest.mark.parametrize(
    "event",
    [
        joined(),
        NodeProgressed(0, "x"),
        NodeStarted(0),
        RunFailed(BOOM),
        RunCompleted(),
        EnvironmentLocked("d"),
        RunAdmitted(),
    ],
)
def test_an_ended_run_admits_no_more(event: Event) -> None:
    record = after(accepted(), *TO_RUNNING, NodeExited(0, BOOM), NodeFinished(0))
    with pytest.raises(InvalidTransition, match=r"exp_1_ab has ended \(Failed\) and does not admit") as caught:
        apply(record, event, 99.0)
    assert caught.value.hint == "see what happened to it with: footplate runs show exp_1_ab"


@pytest.mark.parametrize("node", [-1, 1, 7])
@pytest.mark.parametrize("kind", [joined, NodeStarted, NodeFinished, NodeExited])
def test_an_unknown_node_is_refused(kind: type, node: int) -> None:
    with pytest.raises(InvalidTransition, match=f"has 1 node and does not admit .* of node {node}"):
        apply(after(accepted(), *TO_NODES), kind(node), 99.0)


def test_a_job_cannot_be_completed_from_outside() -> None:
    with pytest.raises(InvalidTransition, match="managed by Footplate"):
        apply(after(accepted(), *TO_RUNNING), RunCompleted(), 99.0)


class TestInteractive:
    def test_runs_at_once_and_is_completed_by_its_client(self) -> None:
        record = after(accepted(kind="interactive"), RunSubmitted("ada"))
        assert (status(record), record.started) == ("Running", 10.0)
        ended, effects = apply(record, RunCompleted(), 20.0)
        assert (status(ended), ended.ended, effects) == ("Completed", 20.0, (ForgetNodes(), AnnounceEnd()))
        assert apply(ended, RunCompleted(), 21.0) == (ended, ())

    def test_its_client_can_fail_it(self) -> None:
        record = after(accepted(kind="interactive"), RunSubmitted(), RunFailed(BOOM))
        assert status(record) == "Failed"
        with pytest.raises(InvalidTransition):
            apply(record, RunCompleted(), 30.0)

    def test_holds_no_nodes_and_needs_nothing_after_a_restart(self) -> None:
        record = after(accepted(kind="interactive"), RunSubmitted())
        assert not holds_nodes(record)
        assert resume(record) == ()


class TestSeveralNodes:
    def gang(self, *events: Event) -> RunRecord:
        return after(accepted(nodes=2), *TO_NODES, joined(0), joined(1), *events)

    def test_runs_when_the_last_node_has_started(self) -> None:
        one = self.gang(NodeStarted(1))
        assert (status(one), one.started) == ("Preparing", None)
        both = self.gang(NodeStarted(1), NodeStarted(0))
        assert (status(both), both.started) == ("Running", 17.0)

    def test_runs_even_if_one_node_ends_before_the_last_starts(self) -> None:
        record = self.gang(NodeStarted(0), NodeExited(0), NodeStarted(1))
        assert (status(record), record.started) == ("Running", 18.0)

    def test_first_failure_decides_and_stops_the_others(self) -> None:
        record, effects = apply(self.gang(NodeStarted(0), NodeStarted(1)), NodeExited(1, BOOM), 50.0)
        assert effects == (StopNodes((0,)),)
        record = after(record, NodeExited(0, Cause("killed", "killed by SIGTERM")), NodeFinished(0), NodeFinished(1))
        assert record.outcome == Outcome("failed", BOOM)

    def test_completes_when_the_last_node_is_done(self) -> None:
        record = self.gang(NodeStarted(0), NodeStarted(1), NodeExited(0), NodeFinished(0))
        assert status(record) == "Running"
        record = after(record, NodeExited(1))
        assert status(record) == "Finalizing"
        assert status(after(record, NodeFinished(1))) == "Completed"

    def test_a_node_that_only_ships_is_not_stopped(self) -> None:
        record = self.gang(NodeStarted(0), NodeStarted(1), NodeExited(0))
        assert apply(record, RunCancelRequested(), 50.0)[1] == (StopNodes((1,)),)

    def test_a_lost_node_stops_the_rest(self) -> None:
        record, effects = apply(self.gang(NodeStarted(0), NodeStarted(1)), NodeLost(0, GONE), 50.0)
        assert effects == (StopNodes((1,)),)
        assert status(after(record, NodeExited(1), NodeFinished(1))) == "Failed"

    def test_no_node_starts_before_all_are_prepared(self) -> None:
        record = self.gang(NodePrepared(1, (7,)))
        assert not is_ready(record)
        assert record.nodes[1].message == "ready, waits for node 0"
        record = after(record, NodePrepared(0))
        assert is_ready(record)
        assert [(n.message, n.ports) for n in record.nodes] == [(None, ()), (None, (7,))]
        assert status(after(record, NodeStarted(0), NodeStarted(1))) == "Running"

    def test_the_message_about_missing_gpus_stays_until_they_are_free(self) -> None:
        device = {"index": 0, "uuid": "GPU-0", "name": "Fake", "memory": 1}
        there = replace(joined(0), info={orders.INFO: [device]})
        record = after(accepted(), *TO_NODES, there, NodeProgressed(0, "waits for 1 GPU of host0"), NodePrepared(0))
        assert record.nodes[0].message == "waits for 1 GPU of host0"
        assert after(record, GpusAssigned((("GPU-0",),))).nodes[0].message is None

    def test_a_restarted_agent_may_change_its_ports_until_they_are_known(self) -> None:
        record = self.gang(NodePrepared(0, (7,)), NodePrepared(0, (8,)))
        assert record.nodes[0].ports == (8,)
        record = after(record, NodePrepared(1), NodePrepared(0, (9,)))
        assert record.nodes[0].ports == (8,)

    def test_a_single_process_waits_for_nobody(self) -> None:
        assert is_ready(after(accepted(), *TO_NODES, joined(0)))

    def test_the_first_failed_rank_is_the_cause_whoever_reports_first(self) -> None:
        fast = Cause("exit_code", "b", node=1, rank=1, time=8.0)
        first = Cause("exit_code", "a", node=0, rank=0, time=7.5)
        record = self.gang(NodeStarted(0), NodeStarted(1), NodeExited(1, fast), NodeExited(0, first))
        assert record.outcome == Outcome("failed", first)
        later = Cause("exit_code", "c", node=0, rank=0, time=9.0)
        assert self.gang(NodeStarted(0), NodeStarted(1), NodeExited(1, fast), NodeExited(0, later)).outcome == Outcome(
            "failed", fast
        )

    def test_other_nodes_are_stopped_as_soon_as_a_rank_fails(self) -> None:
        failed = Cause("exit_code", "b", node=1, rank=1, time=8.0)
        record, effects = apply(self.gang(NodeStarted(0), NodeStarted(1)), RankFailed(1, failed), 50.0)
        assert (record.outcome, effects) == (Outcome("failed", failed), (StopNodes((0, 1)),))
        assert apply(record, RankFailed(1, failed), 51.0) == (record, ())
        assert apply(record, NodeExited(1, failed), 52.0)[1] == ()

    def test_a_rank_explains_more_than_mpirun(self) -> None:
        mpirun = Cause("mpi_failed", "mpirun ended with exit code 3", node=0)
        rank = Cause("exit_code", "rank 1", node=1, rank=1, time=99.0)
        record = self.gang(NodeStarted(0), NodeStarted(1), NodeExited(0, mpirun), NodeExited(1, rank))
        assert record.outcome == Outcome("failed", rank)

    def test_a_canceled_run_stays_canceled(self) -> None:
        failed = Cause("exit_code", "b", node=1, rank=1, time=0.0)
        record = self.gang(
            NodeStarted(0), NodeStarted(1), RunCancelRequested(), NodeExited(1, failed), NodeVanished(0, GONE)
        )
        assert record.outcome is not None
        assert record.outcome.kind == "canceled"


class TestVanishedNodes:
    FELT = Cause("user_exception", "connection reset", node=1, rank=1, time=14.0)

    def gang(self, *events: Event, nodes: int = 2) -> RunRecord:
        ready = [event for node in range(nodes) for event in (joined(node), NodePrepared(node), NodeStarted(node))]
        return after(accepted(nodes=nodes), *TO_NODES, *ready, *events)

    def test_stops_all_nodes_and_waits_for_the_cleanup(self) -> None:
        record, effects = apply(self.gang(), NodeVanished(0, GONE), 50.0)
        assert (record.outcome, effects) == (Outcome("failed", GONE), (StopNodes((0, 1)),))
        assert status(record) == "Running"
        assert status(after(record, NodeExited(0), NodeExited(1), NodeFinished(0), NodeFinished(1))) == "Failed"

    def test_is_the_cause_of_failures_elsewhere(self) -> None:
        assert self.gang(NodeExited(1, self.FELT), NodeVanished(0, GONE)).outcome == Outcome("failed", GONE)

    def test_a_repeated_report_changes_nothing(self) -> None:
        told = NodeVanished(0, replace(GONE, rank=0))
        record = self.gang(told)
        assert apply(record, told, 51.0) == (record, ())

    def test_is_not_the_cause_of_much_earlier_failures(self) -> None:
        record, _ = apply(self.gang(NodeExited(1, self.FELT)), NodeVanished(0, GONE), 200.0)
        assert record.outcome == Outcome("failed", self.FELT)

    def test_in_a_run_of_one_node_another_agent_takes_over(self) -> None:
        assert self.gang(NodeVanished(0, GONE), nodes=1).outcome is None

    def test_a_shipping_node_is_not_reported_as_vanished(self) -> None:
        assert self.gang(NodeExited(0), NodeVanished(0, GONE)).outcome is None


class TestFailuresOfSeveralNodes:
    LOST_ANOTHER = Cause("user_exception", "…", node=0, rank=0, time=14.0, exception="ConnectionResetError")
    RAISED = Cause("user_exception", "ValueError: bad", node=1, rank=1, time=15.0, exception="ValueError")

    @pytest.mark.parametrize("causes", [(LOST_ANOTHER, RAISED), (RAISED, LOST_ANOTHER)], ids=["after", "before"])
    def test_a_rank_that_blames_another_is_not_the_cause(self, causes: tuple[Cause, Cause]) -> None:
        ready = [event for node in (0, 1) for event in (joined(node), NodePrepared(node), NodeStarted(node))]
        told = [RankFailed(cause.node or 0, cause) for cause in causes]
        record = after(accepted(nodes=2), *TO_NODES, *ready, *told, *(NodeExited(c.node or 0, c) for c in causes))
        assert record.outcome == Outcome("failed", self.RAISED)


class TestAttendants:
    def gang(self, *events: Event) -> RunRecord:
        ready = [event for node in (0, 1) for event in (joined(node), NodePrepared(node), NodeStarted(node))]
        return after(accepted(nodes=2), *TO_NODES, *ready, *events)

    def test_are_stopped_when_all_others_have_finished(self) -> None:
        record = self.gang(NodeWorkersFinished(0))
        assert (status(record), record.outcome) == ("Running", None)
        record, effects = apply(record, NodeExited(1), 50.0)
        assert (record.outcome, effects) == (Outcome("completed"), (StopNodes((0,)),))
        record = after(record, NodeExited(0))
        assert status(record) == "Finalizing"
        assert status(after(record, NodeFinished(0), NodeFinished(1))) == "Completed"

    def test_a_worker_that_fails_is_a_failure(self) -> None:
        assert self.gang(NodeWorkersFinished(0), NodeExited(1, BOOM)).outcome == Outcome("failed", BOOM)


@pytest.mark.parametrize(
    ("events", "effects"),
    [
        ((), (ResolveEnvironment(),)),
        (TO_QUEUE[:1], (ResolveEnvironment(),)),
        (TO_QUEUE, (ScheduleQueue(),)),
        ((*TO_QUEUE, RunAdmitted()), (LaunchNodes(),)),
        (TO_NODES, ()),
        (TO_RUNNING, ()),
        ((*TO_RUNNING, RunCancelRequested()), (StopNodes((0,)),)),
        ((*TO_QUEUE, RunAdmitted(), RunCancelRequested()), (LaunchNodes(),)),
        ((*TO_RUNNING, NodeExited(0), NodeFinished(0)), ()),
    ],
)
def test_a_restarted_server_resumes_with(events: tuple[Event, ...], effects: tuple[object, ...]) -> None:
    assert resume(after(accepted(), *events)) == effects


TO_UNKNOWN_NODES = (RunSubmitted("ada"), EnvironmentDeferred(), RunAdmitted(), NodesLaunched("h1"))


class TestDeferredEnvironment:
    def test_the_run_is_launched_without_a_lock(self) -> None:
        record, effects = apply(after(accepted(), *TO_UNKNOWN_NODES[:1]), EnvironmentDeferred(), 20.0)
        assert (record.stage, record.lock, effects) == (Stage.QUEUED, None, (ScheduleQueue(),))

    def test_node_0_has_it_resolved_when_it_joins(self) -> None:
        record, effects = apply(after(accepted(nodes=2), *TO_UNKNOWN_NODES, joined(1)), joined(0), 20.0)
        assert effects == (ResolveEnvironment(),)
        assert record.nodes[0].message == "resolving the environment for this node"
        assert resume(record) == effects, "a server that was killed in between goes on"
        locked, effects = apply(record, EnvironmentLocked("d1g3st", ("w",)), 30.0)
        assert (locked.lock, locked.warnings, effects) == ("d1g3st", ("w",), ())
        assert (locked.stage, locked.nodes[0].message) == (Stage.PROVISIONING, None)
        assert resume(locked) == ()

    def test_another_node_does_not(self) -> None:
        assert apply(after(accepted(nodes=2), *TO_UNKNOWN_NODES), joined(1), 20.0)[1] == ()

    def test_a_second_resolution_changes_nothing(self) -> None:
        record = after(accepted(), *TO_UNKNOWN_NODES, joined(), EnvironmentLocked("d1g3st"))
        assert apply(record, EnvironmentLocked("another"), 30.0) == (record, ())

    def test_a_failed_resolution_stops_the_nodes(self) -> None:
        record, effects = apply(after(accepted(), *TO_UNKNOWN_NODES, joined()), RunFailed(BOOM), 30.0)
        assert (record.outcome, effects) == (Outcome("failed", BOOM), (StopNodes((0,)),))


def test_an_agent_that_ships_the_last_files_is_not_stopped() -> None:
    """Its ranks have ended. It may have been started again, by a server that was started again."""
    shipping = after(accepted(), *TO_RUNNING, NodeExited(0))
    assert shipping.outcome == Outcome("completed")
    assert resume(shipping) == ()
    again, effects = apply(shipping, NodesLaunched("another"), 99.0)
    assert again.handle == "another"
    assert effects == ()


def test_the_record_keeps_the_data_of_events() -> None:
    record = after(accepted(), *TO_QUEUE, WaitReasonChanged("1 of 1 node of 'c' is busy", 2))
    assert record.waiting == Waiting("1 of 1 node of 'c' is busy", 2)
    record = after(record, RunAdmitted(), NodesLaunched("h1"), joined(), NodeProgressed(0, "building the environment"))
    node = record.nodes[0]
    assert (record.waiting, record.lock, record.handle) == (None, "d1g3st", "h1")
    assert (node.host, node.address, node.message, node.info) == (
        "host0",
        "10.0.0.0",
        "building the environment",
        {"cpus": 2},
    )
    assert after(record, NodeStarted(0)).nodes[0].message is None


def test_warnings_are_added_also_after_the_end() -> None:
    record = after(
        accepted(),
        RunSubmitted(),
        EnvironmentLocked("d", ("numpy was not pinned",)),
        RunCancelRequested(),
        WarningAdded("late"),
    )
    assert record.warnings == ("numpy was not pinned", "late")


def test_a_cancel_names_the_person_and_the_reason() -> None:
    record = after(accepted(), *TO_QUEUE, RunCancelRequested("ada", "wrong data"))
    assert record.outcome == Outcome("canceled", Cause("canceled", "canceled by ada: wrong data"))


def test_nodes_are_held_from_admission_to_the_end() -> None:
    held = [holds_nodes(after(accepted(), *TO_RUNNING[:n])) for n in range(len(TO_RUNNING) + 1)]
    assert held == [False] * 3 + [True] * (len(TO_RUNNING) - 2)
    assert holds_nodes(after(accepted(), *TO_RUNNING, NodeExited(0)))
    assert not holds_nodes(after(accepted(), *TO_RUNNING, NodeExited(0), NodeFinished(0)))


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (RunSubmitted("ada"), "submitted by ada"),
        (RunSubmitted(), "submitted"),
        (EnvironmentLocked("0123456789abcdef"), "environment resolved (0123456789ab)"),
        (WaitReasonChanged("1 of 1 node is busy", 2), "waits in position 2: 1 of 1 node is busy"),
        (RunAdmitted(), "nodes assigned"),
        (NodesLaunched("h"), "the engine started its agents"),
        (joined(1), "node 1: agent on host1 reported"),
        (NodeProgressed(0, "fetching"), "node 0: fetching"),
        (NodeStarted(3), "node 3: the script runs"),
        (NodeExited(0), "node 0: all processes succeeded"),
        (NodeExited(0, BOOM), "node 0: the script ended with exit code 3"),
        (NodeFinished(0), "node 0: everything is stored"),
        (NodeLost(2, GONE), "node 2: node 0 is gone"),
        (RunFailed(BOOM), "the script ended with exit code 3"),
        (RunCancelRequested("ada", "enough"), "cancel requested by ada: enough"),
        (RunCancelRequested(), "cancel requested by the user"),
        (RunCompleted(), "completed by its client"),
        (WarningAdded("slow"), "warning: slow"),
    ],
)
def test_every_event_has_a_sentence(event: Event, sentence: str) -> None:
    assert describe(event) == sentence


def test_apply_does_not_change_its_argument() -> None:
    before = after(accepted(), *TO_NODES)
    copy = replace(before)
    apply(before, joined(), 5.0)
    assert before == copy


def ended(record: RunRecord, cause: Cause | None) -> RunRecord:
    return after(record, *TO_RUNNING, NodeExited(0, cause), NodeFinished(0))


def test_a_restart_keeps_id_lock_and_warnings_and_is_queued() -> None:
    failed = after(ended(accepted(), BOOM), WarningAdded("old"))
    again, effects = apply(failed, RunRestarted(2, "ada", "more memory"), 50.0)
    assert (again.attempt, again.stage, again.lock, again.warnings) == (2, Stage.QUEUED, "d1g3st", ("old",))
    assert (again.nodes, again.handle, again.outcome, again.started, again.ended) == ((), None, None, None, None)
    assert effects == (BeginAttempt("h1"), ScheduleQueue())
    assert (
        status(
            after(again, RunAdmitted(), NodesLaunched("h2"), joined(), NodeStarted(0), NodeExited(0), NodeFinished(0))
        )
        == "Completed"
    )


def test_two_requests_for_an_attempt_start_one() -> None:
    again = after(ended(accepted(), BOOM), RunRestarted(2))
    assert apply(again, RunRestarted(2), 60.0) == (again, ())
    over = after(
        again, RunAdmitted(), NodesLaunched("h2"), joined(), NodeStarted(0), NodeExited(0, BOOM), NodeFinished(0)
    )
    assert apply(over, RunRestarted(2), 60.0) == (over, ())
    assert apply(over, RunRestarted(3), 60.0)[0].attempt == 3


def test_an_unresolved_run_is_resolved_by_the_next_attempt() -> None:
    failed = after(accepted(), RunSubmitted(), RunFailed(BOOM))
    again, effects = apply(failed, RunRestarted(2), 50.0)
    assert (again.stage, effects) == (Stage.LOCKING, (BeginAttempt(None), ResolveEnvironment()))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (after(accepted(), *TO_RUNNING), "only a run that has ended"),
        (ended(accepted(), None), "has completed"),
        (after(accepted(kind="interactive"), RunSubmitted(), RunFailed(BOOM)), "interactive"),
    ],
)
def test_a_refused_restart_names_the_reason(record: RunRecord, words: str) -> None:
    with pytest.raises(InvalidTransition, match=words) as refused:
        apply(record, RunRestarted(2), 50.0)
    assert refused.value.hint


def test_attempts_cannot_be_skipped() -> None:
    with pytest.raises(InvalidTransition, match="is at attempt 1 and cannot begin attempt 3"):
        apply(ended(accepted(), BOOM), RunRestarted(3), 50.0)


def test_a_lost_node_is_retried_up_to_max_attempts() -> None:
    record = accepted(nodes=2)
    record = replace(record, spec=replace(record.spec, max_attempts=2))
    running = after(record, *TO_NODES, joined(0), joined(1), NodeStarted(0), NodeStarted(1))
    stopping, effects = apply(running, NodeLost(1, replace(GONE, node=1)), 20.0)
    assert effects == (StopNodes((0,)),)
    again, effects = apply(after(stopping, NodeExited(0, BOOM)), NodeFinished(0), 21.0)
    assert (again.attempt, again.stage, effects) == (2, Stage.QUEUED, (BeginAttempt("h1"), ScheduleQueue()))
    twice = after(again, RunAdmitted(), NodesLaunched("h2"), joined(0), joined(1), NodeLost(0, GONE), NodeFinished(1))
    assert (twice.attempt, status(twice)) == (2, "Failed")


def test_a_vanished_node_is_retried_too() -> None:
    """Another agent has cleaned up there and reported that everything is stored."""
    record = accepted(nodes=2)
    record = replace(record, spec=replace(record.spec, max_attempts=2))
    ready = [event for node in (0, 1) for event in (joined(node), NodePrepared(node), NodeStarted(node))]
    vanished = after(
        record, *TO_NODES, *ready, NodeVanished(1, replace(GONE, node=1)), NodeExited(0), NodeExited(1), NodeFinished(0)
    )
    again, effects = apply(vanished, NodeFinished(1), 21.0)
    assert (again.attempt, again.stage, effects) == (2, Stage.QUEUED, (BeginAttempt("h1"), ScheduleQueue()))


def test_a_failed_script_is_not_retried_by_default() -> None:
    record = accepted()
    record = replace(record, spec=replace(record.spec, max_attempts=5))
    assert status(ended(record, BOOM)) == "Failed"
    assert (
        status(after(record, *TO_RUNNING, RunFailed(Cause("node_lost", "says the user")), NodeFinished(0))) == "Failed"
    )
    assert status(after(record, *TO_RUNNING, RunCancelRequested(), NodeExited(0, GONE), NodeFinished(0))) == "Canceled"


def test_the_engine_explains_a_wait_until_the_last_node_joins() -> None:
    waits = after(accepted(nodes=2), *TO_NODES, EngineReported("Priority", 500.0, ("n1", None)))
    assert waits.waiting == Waiting("Priority", 0, 500.0)
    assert [node.host for node in waits.nodes] == ["n1", None]
    assert apply(waits, EngineReported("Priority", 530.0), 9.0) == (waits, ()), "a small step is not news"
    later, _ = apply(waits, EngineReported("Priority", 900.0), 9.0)
    assert later.waiting == Waiting("Priority", 0, 900.0)
    one, _ = apply(later, joined(0), 10.0)
    assert one.waiting == later.waiting
    assert apply(one, joined(1), 11.0)[0].waiting is None


def test_the_engine_withdraws_its_reason_when_agents_start() -> None:
    waits = after(accepted(), *TO_NODES, EngineReported("Resources"))
    assert apply(waits, EngineReported(), 9.0)[0].waiting is None


def test_the_engine_explains_nothing_once_the_run_prepares() -> None:
    running = after(accepted(), *TO_RUNNING)
    assert apply(running, EngineReported("Priority"), 9.0) == (running, ())
