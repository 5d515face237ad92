"""Environment builders by name, loaded when first asked for. A new one is a module with a Builder and a row here."""

from __future__ import annotations

import importlib

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder, Say, Workshop
from footplate.errors import InvalidInput

_REGISTRY = {
    "existing": ("footplate.environments.existing", "ExistingBuilder"),
    "venv": ("footplate.environments.venv", "VenvBuilder"),
    "conda": ("footplate.environments.conda", "CondaBuilder"),
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


def resolve(spec: EnvironmentSpec, workshop: Workshop, say: Say, refresh: bool = False) -> Lock:
    """The lock of this content: resolved once, then kept until a `refresh` is asked for."""
    builder = load(spec.builder)
    if spec.builder == "existing":  # nothing to resolve, and nothing to keep
        return builder.lock(spec, workshop, say)
    from footplate.environments import (
        locks,
    )  # lazy: a server that only ever uses existing interpreters loads none of it

    return locks.once(spec, workshop, say, lambda: builder.lock(spec, workshop, say), refresh)
