"""Environment builders by name, loaded when first asked for. A new one is a module with a Builder and a row here."""

from __future__ import annotations

import importlib

from footplate.environments.base import Builder
from footplate.errors import InvalidInput

_REGISTRY = {
    "existing": ("footplate.environments.existing", "ExistingBuilder"),
    "venv": ("footplate.environments.venv", "VenvBuilder"),
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
