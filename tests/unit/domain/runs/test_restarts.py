"""The restart policy: which ends of a run begin another attempt, and after which pause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs.events import (
    BeginAttempt,
    EnvironmentLocked,
    NodeExited,
    NodeFinished,
    NodeJoined,
    NodesLaunched,
    NodeStarted,
    ResolveEnvironment,
    RunAdmitted,
    RunCancelRequested,
    RunFailed,
    RunSubmitted,
    ScheduleQueue,
    WakeRun,
    WakeTimeReached,
)
from footplate.domain.runs.lifecycle import apply, resume
from footplate.domain.runs.run_status import status
from footplate.domain.specs import RestartPolicy, RunSpec, check_spec
from footplate.errors import InvalidInput

FAILED = Cause("exit_code", "the script ended with exit code 3", exit_code=3, node=0, rank=0)
OOM = Cause("out_of_memory", "killed: out of memory", node=0, rank=0)
BY_USER = Cause("exit_code", "the user said so")


def running(policy: RestartPolicy, attempts: int | None = 3) -> RunRecord:
    spec = RunSpec("exp", program=Program(script="train.py"), restart=policy, max_attempts=attempts)
    record = RunRecord("r", "w", spec, Stage.ACCEPTED, created=1.0)
    begin = (RunSubmitted(), EnvironmentLocked("lock"), RunAdmitted(), NodesLaunched("h"))
    for event in (*begin, NodeJoined(0, "host", "10.0.0.1", {}), NodeStarted(0)):
        record, _ = apply(record, event, 10.0)
    return record


def end(record: RunRecord, cause: Cause | None, now: float = 20.0) -> RunRecord:
    for event in (NodeExited(0, cause), NodeFinished(0)):
        record, _ = apply(record, event, now)
    return record


@pytest.mark.parametrize(
    ("policy", "cause", "attempt"),
    [
        (RestartPolicy(), FAILED, 1),
        (RestartPolicy("never", ("exit_code",)), FAILED, 1),
        (RestartPolicy("on_failure", ("exit_code",)), FAILED, 2),
        (RestartPolicy("on_failure", ("exit_code",)), replace(FAILED, code="user_exception"), 2),
        (RestartPolicy("on_failure", ("exit_code",)), OOM, 1),
        (RestartPolicy("on_failure", ("out_of_memory", "exit_code")), OOM, 2),
        (RestartPolicy("on_failure", ("exit_code",)), None, 1),
        (RestartPolicy("always"), FAILED, 2),
        (RestartPolicy("always"), None, 2),
    ],
)
def test_the_policy_decides_about_another_attempt(policy: RestartPolicy, cause: Cause | None, attempt: int) -> None:
    assert end(running(policy), cause).attempt == attempt


def test_a_canceled_run_stays_canceled_under_every_policy() -> None:
    record, _ = apply(running(RestartPolicy("always")), RunCancelRequested("ada"), 15.0)
    assert status(end(record, OOM)) == "Canceled"


def test_a_failure_that_the_user_reports_is_not_retried() -> None:
    record, _ = apply(running(RestartPolicy("on_failure", ("exit_code",))), RunFailed(BY_USER), 15.0)
    assert status(end(record, None)) == "Failed"


def test_max_attempts_limits_restarts_and_none_does_not() -> None:
    policy = RestartPolicy("always")
    assert end(running(policy, attempts=1), FAILED).stage is Stage.ENDED
    assert end(replace(running(policy, attempts=None), attempt=1000), FAILED).attempt == 1001


def test_backoff_pauses_before_the_queue_and_survives_a_server_restart() -> None:
    record = running(RestartPolicy("always", backoff_seconds=10.0))
    record, _ = apply(record, NodeExited(0, FAILED), 20.0)
    paused, effects = apply(record, NodeFinished(0), 20.0)
    assert (paused.stage, paused.wake_at, status(paused)) == (Stage.BACKOFF, 30.0, "Queued")
    assert effects == (BeginAttempt("h"), WakeRun(30.0))
    assert resume(paused) == (WakeRun(30.0),)
    assert apply(paused, WakeTimeReached(29.0), 30.0) == (paused, ())
    queued, effects = apply(paused, WakeTimeReached(30.0), 30.0)
    assert (queued.stage, queued.wake_at, effects) == (Stage.QUEUED, None, (ScheduleQueue(),))
    canceled, _ = apply(paused, RunCancelRequested(), 25.0)
    assert (status(canceled), canceled.wake_at) == ("Canceled", None)


@pytest.mark.parametrize(
    ("attempt", "started", "pause"),
    [(1, 19.0, 10.0), (2, 19.0, 20.0), (4, 19.0, 60.0), (9999, 19.0, 60.0), (4, -99.0, 10.0)],
)
def test_the_pause_doubles_up_to_a_limit_unless_it_ran_long(attempt: int, started: float, pause: float) -> None:
    policy = RestartPolicy("always", backoff_seconds=10.0, max_backoff_seconds=60.0)
    record = replace(running(policy, attempts=None), attempt=attempt, started=started)
    assert end(record, FAILED).wake_at == 20.0 + pause


def test_a_failed_environment_is_resolved_again() -> None:
    spec = RunSpec("e", program=Program("s.py"), max_attempts=2, restart=RestartPolicy(causes=("start_failed",)))
    record, _ = apply(RunRecord("r", "w", spec, Stage.ACCEPTED, created=1.0), RunSubmitted(), 2.0)
    again, effects = apply(record, RunFailed(Cause("environment_failed", "no such package")), 3.0)
    assert (again.attempt, again.stage) == (2, Stage.LOCKING)
    assert effects == (BeginAttempt(None), ResolveEnvironment())


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (RestartPolicy("sometimes"), "restart is 'sometimes'"),
        (RestartPolicy(causes=("bad_luck",)), "restart cause 'bad_luck' is unknown"),
        (RestartPolicy(backoff_seconds=-1.0), "restart backoff_seconds is -1"),
        (RestartPolicy(max_backoff_seconds=float("nan")), "restart max_backoff_seconds is nan"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: RestartPolicy, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_spec(RunSpec("e", program=Program("s.py"), restart=policy))
