"""Environments of runs: resolved once into a lock by the server, built once from the lock by each node.

    base               the Builder protocol, its settings, and what a build returns
    existing           an interpreter that the user manages
    venv               virtual environments; uv runs uv, uv_errors explains its failures
    pins               requirements → exact pins; python_choice selects the Python that they are pinned for
    machine            the machine that an environment is resolved for: this one, or a node of another kind
    adaptations        requirements adapted to the machine: MPI, and builds for CPUs
    torch_builds       torch without CUDA for machines without a GPU
    tensorflow1        the hook that makes TensorFlow 2 look like version 1; tensorflow1_check finds what it cannot do
    sklearn_externals  the hook that keeps `from sklearn.externals import joblib` working
    azureml_dependencies  packages that Azure's own packages brought along
    conda/             conda files: solved from channels with py-rattler, or mapped to PyPI
    containers/        container images with packages installed
    curated/           the catalogue of Azure's names and our own
    recipes/           packages that are built from edited sources (Horovod)
    lock_cache         resolutions by content
    built_environments environments on disk, with their file locks, markers and sizes
    caches             sizes of caches, and clearing them
    bytecode           bytecode, compiled once per wheel by compiler.py
    pythons            the Pythons of this machine
    requirements       lines of requirements files
    index_policy       addresses that environments may name
    url_credentials    passwords and tokens in addresses
    subprocesses       programs whose messages are shown while they work

A new builder is a module with a Builder and a row in `_REGISTRY`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from footplate.domain.locks import MPI
from footplate.domain.node_kinds import NODE, summarize
from footplate.domain.orders import Lock
from footplate.domain.values import replace
from footplate.environments.base import Builder, ResolverSettings, Say, make_lock
from footplate.environments.url_credentials import Logins, extract_logins
from footplate.errors import InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.domain import specs
    from footplate.domain.records import BuiltView
    from footplate.domain.specs import EnvironmentSpec
    from footplate.environments import (
        adaptations,
        built_environments,
        existing,
        index_policy,
        lock_cache,
        torch_builds,
    )
    from footplate.environments.containers import availability, container_builder
    from footplate.environments.curated import substitutes
else:  # agents only build, and most servers resolve without some of these
    specs = Deferred("footplate.domain.specs")
    adaptations = Deferred("footplate.environments.adaptations")
    built_environments = Deferred("footplate.environments.built_environments")
    existing = Deferred("footplate.environments.existing")
    index_policy = Deferred("footplate.environments.index_policy")
    lock_cache = Deferred("footplate.environments.lock_cache")
    torch_builds = Deferred("footplate.environments.torch_builds")
    availability = Deferred("footplate.environments.containers.availability")
    container_builder = Deferred("footplate.environments.containers.container_builder")
    substitutes = Deferred("footplate.environments.curated.substitutes")

_REGISTRY = {
    "existing": ("footplate.environments.existing", "ExistingBuilder"),
    "venv": ("footplate.environments.venv", "VenvBuilder"),
    "conda": ("footplate.environments.conda", "CondaBuilder"),
    "container": ("footplate.environments.containers.container_builder", "ContainerBuilder"),
}


def names() -> tuple[str, ...]:
    return tuple(_REGISTRY)


def load(name: str) -> Builder:
    if name not in _REGISTRY:
        raise InvalidInput(
            f"there is no environment builder {name!r}", f"the builders are {', '.join(sorted(_REGISTRY))}"
        )
    module, attribute = _REGISTRY[name]
    return getattr(importlib.import_module(module), attribute)()


def resolve(spec: EnvironmentSpec, settings: ResolverSettings, say: Say, refresh: bool = False) -> Lock:
    """Return the lock of this content: resolved once, then kept until a `refresh`."""
    spec, logins = extract_logins(spec)
    if logins.by_address:
        settings = replace(settings, logins=Logins({**settings.logins.by_address, **logins.by_address}))
    say = settings.logins.listen(say)
    if settings.indexes != ("any",):
        index_policy.check(spec, settings.indexes)
    if not spec.options.get("docker"):
        return _resolve_as(spec.builder, spec, settings, say, refresh)
    if spec.builder == "container" or not availability.is_asked_for(spec):
        return _resolve_as(spec.builder, spec, settings, say, refresh)
    why = availability.why_not(spec, settings)
    if why is None:
        try:
            return _resolve_as("container", spec, settings, say, refresh)
        except InvalidInput as error:
            if not availability.can_do_without(spec, error):
                raise
            why = availability.refuse_or(settings, f"no container could be built: {error.message}")
    instead = availability.without_image(spec, settings, why)
    warning = availability.warning(spec, instead, why)
    say(warning)
    lock = _resolve_as(instead.builder, instead, settings, say, refresh)
    availability.check_python(spec, instead, lock)
    return replace(lock, warnings=(*lock.warnings, warning))


def _resolve_as(name: str, spec: EnvironmentSpec, settings: ResolverSettings, say: Say, refresh: bool) -> Lock:
    builder = load(name)
    if name == "existing":  # nothing to resolve, and nothing to keep
        return _with_mpi(spec, builder.lock(spec, settings, say), settings, say, refresh)

    def lock_once(variant: EnvironmentSpec) -> Lock:
        return torch_builds.prefer_cpu(variant, settings, say, lambda each: builder.lock(each, settings, say))

    def lock() -> Lock:
        if substitutes.OPTION not in spec.options:
            return _for_node(lock_once(spec), settings)
        return _for_node(substitutes.lock(spec, settings, say, lock_once), settings)

    return lock_cache.resolve_once(replace(spec, builder=name), settings, say, lock, refresh)


def _for_node(lock: Lock, settings: ResolverSettings) -> Lock:
    """Return the lock with the kind of node that it was made for; a lock for this machine stays as it is.

    Nodes of different kinds may share a directory for environments: each kind has its own there.
    """
    if settings.node is None:
        return lock
    return make_lock(lock.builder, {**lock.content, NODE: summarize(settings.node)}, lock.warnings)


def needs_node(spec: EnvironmentSpec) -> bool:
    """Whether the lock depends on the kind of node; that of an unchanged interpreter does not."""
    return spec.builder != "existing" or bool(spec.options.get(MPI)) or bool(spec.options.get("docker"))


def _with_mpi(spec: EnvironmentSpec, lock: Lock, settings: ResolverSettings, say: Say, refresh: bool) -> Lock:
    """Add Open MPI to the lock of an existing interpreter, for a run over MPI where there is none."""
    if not spec.options.get(MPI):
        return lock
    if settings.node.mpi if settings.node else existing.has_mpi(str(lock.content["interpreter"])):
        return lock
    try:
        open_mpi = specs.EnvironmentSpec(builder="venv", requirements=(adaptations.OPEN_MPI,))
        brought = _resolve_as("venv", open_mpi, settings, say, refresh)
    except InvalidInput as error:
        warning = f"there is no MPI beside the interpreter or on this machine, and none on the index: {error.message}"
        return replace(lock, warnings=(*lock.warnings, warning))
    return make_lock(lock.builder, {**lock.content, MPI: brought.content}, lock.warnings)


def remove(view: BuiltView) -> bool:
    """Remove a built environment, unless it is being built again; return whether it was removed."""
    folder = Path(view.path)
    if view.builder != "container":
        return built_environments.remove(folder)
    return built_environments.remove(folder, lambda: container_builder.forget(folder))
