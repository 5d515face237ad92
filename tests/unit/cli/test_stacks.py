"""Stack traces of many processes, grouped so that the odd one out is visible."""

from __future__ import annotations

import pytest

from footplate.cli.stacks import show_stacks
from footplate.domain.stacks import ProcessStacks, StackFrame, ThreadStack

START = StackFrame("<module>", "/home/runtime/0.1.0/footplate/job/bootstrap.py", 12)
RUNNER = StackFrame("main", "/home/runtime/0.1.0/footplate/job/script_runner.py", 23)
WAITS = ThreadStack(
    "1", "MainThread", (START, RUNNER, StackFrame("<module>", "train.py", 4), StackFrame("all_reduce", "dist.py", 7))
)
READS = ThreadStack("1", "MainThread", (START, RUNNER, StackFrame("<module>", "train.py", 3)))
IDLE = ThreadStack("2", "pool")


def rank(number: int, *threads: ThreadStack, note: str | None = None) -> ProcessStacks:
    return ProcessStacks(
        number // 2, 100 + number, 1, "python train.py", number, "py-spy" if threads else None, note, threads
    )


def test_ranks_with_the_same_stack_are_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    show_stacks(
        [rank(0, WAITS, IDLE), rank(1, IDLE, WAITS), rank(2, READS), rank(3, WAITS, IDLE)], {0: "gandalf", 1: "frodo"}
    )
    assert capsys.readouterr().out == (
        "ranks 0–1, 3 · nodes 0–1 · 3 processes with the same stack · py-spy\n"
        "  pids 100, 101, 103\n"
        "  python train.py\n"
        "  thread MainThread\n"
        "    train.py:4 in <module>\n"
        "    dist.py:7 in all_reduce\n"
        "  thread pool\n"
        "    (no Python code)\n"
        "\n"
        "rank 2 · node 1 on frodo · pid 102 · py-spy\n"
        "  python train.py\n"
        "  thread MainThread\n"
        "    train.py:3 in <module>\n"
        "\n"
    )


def test_a_process_that_could_not_be_read_is_shown_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show_stacks([rank(0, note="it cannot be asked"), rank(1, note="it cannot be asked")], {})
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("rank")] == [
        "rank 0 · node 0 · pid 100",
        "rank 1 · node 0 · pid 101",
    ]
