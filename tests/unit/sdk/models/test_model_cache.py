from __future__ import annotations

import threading
from pathlib import Path

import pytest

from footplate.sdk.models.registered_model import find_cached, keep


def test_a_missing_model_is_none(tmp_path: Path):
    assert find_cached(str(tmp_path / "m"), None) is None
    (tmp_path / "m" / ".3.half").mkdir(parents=True)
    assert find_cached(str(tmp_path / "m"), None) is None, "half a download is none"


def test_the_highest_or_the_requested_version_is_found(tmp_path: Path):
    for version in (2, 10):
        (tmp_path / str(version)).mkdir()
        (tmp_path / str(version) / "model.pkl").write_text(str(version))
    (tmp_path / "10" / "second").write_text("")
    assert find_cached(str(tmp_path), None) == str(tmp_path / "10")
    assert find_cached(str(tmp_path), 2) == str(tmp_path / "2" / "model.pkl")
    assert find_cached(str(tmp_path), 3) is None


def test_concurrent_ranks_get_the_whole_model(tmp_path: Path):
    folder, start, found = str(tmp_path / "m"), threading.Barrier(4), list[str]()

    def download(target: str) -> None:
        start.wait(120)
        (Path(target) / "model").mkdir(parents=True)
        for name in ("a", "b"):
            (Path(target) / "model" / name).write_text(name)

    ranks = [threading.Thread(target=lambda: found.append(keep(folder, 1, download))) for _ in range(4)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(120)
    assert found == [str(tmp_path / "m" / "1" / "model")] * 4
    assert sorted(p.name for p in (tmp_path / "m").rglob("*")) == ["1", "a", "b", "model"]


def test_an_interrupted_download_leaves_nothing(tmp_path: Path):
    def download(target: str) -> None:
        Path(target).mkdir(parents=True)
        (Path(target) / "half").write_text("")
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        keep(str(tmp_path), 1, download)
    assert list(tmp_path.iterdir()) == []
