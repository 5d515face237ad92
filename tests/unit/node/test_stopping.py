from __future__ import annotations

from typing import Any

from footplate.domain.orders import Cause, Lock, NodeOrders, Program
from footplate.node.stopping import StopRequest, TimeLimit

# ── Time limits ───────────────────────────────────────────────────────────────────────────────────────────────────────

FAILED = Cause("exit_code", "the script ended with exit code 1", node=0, rank=0, exit_code=1)


class Clock:
    """A time limit, and the seconds that its ranks have run."""

    def __init__(self, **orders: Any) -> None:
        self.now = 0.0
        self.stop = StopRequest()
        lock = Lock("d", "existing", {})
        given = NodeOrders("r", 0, 1, True, False, Program("s.py"), lock, None, {}, **orders)
        self.limit = TimeLimit(given, self.stop, lambda: self.now)


def test_without_a_limit_there_is_nothing_to_do() -> None:
    limit = Clock(warning_signal="SIGUSR1").limit
    assert (limit.seconds_left(), limit.cause_if_passed(), limit.signal_due()) == (None, None, None)


def test_the_signal_is_due_before_the_limit_of_the_run() -> None:
    clock = Clock(max_seconds=100.0, warning_signal="SIGUSR1", warning_seconds=30.0)
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (70.0, None)
    clock.now = 70.0
    assert (clock.limit.seconds_left(), clock.limit.signal_due(), clock.limit.cause_if_passed()) == (
        1.0,
        "SIGUSR1",
        None,
    )
    clock.now = 99.5
    assert clock.limit.seconds_left() == 0.5
    clock.now = 100.0
    cause = clock.limit.cause_if_passed()
    assert cause is not None and (cause.code, cause.node) == ("time_limit", 0)


def test_a_run_that_does_not_ask_for_a_warning_gets_none() -> None:
    clock = Clock(max_seconds=100.0, warning_seconds=50.0)
    clock.now, clock.stop.is_warned = 99.0, True
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (1.0, None)


def test_a_rank_that_exits_after_the_warning_ended_at_the_limit() -> None:
    clock = Clock(max_seconds=100.0, warning_signal="SIGUSR1", warning_seconds=30.0)
    clock.stop.is_warned = True
    assert (clock.limit.seconds_left(), clock.limit.signal_due()) == (1.0, "SIGUSR1")
    cause = clock.limit.explain(FAILED)
    assert (cause.code, cause.exit_code) == ("engine_time_limit", 1)
    clock.now = 80.0
    assert clock.limit.explain(FAILED).code == "time_limit"
    by_signal = Cause("signal", "ended by SIGUSR1", node=0, rank=0, signal="SIGUSR1")
    assert clock.limit.explain(by_signal).code == "time_limit"
    crashed = Cause("signal", "crashed", node=0, rank=0, signal="SIGSEGV")
    raised = Cause("user_exception", "ValueError: no", node=0, rank=0)
    assert (clock.limit.explain(crashed), clock.limit.explain(raised)) == (crashed, raised)
