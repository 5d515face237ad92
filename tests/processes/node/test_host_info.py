"""Threads of the agent that leave the cores to the ranks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from footplate.node import host_info

SAY_POLICY = "import os; print(os.sched_getscheduler(0))"


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this system has no policies of scheduling")
def test_a_lower_priority_affects_one_thread_and_no_new_process() -> None:
    before, seen = os.sched_getscheduler(0), dict[str, int]()

    def work() -> None:
        host_info.step_back()
        with host_info.standing_up():
            done = subprocess.run([sys.executable, "-c", SAY_POLICY], capture_output=True, check=True)
        seen.update(thread=os.sched_getscheduler(0), child=int(done.stdout))
        host_info.step_forward()
        seen["afterwards"] = os.sched_getscheduler(0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    expected = os.SCHED_BATCH if before == os.SCHED_OTHER else before
    assert seen == {"thread": expected, "child": before, "afterwards": before}
    assert os.sched_getscheduler(0) == before
