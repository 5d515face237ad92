from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from footplate.environments.uv import run_uv


def test_messages_of_uv_arrive_line_by_line() -> None:
    code, output, _ = run_uv(["--version"], lambda _: None)
    assert code == 0
    assert output.startswith("uv ")
    said: list[str] = []
    code, _, talk = run_uv(["pip", "nonsense"], said.append)
    assert code != 0
    assert "\n".join(said) == talk


def test_an_interrupted_caller_kills_uv() -> None:
    class Enough(Exception):
        pass

    def refuse(_line: str) -> None:
        raise Enough

    before = threading.active_count()
    with pytest.raises(Enough):
        run_uv(["pip", "nonsense"], refuse)
    assert threading.active_count() <= before + 1


def test_no_index_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    code, _, talk = run_uv(["pip", "compile", "-"], lambda _: None, tmp_path / "cache", text="six\n")
    assert code != 0
    assert "index lookups were disabled" in talk or "not found in the provided package locations" in talk
