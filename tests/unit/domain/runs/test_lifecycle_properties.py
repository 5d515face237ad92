"""Invariants of the lifecycle, for any events in any order."""

from __future__ import annotations

import typing

from hypothesis import event as note
from hypothesis import example, given, settings
from hypothesis import strategies as st

from footplate.domain import orders
from footplate.domain.codec import from_json, to_json
from footplate.domain.orders import Cause, Program
from footplate.domain.records import NodeState, Outcome, RunRecord, Stage
from footplate.domain.runs import events, run_status
from footplate.domain.runs import lifecycle as life
from footplate.domain.runs.controllers import GroupDecision, SubmitChild
from footplate.domain.runs.node_transitions import MAX_REVIVALS
from footplate.domain.runs.restarts import Decision
from footplate.domain.specs import ControllerSpec, Distribution, RestartPolicy, RunSpec
from footplate.errors import InvalidTransition

STATUSES = {
    "Starting", "Preparing", "Queued", "Provisioning", "Running", "Finalizing", "CancelRequested", *run_status.TERMINAL,
}  # fmt: skip
OVER = (NodeState.DONE, NodeState.LOST)
STAGES = list(Stage)

nodes = st.integers(0, 2)
words = st.sampled_from(["a", "b"])
causes = st.builds(
    Cause,
    code=st.sampled_from(["a", orders.MPI_FAILED, orders.NODE_LOST, orders.AGENT_STOPPED]),
    message=words,
    node=st.none() | nodes,
    rank=st.none() | nodes,
    time=st.none() | st.floats(0, 9),
)
outcomes = st.builds(Outcome, kind=st.sampled_from(["completed", "failed", "canceled"]), cause=st.none() | causes)
decisions = st.builds(
    GroupDecision,
    state=st.dictionaries(words, st.integers(0, 3)),
    submit=st.lists(st.builds(SubmitChild, key=words, spec=st.just(RunSpec("e"))), max_size=2).map(tuple),
    end=st.none() | outcomes,
    wake_at=st.none() | st.integers(0, 50).map(float),
)
DONE = GroupDecision(end=Outcome("completed"))
by_kind: dict[type, st.SearchStrategy[typing.Any]] = {
    events.RunSubmitted: st.builds(events.RunSubmitted, by=words),
    events.EnvironmentLocked: st.builds(events.EnvironmentLocked, lock=words),
    events.EnvironmentDeferred: st.just(events.EnvironmentDeferred()),
    events.WaitReasonChanged: st.builds(events.WaitReasonChanged, reason=words, position=st.integers(1, 2)),
    events.RunAdmitted: st.just(events.RunAdmitted()),
    events.NodesLaunched: st.builds(events.NodesLaunched, handle=words),
    events.EngineReported: st.builds(
        events.EngineReported,
        reason=st.none() | words,
        estimated_start=st.none() | st.sampled_from([100.0, 1000.0]),
        hosts=st.sampled_from([(), (None, "host")]),
    ),
    events.NodeJoined: st.builds(events.NodeJoined, node=nodes, host=words, address=words, info=st.just({})),
    events.NodeProgressed: st.builds(events.NodeProgressed, node=nodes, message=words),
    events.NodePrepared: st.builds(events.NodePrepared, node=nodes, ports=st.sampled_from([(), (1,), (2,)])),
    events.NodeStarted: st.builds(events.NodeStarted, node=nodes),
    events.NodeWorkersFinished: st.builds(events.NodeWorkersFinished, node=nodes),
    events.RankFailed: st.builds(events.RankFailed, node=nodes, cause=causes),
    events.NodeExited: st.builds(events.NodeExited, node=nodes, cause=st.none() | causes),
    events.NodeFinished: st.builds(events.NodeFinished, node=nodes),
    events.NodeLost: st.builds(events.NodeLost, node=nodes, cause=causes),
    events.NodeVanished: st.builds(events.NodeVanished, node=nodes, cause=causes),
    events.EngineEnded: st.builds(
        events.EngineEnded, cause=st.none() | causes.filter(lambda cause: cause.code != orders.AGENT_STOPPED)
    ),
    events.RunFailed: st.builds(events.RunFailed, cause=causes),
    events.RunCancelRequested: st.builds(events.RunCancelRequested, by=words),
    events.RunCompleted: st.just(events.RunCompleted()),
    events.StatusReported: st.builds(
        events.StatusReported,
        st.sampled_from([None, "Running", "Completed", "Failed", "Canceled"]),
        st.none() | st.floats(0, 100),
    ),
    events.GpusAssigned: st.builds(
        events.GpusAssigned, gpus=st.lists(st.sampled_from([(), ("a",), ("b", "c")]), min_size=1, max_size=3).map(tuple)
    ),
    events.AgentsMissing: st.builds(
        events.AgentsMissing,
        nodes=st.lists(nodes, min_size=1, max_size=3, unique=True).map(tuple),
        launch=st.integers(0, 3),
        confirmed=st.booleans(),
    ),
    events.WakeTimeReached: st.builds(events.WakeTimeReached, at=st.integers(0, 50).map(float)),
    events.GroupScaled: st.builds(events.GroupScaled, replicas=st.integers(0, 3)),
    events.GroupDecided: st.builds(events.GroupDecided, decision=decisions),
    events.ChildrenFinished: st.just(events.ChildrenFinished()),
    events.RunRestarted: st.builds(events.RunRestarted, attempt=st.integers(1, 4)),
    events.WarningAdded: st.builds(events.WarningAdded, message=words),
}
# Early events are drawn often, so that most sequences get past the queue.
any_event = st.one_of(
    *by_kind.values(),
    *[by_kind[k] for k in (events.RunAdmitted, events.NodeJoined, events.NodeStarted, events.NodeExited)],
)


policies = st.builds(
    RestartPolicy,
    when=st.sampled_from(["never", "on_failure", "always"]),
    causes=st.sampled_from([("node_lost",), ("node_lost", "exit_code")]),
    backoff_seconds=st.sampled_from([0.0, 0.0, 10.0]),
)


@st.composite
def records(draw: st.DrawFn) -> RunRecord:
    count, kind = draw(st.integers(1, 3)), draw(st.sampled_from(["job", "job", "job", "interactive", "group"]))
    spec = RunSpec(
        "e", kind=kind, program=Program(script="s.py"), distribution=Distribution(node_count=count),
        max_attempts=draw(st.integers(1, 2)), restart=draw(policies), controller=ControllerSpec("c"),
    )  # fmt: skip
    record = RunRecord("r", "w", spec, Stage.ACCEPTED, created=0.0)
    if draw(st.booleans()):
        resolved = draw(st.sampled_from([events.EnvironmentLocked("l"), events.EnvironmentDeferred()]))
        for happened in (events.RunSubmitted(), resolved, events.RunAdmitted()):
            record, _ = step(record, happened, 1.0)
    return record


def step(record: RunRecord, happened: events.Event, now: float) -> Decision:
    try:
        return life.apply(record, happened, now)
    except InvalidTransition:
        return record, ()


def check(record: RunRecord) -> None:
    """Check what is true of every record at any time."""
    assert run_status.status(record) in STATUSES
    over = all(n.state in OVER for n in record.nodes)
    if record.stage is Stage.ENDED:
        assert record.outcome is not None
        assert over
        assert record.waiting is None
    elif record.nodes:
        assert record.revivals <= MAX_REVIVALS
        waits = run_status.awaits_engine(record)
        assert waits or not (over and record.outcome), "nodes are over and the outcome is known, but it has not ended"
    assert (record.ended is not None) == (record.stage is Stage.ENDED)
    assert record.stage is not Stage.RUNNING or record.started is not None
    assert (run_status.status(record) in run_status.TERMINAL) == (record.stage is Stage.ENDED)
    assert [n.index for n in record.nodes] == list(range(len(record.nodes)))


def check_changed_outcome(before: RunRecord, after: RunRecord, happened: events.Event) -> None:
    """Check the four cases in which an outcome may change; a canceled run stays canceled."""
    assert before.outcome is not None
    if run_status.awaits_engine(before):
        assert isinstance(happened, (events.EngineEnded, events.RunCancelRequested))
        return
    assert after.outcome is not None
    assert after.outcome.kind == "failed"
    if before.outcome.kind == "completed":
        newly_lost = [a for b, a in zip(before.nodes, after.nodes, strict=True) if a != b and a.state is NodeState.LOST]
        assert newly_lost, "only a node that is lost while it ships takes a good outcome away"
        return
    assert before.outcome.kind == "failed"
    known, cause = before.outcome.cause, after.outcome.cause
    assert known is not None
    assert cause is not None
    if isinstance(happened, events.NodeVanished):
        assert known.rank is not None
        assert known.node != happened.node
    else:
        assert isinstance(happened, (events.NodeExited, events.RankFailed))
        if cause.code == known.code == orders.MPI_FAILED:
            assert cause.node == 0
            assert known.node != 0
        else:
            assert cause.time is not None
            assert known.rank is None or known.time is None or cause.time < known.time


def check_step(before: RunRecord, after: RunRecord, effects: tuple[events.Effect, ...], happened: events.Event) -> None:
    """Check what is true of every step."""
    if after is before:
        assert effects == ()
        return
    assert after.version == before.version + 1
    assert (events.ReleaseGpus() in effects) == bool(held(before) - held(after))
    if after.attempt != before.attempt:
        check_next_attempt(before, after, effects)
        return
    if not isinstance(happened, events.StatusReported):  # the client of an interactive run may change its mind
        if before.outcome is not None and after.outcome != before.outcome:
            check_changed_outcome(before, after, happened)
        assert STAGES.index(after.stage) >= STAGES.index(before.stage)
    ended = after.stage is Stage.ENDED and before.stage is not Stage.ENDED
    assert (events.ForgetNodes() in effects) == (ended and before.spec.kind != "group")
    for was, now in zip(before.nodes, after.nodes, strict=False):
        assert was.state not in OVER or now.state is was.state
    for effect in effects:
        if isinstance(effect, events.StopNodes):
            assert effect.nodes
            assert all(after.nodes[i].state not in OVER for i in effect.nodes)


def held(record: RunRecord) -> set[str]:
    ended = (NodeState.EXITED, *OVER)
    return {gpu for node in record.nodes if node.state not in ended for gpu in node.gpus or ()}


def check_next_attempt(before: RunRecord, after: RunRecord, effects: tuple[events.Effect, ...]) -> None:
    """Check that a new attempt keeps only the resolved environment and begins only after the last one has ended."""
    assert after.attempt == before.attempt + 1
    if before.spec.kind == "group":
        assert (before.stage, after.stage, after.outcome, after.ended) == (Stage.ENDED, Stage.RUNNING, None, None)
        return
    assert before.spec.kind == "job"
    assert (after.nodes, after.handle, after.outcome, after.started, after.ended) == ((), None, None, None, None)
    assert (after.lock, after.spec, after.created) == (before.lock, before.spec, before.created)
    begin: events.Effect = events.ResolveEnvironment() if before.lock is None else events.ScheduleQueue()
    if after.wake_at is not None:
        assert (after.stage, before.spec.restart.backoff_seconds) == (Stage.BACKOFF, 10.0)
        begin = events.WakeRun(after.wake_at)
    assert effects[:2] == (events.BeginAttempt(before.handle), begin)
    assert set(effects[2:]) <= {events.ReleaseGpus()}
    if before.stage is Stage.ENDED:
        assert before.outcome is not None
        assert before.outcome.kind != "completed"
    else:
        assert before.spec.max_attempts is not None
        assert after.attempt <= before.spec.max_attempts, "only the policy of the spec begins another attempt"
        assert before.spec.restart.when != "never"


def check_resume(record: RunRecord) -> None:
    effects = life.resume(record)
    if record.stage is Stage.ENDED or record.spec.kind == "interactive":
        assert effects == ()
    elif record.spec.kind == "group":
        assert (events.EndChildren() in effects) == (record.outcome is not None)
        assert record.wake_at is None or events.WakeRun(record.wake_at) in effects
    elif run_status.awaits_engine(record):
        assert effects == (() if record.handle else (events.LaunchNodes(),))
    elif record.outcome is not None and record.handle is not None:
        working = tuple(n.index for n in record.nodes if n.state not in (NodeState.EXITED, *OVER))
        assert effects == ((events.StopNodes(working),) if working else ())
    elif record.stage is Stage.BACKOFF:
        assert record.wake_at is not None
        assert effects == (events.WakeRun(record.wake_at),)
    elif record.stage in (Stage.ACCEPTED, Stage.LOCKING):
        assert effects == (events.ResolveEnvironment(),)
    elif record.stage is Stage.QUEUED:
        assert effects == (events.ScheduleQueue(),)
    else:
        resolve = (events.ResolveEnvironment(),) if run_status.awaits_lock(record) else ()
        assert effects == (*resolve, *(() if record.handle else (events.LaunchNodes(),)))


def test_the_strategies_cover_every_event() -> None:
    assert set(by_kind) == set(events.Event.__subclasses__())


# An agent that was stopped from outside, then a rank that had failed before.
STOPPED_THEN_FAILED: list[events.Event] = [
    *(events.RunSubmitted(), events.EnvironmentLocked("l"), events.RunAdmitted()),
    events.RankFailed(0, Cause(orders.AGENT_STOPPED, "a", node=0, rank=0, time=1.0)),
    events.RankFailed(0, Cause("a", "a", rank=0, time=0.0)),
]


@settings(max_examples=400, deadline=None)
@given(records(), st.lists(any_event, max_size=40))
@example(RunRecord("r", "w", RunSpec("e", program=Program(script="s.py")), Stage.ACCEPTED, 0.0), STOPPED_THEN_FAILED)
def test_invariants_hold_whatever_happens(record: RunRecord, happens: list[events.Event]) -> None:
    for now, happened in enumerate(happens, start=2):
        after, effects = step(record, happened, float(now))
        check_step(record, after, effects, happened)
        check(after)
        check_resume(after)
        if after.attempt == record.attempt:  # else `Orchestrator.tell` drops the repetition: it names the attempt
            assert step(after, happened, now + 0.5)[0] is after, f"{happened} changed something when it was repeated"
        assert events.describe(happened)
        record = after
    note(record.stage.value)


@settings(max_examples=200, deadline=None)
@given(records(), st.lists(any_event, max_size=25))
def test_every_run_can_end(record: RunRecord, happens: list[events.Event]) -> None:
    """From any state, the ordinary course of events ends a run, with the outcome that was decided first."""
    for happened in happens:
        record, _ = step(record, happened, 2.0)
    decided, attempt, waits = record.outcome, record.attempt, run_status.awaits_engine(record)
    nodes = range(record.spec.distribution.node_count)
    course: list[events.Event] = [
        events.RunSubmitted(),
        events.EnvironmentLocked("l"),
        events.RunAdmitted(),
        events.NodesLaunched("h"),
    ]
    course += [event for node in nodes for event in (events.NodeJoined(node, "h", "a", {}), events.NodeStarted(node))]
    course += [event for node in nodes for event in (events.NodeExited(node), events.NodeFinished(node))]
    course += [events.EngineEnded(), events.RunCompleted(), events.GroupDecided(DONE), events.ChildrenFinished()]
    for happened in course * (record.spec.max_attempts or 1):
        if record.wake_at is not None:
            record, _ = step(record, events.WakeTimeReached(record.wake_at), 3.0)
        record, _ = step(record, happened, 3.0)
    assert record.stage is Stage.ENDED
    settled = decided is not None and not waits
    assert not settled or record.outcome == decided or record.attempt > attempt


@settings(max_examples=100, deadline=None)
@given(records(), st.lists(any_event, max_size=25))
def test_a_record_survives_storage(record: RunRecord, happens: list[events.Event]) -> None:
    for happened in happens:
        record, _ = step(record, happened, 2.0)
    assert from_json(RunRecord, to_json(record), strict=True) == record
