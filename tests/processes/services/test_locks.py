from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.engines.base import Observation
from footplate.environments import built_environments
from footplate.environments.built_environments import MARKER
from footplate.errors import InvalidInput, NotFound

from ...unit.services.test_locks import _only_tiny
from .conftest import House

__all__ = ["_only_tiny"]  # fixtures

OLD = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("tiny",))

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TINY = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny",))


def built(house: House, spec: EnvironmentSpec) -> str:
    digest = house.services.locks.resolve(spec).digest
    house.services.locks.build(digest)
    house.bulletin.until(lambda: house.services.locks.progress(digest, 0).state != "building", 60)
    return digest


def test_a_build_reports_its_growing_log_and_its_python(house: House) -> None:
    digest = built(house, TINY)
    view = house.services.locks.progress(digest, 0)
    assert view.state == "built"
    assert Path(view.path or "").exists()
    assert "the environment is complete" in view.text
    assert house.services.locks.progress(digest, view.offset).text == ""
    (found,) = house.services.locks.built()
    assert (found.digest, found.python, found.packages, found.in_use) == (digest, PYTHON, 1, False)
    assert found.size > 0


def test_a_failed_build_reports_the_reason(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = house.services.locks.resolve(TINY).digest
    monkeypatch.setenv("PIP_FIND_LINKS", str(house.home))
    monkeypatch.setenv("UV_CACHE_DIR", str(house.home / "another cache"))
    house.services.locks.build(digest)
    house.bulletin.until(lambda: house.services.locks.progress(digest, 0).state == "failed", 60)
    cause = house.services.locks.progress(digest, 0).cause
    assert cause is not None
    assert "tiny" in cause.message
    with pytest.raises(NotFound):
        house.services.locks.build("0" * 64)
    with pytest.raises(NotFound):
        house.services.locks.progress("0" * 64, 0)


def test_unused_environments_are_cleared_but_not_those_in_use(house: House) -> None:
    digest = built(house, TINY)
    marker = house.home / "environments" / digest / MARKER
    long_ago = time.time() - 100
    os.utime(marker, (long_ago, long_ago))
    assert house.services.locks.clear(1000, dry_run=False).environments == ()
    house.submit("r1", environment=TINY)
    house.until_launched("r1")
    assert house.services.locks.clear(10, dry_run=False).environments == ()
    assert house.services.locks.built()[0].in_use
    house.services.runs.cancel("r1", "tester", "")
    house.engine.seen["handle-r1"] = Observation("gone")
    house.until_status("r1", "Canceled")
    assert [view.digest for view in house.services.locks.clear(10, dry_run=True).environments] == [digest]
    assert marker.exists()
    assert [view.digest for view in house.services.locks.clear(10, dry_run=False).environments] == [digest]
    assert not marker.parent.exists()
    with pytest.raises(InvalidInput, match="-1"):
        house.services.locks.clear(-1, dry_run=True)


def test_cleared_caches_leave_built_environments_working(house: House) -> None:
    digest = built(house, TINY)
    root = house.home / "environments"
    cache, python = root / ".uv-cache", root / digest / "bin" / "python"
    sizes = {view.name: view.size for view in house.services.locks.caches()}
    assert sizes["wheels"] > 0 and sizes["bytecode"] > 0 and sizes["conda"] == 0
    house.services.locks.clear(1000, dry_run=False)
    assert list(cache.glob("archive-*/*"))
    done = house.services.locks.clear(1000, dry_run=False, whole=["wheels"])
    freed = {view.name: view.size for view in done.caches}
    assert done.environments == () and 0 < freed["wheels"] < sizes["wheels"], "the environment keeps what it shares"
    assert freed["bytecode"] == 0 and not list(cache.glob("archive-*/*"))
    subprocess.run([python, "-c", "import tiny"], check=True)
    house.services.locks.clear(1000, dry_run=False, whole=["bytecode"])
    assert not list(root.glob(".bytecode/*"))
    assert [view.digest for view in house.services.locks.clear(0, dry_run=False).environments] == [digest]
    assert built(house, TINY) == digest
    subprocess.run([python, "-c", "import tiny"], check=True)
    with pytest.raises(InvalidInput, match="no cache 'wheel'"):
        house.services.locks.clear(0, dry_run=False, whole=["wheel"])


def test_nothing_is_cleared_during_a_build(house: House) -> None:
    built(house, TINY)
    root = house.home / "environments"
    with built_environments.building(root, lambda _: None):
        done = house.services.locks.clear(1000, dry_run=False, whole=["wheels"])
    assert done.caches == () and "is being built" in (done.left or "")
    assert list(root.glob(".uv-cache/archive-*/*"))


def test_the_lock_of_a_run_can_be_read(house: House) -> None:
    house.submit("r1", environment=TINY)
    house.until_launched("r1")
    assert house.services.locks.of_run("r1") == house.services.locks.resolve(TINY)


def test_a_warning_of_the_lock_is_a_warning_of_the_run(house: House) -> None:
    house.submit("r1", environment=OLD)
    house.until_launched("r1")
    assert "Python 3.6.2 cannot run jobs" in house.services.runs.view("r1").warnings[0]


def test_a_conflict_is_in_the_log_of_the_run(house: House) -> None:
    house.submit("r1", environment=EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny>=2", "tiny<1.5")))
    house.until_status("r1", "Failed")
    text = house.store.logs.read("r1", "azureml-logs/10_environment_lock.txt", 0, 10000).decode()
    assert "unsatisfiable" in text


def test_exact_interpreters_fail_and_the_log_lists_attempts(house: House) -> None:
    (house.home / "settings.ini").write_text("[environments]\ninterpreters = exact\n")
    house.submit("r1", environment=OLD)
    house.until_status("r1", "Failed")
    outcome = house.services.runs.view("r1").outcome
    assert outcome is not None
    assert outcome.cause is not None
    assert "interpreters = exact" in outcome.cause.message
