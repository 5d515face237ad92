from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.errors import InvalidInput
from support import indexes
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SPEC = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny",))


@pytest.fixture
def settings(tmp_path: Path) -> ResolverSettings:
    return ResolverSettings(tmp_path / "e")


def resolve(spec: EnvironmentSpec, settings: ResolverSettings, refresh: bool = False) -> tuple[Lock, list[str]]:
    said = list[str]()
    return environments.resolve(spec, settings, said.append, refresh), said


def version(lock: Lock) -> str:
    return str(lock.content["requirements"]).split()[0]


def test_a_newer_version_on_the_index_changes_nothing_until_a_refresh(
    wheels: Path, settings: ResolverSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with indexes.serve(wheels) as index:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        first, _ = resolve(SPEC, settings)
        make_wheel(wheels, "tiny", "3.0")
        again, said = resolve(SPEC, settings)
        assert again == first
        assert len(said) == 1
        assert "the lock of 20" in said[0]
        fresh, _ = resolve(SPEC, settings, refresh=True)
        assert (version(first), version(fresh)) == ("tiny==2.0", "tiny==3.0")
        assert resolve(SPEC, settings)[0] == fresh


def test_a_new_wheel_in_a_local_directory_is_noticed(wheels: Path, settings: ResolverSettings) -> None:
    assert version(resolve(SPEC, settings)[0]) == "tiny==2.0"
    make_wheel(wheels, "tiny", "3.0")
    newer, _ = resolve(SPEC, settings)
    assert version(newer) == "tiny==3.0"
    make_wheel(wheels, "tiny", "3.0", files={"tiny.py": "version = 'made again'\n"})
    again, _ = resolve(SPEC, settings)
    assert version(again) == "tiny==3.0" and again.digest != newer.digest
    named = replace(SPEC, requirements=(f"--find-links {wheels}", "tiny"))
    assert len(resolve(named, settings)[1]) > 0
    assert "the lock of 20" in resolve(named, settings)[1][0]
    make_wheel(wheels, "tiny", "4.0")
    assert version(resolve(named, settings)[0]) == "tiny==4.0"


def test_a_failed_resolution_is_not_stored(wheels: Path, settings: ResolverSettings) -> None:
    wanted = replace(SPEC, requirements=("tiny>=3",))
    with pytest.raises(InvalidInput):
        resolve(wanted, settings)
    make_wheel(wheels, "tiny", "3.0")
    assert version(resolve(wanted, settings)[0]) == "tiny==3.0"


def test_warnings_are_stored_with_the_lock(wheels: Path, settings: ResolverSettings) -> None:
    old = replace(SPEC, python="3.6.2")
    first, _ = resolve(old, settings)
    assert first.warnings
    assert resolve(old, settings)[0] == first


def test_requirements_with_local_files_are_resolved_every_time(
    wheels: Path, tmp_path: Path, settings: ResolverSettings
) -> None:
    make_wheel(tmp_path / "own", "own", "1.0", needs=("tiny<2",))
    wheel = tmp_path / "own" / "own-1.0-py3-none-any.whl"
    wanted = replace(SPEC, requirements=(f"own @ {wheel.as_uri()}",))
    first, _ = resolve(wanted, settings)
    make_wheel(tmp_path / "own", "own", "1.0", needs=("tiny>=2",))
    second, _ = resolve(wanted, settings)
    assert first.digest != second.digest


def test_a_damaged_lock_file_is_resolved_again(wheels: Path, settings: ResolverSettings) -> None:
    first, _ = resolve(SPEC, settings)
    for path in (settings.root / ".locks").glob("*.json"):
        path.write_text('{"resolved": 1, "lo')
    assert resolve(SPEC, settings)[0] == first
