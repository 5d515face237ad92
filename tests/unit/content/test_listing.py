"""A large folder is only glanced at when nothing in it has changed, and a glance never overlooks anything."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate.content import listing, tree
from footplate.content.blobs import BlobFolder
from footplate.content.statcache import StatCache

LATER_NS = 10_000_000_000  # by then nothing is too young to be trusted


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _make(tmp_path_factory.mktemp("large"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return _make(tmp_path / "source")


def _make(top: Path) -> Path:
    for number in range(listing.LARGE + 10):
        folder = top / f"d{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.py").write_text(f"print({number})\n")
    (top / "odd [x]*?").mkdir()
    (top / "odd [x]*?" / "skipped.txt").write_text("x")
    (top / "link").symlink_to("d0/f0.py")
    (top / ".amlignore").write_text("odd*/\n*.log\n")
    return top


def _snapshot(top: Path, beside: Path) -> str:
    cache = StatCache.for_folder(str(beside / "cache"), str(top), time.time_ns() + LATER_NS)
    return tree.store(tree.scan(str(top), cache=cache), BlobFolder(str(beside / "blobs")))


def _remembered(top: Path, beside: Path) -> str | None:
    return StatCache.for_folder(str(beside / "cache"), str(top)).listing


def test_the_fingerprint_is_kept_once_the_folder_was_seen_twice_and_then_holds(large: Path, tmp_path: Path) -> None:
    first = _snapshot(large, tmp_path)
    assert _remembered(large, tmp_path) is None
    assert _snapshot(large, tmp_path) == first
    kept = _remembered(large, tmp_path)
    assert kept is not None and kept == listing.fingerprint(str(large), ["odd [x]*?"])
    assert _snapshot(large, tmp_path) == first and _remembered(large, tmp_path) == kept


def _same_size_and_time(top: Path) -> None:
    file = top / "d1" / "f1.py"
    before = file.stat()
    file.write_text("print(9)\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "content, size and time as before": _same_size_and_time,
    "mode": lambda top: (top / "d2" / "f2.py").chmod(0o755),
    "new file": lambda top: (top / "d3" / "new.py").write_text("new"),
    "file gone": lambda top: (top / "d4" / "f4.py").unlink(),
    "renamed": lambda top: (top / "d5" / "f5.py").rename(top / "d5" / "other.py"),
    "new empty folder": lambda top: (top / "d6" / "empty").mkdir(),
    "link turned": lambda top: [(top / "link").unlink(), (top / "link").symlink_to("d0/f20.py")],
    "file became a link": lambda top: [(top / "d7" / "f7.py").unlink(), (top / "d7" / "f7.py").symlink_to("f27.py")],
    "other rules": lambda top: (top / ".amlignore").write_text("odd*/\nd8/\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_is_overlooked(source: Path, tmp_path: Path, change: str) -> None:
    before = [_snapshot(source, tmp_path) for _ in range(3)][-1]
    assert _remembered(source, tmp_path) is not None
    CHANGES[change](source)
    after = _snapshot(source, tmp_path)
    assert after != before
    assert after == tree.scan(str(source)).digest, "the cache changed the answer"


def test_what_the_rules_leave_out_changes_nothing(source: Path, tmp_path: Path) -> None:
    before = [_snapshot(source, tmp_path) for _ in range(3)][-1]
    kept = _remembered(source, tmp_path)
    (source / "odd [x]*?" / "skipped.txt").write_text("longer than before")
    assert listing.fingerprint(str(source), ["odd [x]*?"]) == kept
    (source / "d9" / "noise.log").write_text("not a part of it")
    assert _snapshot(source, tmp_path) == before


def test_without_find_the_folder_is_walked(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert listing.fingerprint(str(large), []) is None
    assert len({_snapshot(large, tmp_path) for _ in range(3)}) == 1
    assert _remembered(large, tmp_path) is None
