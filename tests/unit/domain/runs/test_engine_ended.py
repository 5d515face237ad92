"""Runs whose agents the engine ended: the engine's reason is the cause, and the restart policy decides."""

from __future__ import annotations

import pytest

from footplate.domain.orders import AGENT_STOPPED, STOPPED_ELSEWHERE, Cause, Program
from footplate.domain.records import NodeState, Outcome, RunRecord, Stage
from footplate.domain.runs.events import (
    BeginAttempt,
    EngineEnded,
    EnvironmentLocked,
    Event,
    NodeExited,
    NodeFinished,
    NodeJoined,
    NodesLaunched,
    NodeStarted,
    RunAdmitted,
    RunCancelRequested,
    RunSubmitted,
    StopNodes,
)
from footplate.domain.runs.lifecycle import apply, resume
from footplate.domain.runs.run_status import awaits_engine, status
from footplate.domain.specs import Distribution, RestartPolicy, RunSpec

PREEMPTED = Cause("preempted", "slurm preempted the run", node=0)
LIMIT = Cause("engine_time_limit", "the time limit of slurm ended the run", node=0)
STOPPED = Cause(AGENT_STOPPED, "the node agent was asked to stop (SIGTERM)", node=0)
LOST_PEER = Cause("user_exception", "lost it", node=1, rank=1, exception="ConnectionResetError", time=19.0)


def running(nodes: int = 1, attempts: int = 2, policy: RestartPolicy | None = None) -> RunRecord:
    spec = RunSpec(
        "exp", program=Program("s.py"), max_attempts=attempts, restart=policy or RestartPolicy(),
        distribution=Distribution("none" if nodes == 1 else "mpi", nodes),
    )  # fmt: skip
    record = RunRecord("r", "w", spec, Stage.ACCEPTED, created=1.0)
    joins = [event for n in range(nodes) for event in (NodeJoined(n, "host", "10.0.0.1", {}), NodeStarted(n))]
    return after(record, RunSubmitted(), EnvironmentLocked("lock"), RunAdmitted(), NodesLaunched("h"), *joins)


def after(record: RunRecord, *events: Event) -> RunRecord:
    for event in events:
        record, _ = apply(record, event, 20.0)
    return record


@pytest.mark.parametrize(("cause", "attempt"), [(PREEMPTED, 2), (LIMIT, 2), (Cause("out_of_memory", "oom", node=0), 1)])
def test_by_default_the_run_continues_when_its_nodes_were_taken(cause: Cause, attempt: int) -> None:
    record = after(running(), EngineEnded(cause))
    assert record.attempt == attempt
    assert (record.stage is Stage.QUEUED) == (attempt == 2)


def test_without_further_attempts_the_run_fails_with_the_reason() -> None:
    record = after(running(attempts=1), EngineEnded(PREEMPTED))
    assert (record.outcome, record.nodes[0].state) == (Outcome("failed", PREEMPTED), NodeState.LOST)


def test_the_own_time_limit_of_a_run_is_retried_only_on_request() -> None:
    own = Cause("time_limit", "ran longer than the limit of 3 seconds", node=0)
    assert after(running(), NodeExited(0, own), NodeFinished(0)).stage is Stage.ENDED
    asked = RestartPolicy(causes=("time_limit",))
    assert after(running(policy=asked), NodeExited(0, own), NodeFinished(0)).attempt == 2
    assert after(running(policy=asked), EngineEnded(LIMIT)).attempt == 2


def test_a_run_whose_agents_were_stopped_waits_for_the_engine() -> None:
    record = after(running(), NodeExited(0, STOPPED), NodeFinished(0))
    assert awaits_engine(record)
    assert status(record) == "Finalizing"
    again, effects = apply(record, EngineEnded(PREEMPTED), 21.0)
    assert again.attempt == 2
    assert BeginAttempt("h") in effects


def test_the_engine_is_not_asked_to_cancel_what_it_is_ending() -> None:
    record, effects = apply(running(nodes=2), NodeExited(0, STOPPED), 20.0)
    assert not any(isinstance(effect, StopNodes) for effect in (*effects, *resume(record)))


def test_without_a_reason_of_the_engine_somebody_else_stopped_it() -> None:
    record = after(running(), NodeExited(0, STOPPED), NodeFinished(0), EngineEnded())
    assert record.stage is Stage.ENDED
    assert record.outcome is not None
    assert record.outcome.cause is not None
    assert record.outcome.cause.code == STOPPED_ELSEWHERE
    assert "SIGTERM" in record.outcome.cause.message


def test_a_waiting_run_can_be_canceled() -> None:
    record = after(running(), NodeExited(0, STOPPED), NodeFinished(0), RunCancelRequested("ada"))
    assert status(record) == "Canceled"


def test_the_engine_explains_a_rank_that_lost_another() -> None:
    record = after(running(nodes=2, attempts=1), NodeExited(1, LOST_PEER), EngineEnded(PREEMPTED))
    assert record.outcome == Outcome("failed", PREEMPTED)


def test_a_failed_script_stays_the_cause() -> None:
    failed = Cause("exit_code", "exit code 3", node=0, rank=0, exit_code=3)
    record = after(running(), NodeExited(0, failed), EngineEnded(PREEMPTED))
    assert record.outcome == Outcome("failed", failed)


def test_a_canceled_run_stays_canceled() -> None:
    assert status(after(running(), RunCancelRequested(), EngineEnded(PREEMPTED))) == "Canceled"


def test_a_completed_run_whose_files_were_lost_is_tried_again() -> None:
    assert after(running(), NodeExited(0), EngineEnded(PREEMPTED)).attempt == 2
