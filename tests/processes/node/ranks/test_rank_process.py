from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from footplate.domain.orders import Lock, NodeOrders, Program, RankPlan
from footplate.environments.base import Interpreter
from footplate.node.node_directory import NodeFolder
from footplate.node.ranks import rank_process
from footplate.node.ranks.rank_environment import RankEnvironment

PLAN = RankPlan(3, 1, 0, "user_logs/std_log_process_03.txt", {})


def test_a_rank_has_its_own_session_and_its_end_is_seen(tmp_path: Path) -> None:
    folder = NodeFolder(str(tmp_path), "run_1", 0)
    folder.make()
    real = RankEnvironment(Interpreter((sys.executable,)), "/r", str(tmp_path), dict(os.environ), {}, {})
    program = Program(command="echo out; echo err >&2; ps -o sid= -p $$; exit 5")
    orders = NodeOrders("run_1", 0, 1, True, False, program, Lock("", "existing", {}), None, {}, (PLAN,))
    rank = rank_process.start(orders, PLAN, real, folder)
    read, write = os.pipe()
    deadline = time.monotonic() + 20
    while rank.ended is None and time.monotonic() < deadline:
        rank_process.wait([rank], read, 1.0)
        rank_process.reap([rank])
    assert rank.code == 5 and rank.watch is None and rank.peak
    assert Path(folder.logs, PLAN.log).read_text().split() == ["out", "err", str(rank.pid)]
    os.close(read)
    os.close(write)
