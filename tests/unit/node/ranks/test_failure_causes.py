from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Cause
from footplate.node.ranks import failure_causes
from footplate.node.ranks.rank_process import Rank


def of(code: int | None, note: dict[str, Any] | None = None, log: str = "/nowhere", **more: Any) -> Cause | None:
    rank = Rank(2, 4711, "x", "log", code=code, peak=more.get("peak"))
    return failure_causes.of_rank(rank, 1, note or {}, log, more.get("starved", False), more.get("full", False))


def must(cause: Cause | None) -> Cause:
    assert cause is not None
    assert (cause.rank, cause.node) == (2, 1)
    return cause


def test_exit_code_zero_has_no_cause() -> None:
    assert of(0) is None
    assert of(None, {"code": 0}) is None


def test_an_exception_is_reported_with_its_traceback() -> None:
    cause = must(
        of(1, {"exception": "ValueError", "exception_message": "bad x", "traceback": "Traceback …", "code": 1})
    )
    assert (cause.code, cause.message) == ("user_exception", "ValueError: bad x")
    assert (cause.exception, cause.exception_message, cause.traceback) == ("ValueError", "bad x", "Traceback …")
    assert cause.exit_code == 1


def test_a_missing_module_gets_a_hint() -> None:
    note = {"exception": "ModuleNotFoundError", "exception_message": "No module named 'sklearn.tree'", "code": 1}
    hint = str(must(of(1, note)).hint)
    assert "add_pip_package('sklearn')" in hint and "source folder" in hint and "traceback" in hint
    assert "add_pip_package" not in str(must(of(1, {**note, "exception": "ValueError"})).hint)


@pytest.mark.parametrize(
    "exception, message",
    [
        ("ImportError", "cannot import name 'joblib' from 'sklearn.externals' (/venv/sklearn/externals/__init__.py)"),
        ("ModuleNotFoundError", "No module named 'sklearn.externals.joblib'"),
    ],
)
def test_joblib_inside_a_newer_sklearn_gets_a_hint(exception: str, message: str) -> None:
    hint = str(must(of(1, {"exception": exception, "exception_message": message, "code": 1})).hint)
    assert hint.startswith("write `import joblib`") and "add_pip_package" not in hint
    other = {"exception": "ImportError", "exception_message": "cannot import name 'joblib' from 'mine' (mine.py)"}
    assert "import joblib" not in str(must(of(1, other)).hint)


@pytest.mark.parametrize(
    "exception, message",
    [
        ("ModuleNotFoundError", "No module named 'numpy._core'"),
        ("ModuleNotFoundError", "No module named 'numpy._core.multiarray'"),
        ("ValueError", "<class 'numpy.random._mt19937.MT19937'> is not a known BitGenerator module."),
    ],
)
def test_a_pickle_of_numpy_2_is_explained(exception: str, message: str) -> None:
    note = {"exception": exception, "exception_message": message, "code": 1, "numpy": "1.24.4"}
    hint = str(must(of(1, note)).hint)
    assert "saved with NumPy 2, and this environment has NumPy 1.24.4" in hint and "'numpy>=2'" in hint
    assert "add_pip_package('numpy')" not in hint and "traceback" in hint
    assert "has NumPy 1:" in str(must(of(1, {**note, "numpy": None})).hint)


def test_an_exception_without_text_is_reported_by_its_name() -> None:
    assert must(of(1, {"exception": "KeyboardInterrupt", "exception_message": ""})).message == "KeyboardInterrupt"


@pytest.mark.parametrize("code", [1, 3, 255])
def test_exit_codes_are_reported(code: int) -> None:
    cause = must(of(code))
    assert (cause.code, cause.message, cause.exit_code) == ("exit_code", f"ended with exit code {code}", code)


def test_a_full_disk_explains_a_missing_report() -> None:
    cause = must(of(1, full=True))
    assert (cause.code, cause.exit_code) == ("out_of_space", 1)
    assert "while the disk was full" in cause.message and "free some space" in (cause.hint or "")
    assert must(of(1, {"exception": "ValueError"}, full=True)).code == "user_exception"
    assert not failure_causes.has_no_room("/")


def test_a_missing_program_of_a_command_gets_a_hint() -> None:
    assert "shell" in (must(of(127)).hint or "")


def test_signals_are_reported_by_name() -> None:
    segv = must(of(-signal.SIGSEGV))
    assert (segv.code, segv.signal) == ("signal", "SIGSEGV")
    assert segv.message == "crashed with a segmentation fault (SIGSEGV)"
    assert "SIGUSR1, which Footplate did not send" in must(of(-signal.SIGUSR1)).message
    assert must(of(-64)).signal == "SIGRTMAX"
    assert must(of(-40)).signal == "signal 40"


def test_an_out_of_memory_kill_needs_the_kernels_counter() -> None:
    starved = must(of(-signal.SIGKILL, starved=True, peak=3 * 2**30))
    assert starved.code == "out_of_memory"
    assert starved.message.startswith("killed by the kernel's out-of-memory killer")
    assert "3.0 GiB" in starved.message
    assert must(of(-signal.SIGKILL)).code == "signal"
    assert "short of memory" in str(must(of(-signal.SIGKILL)).hint)
    assert "memory" not in str(must(of(-signal.SIGUSR1)).hint)
    assert must(of(-signal.SIGSEGV, starved=True)).code == "signal"


def test_an_unseen_end_is_unknown_unless_it_left_a_report() -> None:
    assert must(of(None)).message == "ended while no agent watched it; its exit status is unknown"
    assert must(of(None, {"code": 4})).message == "ended with exit code 4"


def test_a_rank_that_never_started_counts_as_a_lost_node(tmp_path: Path) -> None:
    """The agent died between the start of the first rank and that of this one; a log shows that it had begun."""
    missing, log = Rank(2, 0, None, "log"), tmp_path / "log"
    cause = must(failure_causes.of_rank(missing, 1, {}, str(log), starved=False))
    assert (cause.code, cause.message) == (
        "node_lost",
        "was not started: the node agent died while it started the ranks",
    )
    log.touch()
    assert must(failure_causes.of_rank(missing, 1, {}, str(log), starved=False)).code == "unknown_exit"


def test_last_lines_are_few_and_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % i for i in range(100)) + b"x" * 9000 + b"\n\xff no newline")
    lines = failure_causes.last_lines(str(log))
    assert len(lines) == failure_causes.LAST_LINES
    assert lines[0] == "line 82"
    assert lines[-2] == "x" * 2000
    assert lines[-1] == "� no newline"
    assert must(of(1, log=str(log))).last_lines == lines
    assert failure_causes.last_lines(str(tmp_path / "none")) == ()


def test_the_kernels_counter_is_readable_here() -> None:
    assert failure_causes.oom_kills() >= 0


# ── Which of several ──────────────────────────────────────────────────────────────────────────────────────────────────

RAISED = Cause("user_exception", "ValueError: bad", node=1, rank=3, exception="ValueError", exception_message="bad")
LOST_ANOTHER = Cause(
    "user_exception", "RuntimeError: …", "its log", node=1, rank=2, exception="RuntimeError",
    exception_message="[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:8090",
)  # fmt: skip
KILLED = Cause(
    "signal", "ended by SIGKILL", node=1, rank=1, signal="SIGKILL", last_lines=("connection refused, again",)
)


def test_the_earliest_failure_is_the_first() -> None:
    found = failure_causes.first([(2.0, RAISED), (1.0, replace(RAISED, rank=0))], among_others=True)
    assert (found.rank, found.time) == (0, 1.0)
    assert found.message == "rank 0 on node 1: ValueError: bad"


def test_a_report_of_a_lost_peer_is_not_the_first() -> None:
    assert failure_causes.first([(1.0, LOST_ANOTHER), (2.0, RAISED)], among_others=True).rank == 3


def test_the_hint_points_to_other_ranks_if_all_report_lost_peers() -> None:
    found = failure_causes.first([(2.0, replace(LOST_ANOTHER, rank=0)), (1.0, LOST_ANOTHER)], among_others=True)
    assert found.rank == 2
    assert "see the logs of the others" in (found.hint or "")
    assert failure_causes.first([(1.0, LOST_ANOTHER)], among_others=False) == LOST_ANOTHER


def test_a_kill_is_noticed_later_than_its_consequences() -> None:
    seen = [(cause, failure_causes.time_of_failure(cause, noted)) for cause, noted in ((RAISED, 9.9), (KILLED, 10.0))]
    assert failure_causes.first([(time, cause) for cause, time in seen], among_others=True).rank == 1


def test_a_tensorflow_task_is_named() -> None:
    found = failure_causes.first([(1.0, RAISED)], among_others=True, tasks={3: "ps 0"})
    assert found.message == "rank 3 (ps 0) on node 1: ValueError: bad"


def test_a_port_in_use_gets_a_hint() -> None:
    note = {"code": 1, "exception": "torch.distributed.DistNetworkError", "exception_message": "… EADDRINUSE …"}
    assert "use MASTER_PORT" in (must(of(1, note)).hint or "")
