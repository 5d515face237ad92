from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.environments.pythons import choose, find, installed
from footplate.errors import InvalidInput


def test_pythons_of_uv_pyenv_and_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(path: Path, version: str) -> None:
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho '{version}'\n")
        path.chmod(0o755)

    program(tmp_path / "pyenv" / "versions" / "3.77.1" / "bin" / "python3", "3.77.1 cpython")
    program(tmp_path / "pyenv" / "versions" / "2.7.18" / "bin" / "python3", "2.7.18 cpython")
    program(tmp_path / "pyenv" / "versions" / "broken" / "bin" / "python3", "no such command")
    program(tmp_path / "bin" / "python3.78", "3.78.0 cpython")
    program(tmp_path / "shims" / "python3.79", "3.79.0 cpython")
    program(tmp_path / "root" / ".pythons" / "cpython-3.80" / "bin" / "python3", "3.80.2 cpython")
    program(tmp_path / "pypy" / "python3.81", "3.81.0 pypy")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tmp_path / 'shims'}:{tmp_path / 'pypy'}")
    found = {python.version for python in installed(tmp_path / "root")}
    assert found == {sys.version_info[:3], (3, 77, 1), (3, 78, 0), (3, 80, 2)}


OURS = sys.version_info[:2]


def test_our_own_python_comes_first_of_its_version(tmp_path: Path) -> None:
    ours = [python for python in installed(tmp_path) if python.version[:2] == OURS]
    assert [python.path for python in ours] == [sys.executable]
    found = find(OURS, tmp_path)
    assert found is not None
    assert found.path == sys.executable


def test_a_range_takes_the_newest_version_inside_it(tmp_path: Path) -> None:
    major, minor = OURS
    assert choose(f">={major}.{minor},<{major}.{minor + 1}", lambda: installed(tmp_path)) == OURS
    assert choose(f"<={major}.{minor}, !=3.1", lambda: installed(tmp_path)) == OURS
    assert choose(f"~={major}.{minor}.0", lambda: installed(tmp_path)) == OURS
    assert choose(None, lambda: installed(tmp_path)) == OURS
    with pytest.raises(InvalidInput, match=r"no Python on this machine matches >=3\.97"):
        choose(">=3.97", lambda: installed(tmp_path))
