from __future__ import annotations

import os

from footplate.node import process_tree


def test_psutil_reports_the_same_without_proc() -> None:
    ours, theirs = process_tree.look(os.getpid()), process_tree._look_with_psutil(os.getpid())
    assert ours is not None and theirs is not None
    assert (ours.pid, ours.parent, ours.zombie) == (theirs.pid, theirs.parent, theirs.zombie)
    assert process_tree._look_with_psutil(2**22 + 1) is None
