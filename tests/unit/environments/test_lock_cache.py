from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import lock_cache, recipes
from footplate.environments.base import ResolverSettings
from footplate.environments.recipes.horovod import RECIPE as HOROVOD

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SPEC = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny",))


@pytest.fixture
def settings(tmp_path: Path) -> ResolverSettings:
    return ResolverSettings(tmp_path / "e")


def test_concurrent_callers_resolve_once(settings: ResolverSettings) -> None:
    calls = list[int]()

    def slowly() -> Lock:
        calls.append(1)
        return Lock("d", "venv", {"x": 1})

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(lock_cache.resolve_once, SPEC, settings, lambda _: None, slowly, False) for _ in range(8)]
        assert {one.result().digest for one in asked} == {"d"}
    assert len(calls) == 1


def test_waiting_for_a_resolution_is_logged(settings: ResolverSettings) -> None:
    begun, waits, said = threading.Event(), threading.Event(), list[str]()

    def slowly() -> Lock:
        begun.set()
        assert waits.wait(120)
        return Lock("d", "venv", {"x": 1})

    def hear(words: str) -> None:
        said.append(words)
        waits.set()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lock_cache.resolve_once, SPEC, settings, lambda _: None, slowly, False)
        assert begun.wait(120)
        second = pool.submit(lock_cache.resolve_once, SPEC, settings, hear, slowly, False)
        assert first.result().digest == second.result().digest == "d"
    assert said[0] == "waiting: another process is resolving this environment"
    assert said[1].startswith("using the lock of ")


def test_the_key_contains_exactly_what_decides(tmp_path: Path, settings: ResolverSettings) -> None:
    none = {"PIP_CONFIG_FILE": os.devnull}
    constraints = tmp_path / "c.txt"
    constraints.write_text("a<1\n")
    base = lock_cache.key(SPEC, settings, none)
    same = [
        lock_cache.key(replace(SPEC, name="other", version="7", variables={"A": "b"}), settings, none),
        lock_cache.key(replace(SPEC, requirements=("# a comment", "tiny  ")), settings, none),
        lock_cache.key(SPEC, settings, {**none, "UV_CACHE_DIR": "/x", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}),
    ]
    assert set(same) == {base}
    constrained = {**none, "PIP_CONSTRAINT": str(constraints)}
    others = [
        lock_cache.key(replace(SPEC, requirements=("tiny<2",)), settings, none),
        lock_cache.key(replace(SPEC, python="3.8"), settings, none),
        lock_cache.key(replace(SPEC, options={"conda": {"dependencies": ["a"]}}), settings, none),
        lock_cache.key(SPEC, ResolverSettings(settings.root, "exact"), none),
        lock_cache.key(SPEC, settings, {**none, "PIP_INDEX_URL": "https://mirror"}),
        lock_cache.key(SPEC, settings, {**none, "UV_INDEX_URL": "https://mirror"}),
        lock_cache.key(SPEC, settings, constrained),
    ]
    configured = {**none, "XDG_CONFIG_HOME": str(tmp_path)}
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text("[pip]\nprerelease = 'allow'\n")
    others.append(lock_cache.key(SPEC, settings, configured))
    constraints.write_text("a<2\n")
    others.append(lock_cache.key(SPEC, settings, constrained))
    assert len({base, *others}) == len(others) + 1


def test_recipes_and_the_catalogue_are_part_of_the_key(settings: ResolverSettings) -> None:
    """A lock of an older Footplate must not hide a repaired recipe or a catalogue with other pins."""
    none = {"PIP_CONFIG_FILE": os.devnull}
    mended = replace(HOROVOD, edits=HOROVOD.edits[1:])
    assert recipes.fingerprint(mended) != recipes.fingerprint(HOROVOD) == recipes.fingerprint(replace(HOROVOD))
    assert recipes.fingerprints(["tiny", "Horovod[torch]>=0.20"]) == {"horovod": recipes.fingerprint(HOROVOD)}
    curated = [
        replace(SPEC, options={"curated": name, **more})
        for name in ("AzureML-PyTorch-1.6-CPU", "AzureML-PyTorch-1.6-GPU")
        for more in ({}, {"mpi": True})
    ]
    keys = {lock_cache.key(spec, settings, none) for spec in (SPEC, *curated)}
    assert len(keys) == 5
