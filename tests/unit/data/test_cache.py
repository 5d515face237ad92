from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.data.cache import cache_at, cache_of
from footplate.data.cache_limit import DEFAULT_LIMIT
from footplate.data.mounts.cached_files import BlockFile, CachedFile
from footplate.errors import InvalidInput
from footplate.services.settings import read_settings


@pytest.mark.parametrize(
    ("text", "limit"), [("200 GB", 200 * 10**9), ("1.5TiB", 3 * 2**39), (" 10 mb ", 10**7), (None, DEFAULT_LIMIT)]
)
def test_settings_limit_the_cache_of_a_home(tmp_path: Path, text: str | None, limit: int) -> None:
    if text is not None:
        (tmp_path / "settings.ini").write_text(f"[environments]\nconda = map\n[data]\ncache = {text}\n")
    assert cache_of(str(tmp_path)).usage() == (0, 0, 0, limit)
    assert cache_at(str(tmp_path / "cache" / "data")).limit == limit
    assert cache_at(str(tmp_path / "elsewhere")).limit == DEFAULT_LIMIT
    read_settings(tmp_path)


@pytest.mark.parametrize(
    "line", ["cache = 200", "cache = GB", "cache = -1 GB", "cache = 0 GB", "cache = 1.2.3 MB", "size = 1 GB"]
)
def test_an_invalid_limit_is_rejected(tmp_path: Path, line: str) -> None:
    (tmp_path / "settings.ini").write_text(f"[data]\n{line}\n")
    for read in (lambda: cache_of(str(tmp_path)), lambda: read_settings(tmp_path)):
        with pytest.raises(InvalidInput, match=line.split(" = ")[0]) as refused:
            read()
        assert refused.value.hint


def read(file: CachedFile | BlockFile, start: int, length: int) -> bytes:
    file.fetch_range(start, length)
    return os.pread(file.file, length, start)
