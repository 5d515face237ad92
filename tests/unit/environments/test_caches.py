"""The size of caches whose files have several names, inside and outside of them."""

from __future__ import annotations

import os
from pathlib import Path

from footplate.environments import built_environments, caches


def test_a_file_counts_once_and_is_freed_with_its_last_name(tmp_path: Path) -> None:
    cache, outside = tmp_path / ".uv-cache", tmp_path / "environment"
    for folder in (cache / "a", cache / "b", outside):
        folder.mkdir(parents=True)
    (cache / "a" / "twice").write_bytes(b"x" * 40_000)
    os.link(cache / "a" / "twice", cache / "b" / "twice")
    (cache / "shared").write_bytes(b"x" * 80_000)
    os.link(cache / "shared", outside / "shared")
    (cache / "link").symlink_to("/nowhere")
    inside = os.stat(cache / "a" / "twice").st_blocks * 512
    both = inside + os.stat(cache / "shared").st_blocks * 512
    assert (
        both <= built_environments.size(cache) < both + 4096
        and inside <= built_environments.own_size(cache) < inside + 4096
    )
    assert built_environments.own_size(outside) == 0 and built_environments.size(tmp_path / "nothing") == 0
    assert {view.name: view.size for view in caches.sizes(tmp_path)}["wheels"] == built_environments.size(cache)
