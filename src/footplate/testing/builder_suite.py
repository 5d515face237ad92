"""What every environment builder promises (`environments/base.py`), as tests. Subclass `BuilderSuite`, give `arena`."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import pytest

from footplate.domain.codec import from_json, to_json
from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder, Interpreter, ResolverSettings
from footplate.errors import FootplateError


class BuilderArena(Protocol):
    """A builder with two specs that differ in content, and one that cannot be."""

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
    """The prefix of the Python that the interpreter's argv starts."""
    argv = [*interpreter.argv, "-c", "import sys; print(sys.prefix)"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


class BuilderSuite:
    def test_same_content_same_digest(self, arena: BuilderArena) -> None:
        first, second = (lock_of(arena, arena.spec) for _ in range(2))
        assert first == second
        assert first.builder == arena.builder.name
        assert lock_of(arena, arena.other).digest != first.digest

    def test_a_lock_survives_its_journey_as_json(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        assert from_json(Lock, to_json(lock)) == lock

    def test_the_interpreter_runs_and_is_the_same_next_time(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        first = arena.builder.build(lock, arena.root, quiet)
        assert runs(first)
        assert arena.builder.build(lock, arena.root, quiet) == first

    def test_what_is_there_already_takes_no_words(self, arena: BuilderArena) -> None:
        lock, said = lock_of(arena, arena.spec), list[str]()
        arena.builder.build(lock, arena.root, quiet)
        arena.builder.build(lock, arena.root, said.append)
        assert said == []

    def test_many_ask_at_once_and_all_get_the_same(self, arena: BuilderArena) -> None:
        lock = lock_of(arena, arena.spec)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(arena.builder.build, lock, arena.root, quiet) for _ in range(4)]
            built = [future.result() for future in asked]
        assert len({interpreter.argv for interpreter in built}) == 1
        assert runs(built[0])

    def test_what_cannot_be_is_refused_with_a_hint(self, arena: BuilderArena) -> None:
        with pytest.raises(FootplateError) as caught:
            arena.builder.build(lock_of(arena, arena.impossible), arena.root, quiet)
        assert caught.value.hint
