"""Stacks of hanging processes: from outside, from inside, and of those that must not get the signal."""

from __future__ import annotations

from footplate.domain.stacks import StackFrame, ThreadStack
from footplate.node import stacks


def test_faulthandler_output_is_parsed_innermost_last() -> None:
    text = """Thread 0x00007f0000000abc [loader] (most recent call first):
  File "/lib/threads.py", line 10 in wait
  File "a b.py", line 3 in <module>

Current thread 0x00007f0000000def (most recent call first):
  File "train.py", line 5 in step
  ...
Extension modules: numpy (total: 1)
"""
    assert stacks.parse(text) == (
        ThreadStack("0x7f0000000def", None, (StackFrame("step", "train.py", 5),)),
        ThreadStack(
            "0x7f0000000abc", "loader", (StackFrame("<module>", "a b.py", 3), StackFrame("wait", "/lib/threads.py", 10))
        ),
    )
