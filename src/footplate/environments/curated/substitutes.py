"""Lock a curated environment's own packages if they can be resolved, else those of the nearest tested environment of
the same framework. Another framework never takes its place: the error names the nearest one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import curated
from footplate.environments.adaptations import MPI
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.curated import tested
from footplate.environments.curated.tested import Curated
from footplate.environments.python_choice import DAY
from footplate.environments.requirements import conda_lines, name_of, pip_lines
from footplate.errors import InvalidInput

OPTION = "curated"
"""Key of a spec's options: the name of the curated environment that the spec was made from."""


def lock(
    spec: EnvironmentSpec, settings: ResolverSettings, say: Say, resolve: Callable[[EnvironmentSpec], Lock]
) -> Lock:
    """Lock the original packages or the substitute. Changes that the user made to a clone apply to both."""
    entry = curated.find(str(spec.options[OPTION]))
    if entry is None or entry in tested.ALL:
        return resolve(spec)
    if entry.unavailable is not None:
        raise _not_here(entry, entry.unavailable)
    spec = _with_mpi(spec, entry)
    try:
        locked = _at_its_time(_only_wheels(spec, entry), entry, resolve)
        return replace(locked, warnings=(*_about_entry(spec, entry), *locked.warnings))
    except InvalidInput as error:
        if settings.interpreters == "exact":
            raise
        if entry.nearest is None:
            raise _not_here(entry, error.message) from None
        say(f"{entry.name}: its own packages cannot be installed here")
        say(error.message)
    instead = curated.get(entry.nearest)
    locked = resolve(_swap(spec, entry, instead))
    had, has = _words(entry, spec), _words(instead, spec)
    warning = f"{entry.name}: {had} cannot be installed here; the run uses {instead.name}: {has}"
    return replace(locked, warnings=(warning, *locked.warnings))


def _at_its_time(spec: EnvironmentSpec, entry: Curated, resolve: Callable[[EnvironmentSpec], Lock]) -> Lock:
    """Resolve to releases up to the day of the definition; an index without dates gives what it has."""
    if entry.day is None:
        return resolve(spec)
    try:
        return resolve(replace(spec, options={**spec.options, DAY: entry.day}))
    except InvalidInput:
        return resolve(spec)


def _not_here(entry: Curated, why: str) -> InvalidInput:
    hint = f"the nearest environment is {entry.similar}" if entry.similar else "choose another environment"
    return InvalidInput(f"the curated environment {entry.name} cannot be installed here: {why}", hint)


def _words(entry: Curated, spec: EnvironmentSpec) -> str:
    more = entry.with_mpi if spec.options.get(MPI) else ()
    return ", ".join([*entry.requirements, *more, f"Python {entry.python}"])


def _about_entry(spec: EnvironmentSpec, entry: Curated) -> tuple[str, ...]:
    """Return how the environment differs from Azure's, if it does."""
    named = {name_of(line) for line in pip_lines(spec)}
    missing = [line for line in entry.left_out if name_of(line) not in named]
    words = [*entry.deviations, *([f"without {', '.join(missing)}"] if missing else [])]
    return (f"{entry.name} differs from Azure's: {'; '.join(words)}",) if words else ()


def _with_mpi(spec: EnvironmentSpec, entry: Curated) -> EnvironmentSpec:
    """Add Horovod, which Azure's environment had, only for runs over MPI, because building it takes minutes."""
    if not spec.options.get(MPI):
        return spec
    named = {name_of(line) for line in pip_lines(spec)}
    more = [line for line in entry.with_mpi if name_of(line) not in named]
    return _with_lines(spec, lambda lines: [*lines, *more])


def _only_wheels(spec: EnvironmentSpec, entry: Curated) -> EnvironmentSpec:
    """Reject source archives: that of an old framework resolves, and then fails in the compiler after minutes."""
    names = [name_of(line) for line in entry.requirements if name_of(line) not in entry.source_only]
    options = [f"--only-binary {name}" for name in names if name]
    return _with_lines(spec, lambda lines: [*options, *lines])


def _swap(spec: EnvironmentSpec, entry: Curated, instead: Curated) -> EnvironmentSpec:
    def swap(lines: Sequence[str]) -> list[str]:
        own = [line for line in lines if line not in (*entry.requirements, *entry.with_mpi)]
        named = {name_of(line) for line in own}
        conda = [*instead.requirements, *(instead.with_mpi if spec.options.get(MPI) else ())]
        return [*(line for line in conda if name_of(line) not in named), *own]

    swapped = _with_lines(spec, swap)
    python = instead.python if spec.python == entry.python else spec.python
    conda: dict[str, Any] | None = swapped.options.get("conda")
    if conda is not None:
        packages = [f"python={python}" if line == f"python={entry.python}" else line for line in conda["dependencies"]]
        swapped = replace(swapped, options={**swapped.options, "conda": {**conda, "dependencies": packages}})
    return replace(swapped, python=python)


def _with_lines(spec: EnvironmentSpec, change: Callable[[Sequence[str]], list[str]]) -> EnvironmentSpec:
    conda: dict[str, Any] | None = spec.options.get("conda")
    if conda is None:
        return replace(spec, requirements=tuple(change(spec.requirements)))
    pip = change(conda_lines(spec, "pip"))
    return replace(spec, options={**spec.options, "conda": {**conda, "pip": pip}})
