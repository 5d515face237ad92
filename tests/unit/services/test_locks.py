from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.domain.node_kinds import NodeKind
from footplate.environments.machine import machine_has_gpu
from footplate.errors import InvalidInput
from footplate.services.settings import Settings, read_resolver_settings, read_settings
from support.wheels import make_wheel


@pytest.fixture(autouse=True)
def _only_tiny(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "tiny", "1.0")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")


def test_settings_of_environments_are_read_and_checked(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings("nearest")
    (tmp_path / "settings.ini").write_text("[environments]\nInterpreters = Exact\n")
    assert read_settings(tmp_path) == Settings("exact")
    for text, named in [
        ("[environments]\ninterpreters = some\n", "interpreters = some"),
        ("[environments]\ncolour = red\n", "colour"),
        ("[other]\ninterpreters = exact\n", "other"),
        ("interpreters = exact\n", "cannot be read"),
    ]:
        (tmp_path / "settings.ini").write_text(text)
        with pytest.raises(InvalidInput, match=named) as caught:
            read_settings(tmp_path)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("lines", "index"),
    [
        ("", "https://download.pytorch.org/whl/cpu"),
        ("torch_cpu_index = off", ""),
        ("torch_cpu_index = https://mirror/cpu", "https://mirror/cpu"),
        ("indexes = own", ""),
        ("indexes = own\ntorch_cpu_index = https://mirror/cpu", "https://mirror/cpu"),
    ],
)
def test_the_index_of_cpu_builds_of_torch(lines: str, index: str, tmp_path: Path) -> None:
    (tmp_path / "settings.ini").write_text(f"[environments]\n{lines}\n")
    assert read_resolver_settings(tmp_path, {}).torch_cpu_index == index


def test_an_index_of_cpu_builds_is_an_address(tmp_path: Path) -> None:
    (tmp_path / "settings.ini").write_text("[environments]\ntorch_cpu_index = yes\n")
    with pytest.raises(InvalidInput, match="torch_cpu_index = yes"):
        read_resolver_settings(tmp_path, {})


@pytest.mark.parametrize("engines", ["", "[engines]\nother = package:Engine\n"])
def test_builds_follow_the_machine_that_runs_them(engines: str, tmp_path: Path) -> None:
    (tmp_path / "settings.ini").write_text(engines)
    plain, with_gpu = NodeKind("x86_64", "2.36"), NodeKind("x86_64", "2.36", gpu=True)
    assert read_resolver_settings(tmp_path, {}, plain).cpu_builds
    assert not read_resolver_settings(tmp_path, {}, with_gpu).cpu_builds
    assert read_resolver_settings(tmp_path, {}).cpu_builds is not machine_has_gpu()
    (tmp_path / "settings.ini").write_text("[environments]\nbuilds = cpu\n")
    assert read_resolver_settings(tmp_path, {}, with_gpu).cpu_builds
