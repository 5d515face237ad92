from __future__ import annotations

import os
from pathlib import Path

from footplate.content.source_tree import scan
from footplate.content.stat_cache import StatCache
from footplate.sdk.runs.snapshots import LARGE, notices

LEAVE_OUT = "to leave files out, list them in .amlignore (or in .gitignore, if there is no .amlignore)"


def test_early_outputs_are_counted_at_every_submit(tmp_path: Path) -> None:
    source, cached = tmp_path / "source", tmp_path / "cache"
    (source / "outputs" / "deep").mkdir(parents=True)
    for name in ("outputs/deep/model.txt", "outputs/model.txt", "train.py", "outputs.txt"):
        (source / name).write_text("12345")
    for _ in range(2):
        tree = scan(str(source), cache=StatCache.for_folder(str(cached), str(source)))
        assert notices(tree, ("outputs", "logs")) == [
            "the snapshot has 2 files (10 B) in outputs/, which the run can read; "
            f"its outputs are the files that it writes; {LEAVE_OUT}"
        ]
        assert notices(tree, ()) == []
        tree.manifest()
        tree.remember()
    (source / ".gitignore").write_text("/outputs/")
    assert notices(scan(str(source)), ("outputs", "logs")) == []


def test_a_large_snapshot_is_reported_with_its_largest_files(tmp_path: Path) -> None:
    for number, size in enumerate((LARGE - 100, LARGE // 2, 200, 10)):
        with open(tmp_path / f"{number}.bin", "wb") as file:
            file.truncate(size)
    assert notices(scan(str(tmp_path)), ()) == [
        f"the snapshot is large: 4 files (450.0 MB); the largest are 0.bin (300.0 MB), 1.bin (150.0 MB); {LEAVE_OUT}"
    ]
    os.truncate(tmp_path / "0.bin", LARGE * 2)
    os.truncate(tmp_path / "1.bin", 100)
    assert notices(scan(str(tmp_path)), ()) == [
        f"the snapshot is large: 4 files (600.0 MB); the largest is 0.bin (600.0 MB); {LEAVE_OUT}"
    ]
