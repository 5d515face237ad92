"""Environment builders by name, loaded when first asked for. A new one is a module with a Builder and a row here."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

from footplate.domain.records import BuiltView, Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder, ResolverSettings, Say
from footplate.environments.url_credentials import Logins, extract_logins
from footplate.errors import InvalidInput

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
    """The lock of this content: resolved once, then kept until a `refresh` is asked for."""
    spec, found = extract_logins(spec)
    if found.known:
        settings = replace(settings, logins=Logins({**settings.logins.known, **found.known}))
    say = settings.logins.listen(say)
    if not spec.options.get("docker"):
        return _resolve_as(spec.builder, spec, settings, say, refresh)
    from footplate.environments.containers import availability  # lazy: most runs ask for no container

    if spec.builder == "container" or not availability.is_asked_for(spec):
        return _resolve_as(spec.builder, spec, settings, say, refresh)
    why = availability.why_not(spec, settings)
    if why is None:
        try:
            return _resolve_as("container", spec, settings, say, refresh)
        except InvalidInput as error:
            if not availability.can_do_without(spec, error):
                raise
            why = availability.refuse_or(settings, f"none could be made: {error.message}")
    warning = availability.warning(spec, why)
    say(warning)
    lock = _resolve_as(spec.builder, spec, settings, say, refresh)
    return replace(lock, warnings=(*lock.warnings, warning))


def _resolve_as(name: str, spec: EnvironmentSpec, settings: ResolverSettings, say: Say, refresh: bool) -> Lock:
    builder = load(name)
    if name == "existing":  # nothing to resolve, and nothing to keep
        return builder.lock(spec, settings, say)
    # Lazy: a server that only ever uses existing interpreters loads none of it.
    from footplate.environments import locks
    from footplate.environments.curated import substitutes

    def lock() -> Lock:
        if substitutes.OPTION not in spec.options:
            return builder.lock(spec, settings, say)
        return substitutes.lock(spec, settings, say, lambda wanted: builder.lock(wanted, settings, say))

    return locks.resolve_once(replace(spec, builder=name), settings, say, lock, refresh)


def remove(view: BuiltView) -> bool:
    """Whether what was built is removed; what is being built again is not."""
    from footplate.environments import built_environments  # lazy, as above

    folder = Path(view.path)
    if view.builder != "container":
        return built_environments.remove(folder)
    from footplate.environments.containers import container_builder  # lazy, as above

    return built_environments.remove(folder, lambda: container_builder.forget(folder))
