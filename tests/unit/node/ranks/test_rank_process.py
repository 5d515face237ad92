from __future__ import annotations

import os

from footplate.node import process_tree
from footplate.node.ranks import rank_process


def test_a_state_from_before_a_reboot_is_ignored() -> None:
    ours = process_tree.identity(os.getpid())
    state = {
        "run": "run_1",
        "ranks": [
            {"rank": 0, "pid": os.getpid(), "identity": ours, "log": "a"},
            {"rank": 1, "pid": os.getpid(), "identity": "1@other", "log": "b"},
        ],
    }
    living, dead = rank_process.adopt(state, (), {})
    assert living.ended is None and not living.child
    assert dead.ended is not None and dead.code is None
    if living.watch is not None:
        os.close(living.watch)
