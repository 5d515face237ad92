"""Tests of the contract of environment builders (`environments/base.py`): subclass `BuilderSuite`, provide `arena`."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import pytest

from footplate.domain.codec import from_json, to_json
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder, Interpreter, ResolverSettings
from footplate.errors import FootplateError


class BuilderArena(Protocol):
    """A builder with two specs that differ in content, and an impossible one."""

    builder: Builder
    root: Path
    spec: EnvironmentSpec
    other: EnvironmentSpec
    impossible: EnvironmentSpec


def quiet(_line: str) -> None:
    pass


def lock_of(arena: BuilderArena, spec: EnvironmentSpec) -> Lock:
    return arena.builder.lock(spec, ResolverSettings(arena.root), quiet)


def runs(interpreter: Interpreter) -> str:
    """Return the prefix of the Python that the interpreter's argv starts."""
    argv = [*interpreter.argv, "-c", "import sys; print(sys.prefix)"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


class BuilderSuite:
    def test_same_content_has_the_same_digest(self, arena: BuilderArena) -> None:
        first, second = (lock_of(arena, arena.spec) for _ in range(2))
        assert first == second
        assert first.builder == arena.builder.name
        assert lock_of(arena, arena.other).digest != first.digest

    def test_lock_survives_json(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        assert from_json(Lock, to_json(lock)) == lock

    def test_interpreter_runs_and_is_reused(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        first = arena.builder.build(lock, arena.root, quiet)
        assert runs(first)
        assert arena.builder.build(lock, arena.root, quiet) == first

    def test_existing_environment_logs_nothing(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        log: list[str] = []
        arena.builder.build(lock, arena.root, quiet)
        arena.builder.build(lock, arena.root, log.append)
        assert log == []

    def test_concurrent_builds_return_the_same_environment(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        with ThreadPoolExecutor(4) as pool:
            builds = [pool.submit(arena.builder.build, lock, arena.root, quiet) for _ in range(4)]
            built = [future.result() for future in builds]
        assert len({interpreter.argv for interpreter in built}) == 1
        assert runs(built[0])

    def test_impossible_spec_is_rejected_with_a_hint(self, arena: BuilderArena) -> None:
        with pytest.raises(FootplateError) as caught:
            arena.builder.build(lock_of(arena, arena.impossible), arena.root, quiet)
        assert caught.value.hint
